package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire/op"
)

// rulePick are the arguments and flags that select the rules of a command: names, or a filter.
type rulePick struct {
	Rules    []string `arg:"" optional:"" help:"Ids or slugs, such as SEC-003."`
	Severity string   `placeholder:"LEVEL" help:"All rules of this severity."`
	Modality string   `placeholder:"MODALITY" help:"All rules of this modality."`
	Scope    string   `placeholder:"PATH" help:"All rules in this scope and below."`
	Tag      []string `placeholder:"TAG" help:"All rules with this tag; may be repeated."`
	Owner    string   `placeholder:"NAME" help:"All rules of this owner."`
	Query    string   `short:"q" placeholder:"TEXT" help:"All rules with this text in the statement, the rationale or the slug."`
	All      bool     `short:"a" help:"All rules of the project."`
}

// ruleQuery is the filter as the API takes it.
type ruleQuery struct {
	Status   rule.Status `query:"status"`
	Severity string      `query:"severity"`
	Modality string      `query:"modality"`
	Scope    string      `query:"scope"`
	Tags     []string    `query:"tags"`
	Owner    string      `query:"owner"`
	Q        string      `query:"q"`
}

// filters reports whether rules are selected by a filter.
func (k *rulePick) filters() bool {
	return k.All || len(k.Tag) > 0 || k.Severity+k.Modality+k.Scope+k.Owner+k.Query != ""
}

// check refuses a selection that names nothing, and one that goes both ways.
func (k *rulePick) check() error {
	switch {
	case len(k.Rules) > 0 && k.filters():
		return errors.New("give rules by name, or a filter such as --tag, not both")
	case len(k.Rules) == 0 && !k.filters():
		return errors.New("which rules? Give ids or slugs, a filter such as --tag payments, or --all")
	}
	return nil
}

// find returns the selected rules. Those that a filter selects have one of the statuses; no status means every one but RETIRED.
func (k *rulePick) find(ctx context.Context, c *client.Client, statuses ...rule.Status) ([]rule.Rule, error) {
	if err := k.check(); err != nil {
		return nil, err
	}
	var found []rule.Rule
	for _, name := range k.Rules {
		r, err := c.Rule(ctx, name)
		if err != nil {
			return nil, err
		}
		if !slices.ContainsFunc(found, func(other rule.Rule) bool { return other.ID == r.ID }) {
			found = append(found, r)
		}
	}
	if len(k.Rules) > 0 {
		return found, nil
	}
	living := len(statuses) == 0
	if living {
		statuses = []rule.Status{""}
	}
	for _, status := range statuses {
		rules, err := client.All(ctx, c, op.ListRules.Where(ruleQuery{
			Status: status, Severity: k.Severity, Modality: k.Modality, Scope: k.Scope, Tags: k.Tag, Owner: k.Owner, Q: k.Query,
		}))
		if err != nil {
			return nil, err
		}
		found = append(found, rules...)
	}
	return slices.DeleteFunc(found, func(r rule.Rule) bool { return living && r.Status == rule.Retired }), nil
}

// bulk are the flags of a command that changes several rules at once.
type bulk struct {
	Yes    bool `short:"y" help:"Do not ask."`
	DryRun bool `help:"List the rules, and change nothing."`
}

// maxAsked is how many rules the list before a question shows.
const maxAsked = 30

// errUntouched says that a person has answered no.
var errUntouched = errors.New("nothing was changed")

// agree lists rules and asks whether to do something to them. It asks only about rules that a filter has selected; a person has named the others.
func (b *bulk) agree(s *session, k *rulePick, rules []rule.Rule, question string) (bool, error) {
	asks := k.filters() && !b.Yes
	if b.DryRun || asks {
		if err := listPicked(s, rules); err != nil {
			return false, err
		}
	}
	switch {
	case b.DryRun || !asks:
		return !b.DryRun, nil
	case !isTerminal(s.stdin):
		return false, errors.New("there is no terminal to ask on; look at the list, then give --yes")
	case !confirm(s, fmt.Sprintf("%s %s?", question, text.Plural(len(rules), "rule"))):
		return false, errUntouched
	}
	return true, nil
}

// listPicked lists rules that are about to be changed, on stderr: stdout has the changes.
func listPicked(s *session, rules []rule.Rule) error {
	other := *s
	other.out = s.err
	shown := rules[:min(len(rules), maxAsked)]
	if err := printRules(&other, shown); err != nil {
		return err
	}
	if n := len(rules) - len(shown); n > 0 {
		s.note("and %s", text.Plural(n, "more rule"))
	}
	return nil
}

// changedRule is one rule of a command that changes several.
type changedRule struct {
	RuleID string      `json:"rule_id"`
	Slug   string      `json:"slug,omitempty"`
	From   rule.Status `json:"from,omitempty"`
	To     rule.Status `json:"to,omitempty"`
	// Version is that of the rule afterwards; Revision the number of the change that waits for a second person.
	Version  int                `json:"version,omitempty"`
	Revision int                `json:"revision,omitempty"`
	Changes  []rule.FieldChange `json:"changes,omitempty"`
	Error    string             `json:"error,omitempty"`
}

// each changes rules one by one, prints what became of them, and fails if one of them could not be changed.
func each(s *session, o output, rules []rule.Rule, change func(*rule.Rule) (changedRule, error), row func(changedRule) string) error {
	done := s.progress(fmt.Sprintf("changing %s", text.Plural(len(rules), "rule")))
	list := make([]changedRule, 0, len(rules))
	var failures []error
	for i := range rules {
		made, err := change(&rules[i])
		made.RuleID, made.Slug = rules[i].ID, rules[i].Slug
		if err != nil {
			made.Error = err.Error()
			failures = append(failures, fmt.Errorf("%s: %w", line(rules[i].Label()), err))
		}
		list = append(list, made)
	}
	done()
	if o.json() {
		if err := printJSON(s.out, list); err != nil {
			return err
		}
	} else {
		var b strings.Builder
		for i := range list {
			if list[i].Error == "" {
				b.WriteString(row(list[i]))
			}
		}
		if _, err := fmt.Fprint(s.out, b.String()); err != nil {
			return err
		}
	}
	if len(list) == 1 {
		notePage(s, list[0])
	}
	for _, err := range failures {
		printError(s, err)
	}
	if n := len(failures); n > 0 {
		if len(list) > 1 {
			s.note("%d of %s could not be changed", n, text.Plural(len(list), "rule"))
		}
		return exit(exitFailed)
	}
	return nil
}
