package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire/op"
)

// ruleVersion is a version of a rule and its changes against the one before.
type ruleVersion struct {
	RuleID  string             `json:"rule_id"`
	Slug    string             `json:"slug,omitempty"`
	Version int                `json:"version"`
	At      time.Time          `json:"at"`
	By      string             `json:"by"`
	Status  rule.Status        `json:"status"`
	Note    string             `json:"note,omitempty"`
	Changes []rule.FieldChange `json:"changes"`
}

type rulesHistoryCommand struct {
	rulePick
	output

	Since string `placeholder:"TIME" help:"Only versions made since this date (2026-12-31) or time, or so many days ago (30d)."`
}

// Help returns examples.
func (rulesHistoryCommand) Help() string {
	return `Newest first, of one rule, of several, or of all that a filter selects.

    tenet rules history SEC-003
    tenet rules history --tag payments --since 30d`
}

// Run lists the versions of rules.
func (k *rulesHistoryCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	since, err := pastTime("--since", k.Since)
	if err != nil {
		return err
	}
	rules, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	versions := []ruleVersion{}
	for i := range rules {
		if rules[i].UpdatedAt.Before(since) {
			continue
		}
		all, err := client.All(ctx, c, op.ListRuleVersions.At(rules[i].ID))
		if err != nil {
			return err
		}
		for n := range all {
			v := ruleVersionOf(all, n)
			if v.At.Before(since) {
				break
			}
			versions = append(versions, v)
		}
	}
	slices.SortStableFunc(versions, func(a, b ruleVersion) int { return b.At.Compare(a.At) })
	return show(s, k.output, versions, nil, printRuleHistory)
}

// ruleVersionOf is a version of a list with the newest first.
func ruleVersionOf(all []rule.Rule, n int) ruleVersion {
	r := &all[n]
	v := ruleVersion{RuleID: r.ID, Slug: r.Slug, Version: r.Version, At: r.UpdatedAt, By: r.UpdatedBy, Status: r.Status, Note: r.ChangeNote, Changes: []rule.FieldChange{}}
	if n+1 < len(all) {
		v.Changes = rule.Diff(all[n+1], *r)
	}
	return v
}

func printRuleHistory(s *session, versions []ruleVersion) error {
	return list(s, "there are no such versions", "RULE\tVERSION\tAT\tBY\tSTATUS\tCHANGED\tNOTE", versions, func(v *ruleVersion) []any {
		fields := make([]string, len(v.Changes))
		for i := range v.Changes {
			fields[i] = v.Changes[i].Field
		}
		changed := strings.Join(fields, ", ")
		if v.Version == 1 {
			changed = "made"
		}
		return []any{orID(v.Slug, v.RuleID), v.Version, v.At.Format(time.DateTime), v.By, v.Status, orDash(changed), v.Note}
	})
}

// pastTime reads a date, a time, or a number of days before now; the zero time for an empty text.
func pastTime(flag, words string) (time.Time, error) {
	if words == "" {
		return time.Time{}, nil
	}
	at, err := timeAgo(words, time.Now())
	if err != nil {
		return at, fmt.Errorf("%s: %q %w", flag, words, err)
	}
	return at, nil
}

type rulesDiffCommand struct {
	rulePick
	output

	From  int    `placeholder:"N" help:"Compare from this version; default is the one before --to."`
	To    int    `placeholder:"N" help:"Compare to this version; default is the current one."`
	Since string `placeholder:"TIME" help:"Compare from the version that was current then: a date, a time, or so many days ago (30d)."`
}

// Help returns examples.
func (rulesDiffCommand) Help() string {
	return `Compares two versions of a rule, field by field; by default the last two. With a filter, every rule that it selects.

    tenet rules diff SEC-003
    tenet rules diff SEC-003 --from 2 --to 5
    tenet rules diff --tag payments --since 2026-01-01`
}

// Run compares versions of rules.
func (k *rulesDiffCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	since, err := pastTime("--since", k.Since)
	if err != nil {
		return err
	}
	if (k.From != 0 || k.To != 0) && (len(k.Rules) != 1 || k.Since != "") {
		return errors.New("--from and --to go with one rule, and without --since: each rule counts its own versions")
	}
	rules, err := k.find(ctx, c)
	if err != nil {
		return err
	}
	found := []ruleComparison{}
	for i := range rules {
		if k.Since != "" && rules[i].UpdatedAt.Before(since) {
			continue
		}
		before, after, err := k.versions(ctx, c, &rules[i], since)
		if err != nil {
			return err
		}
		d := ruleComparison{RuleID: after.ID, Slug: after.Slug, To: after.Version, Changes: rule.Diff(before, after)}
		if before.Version > 0 {
			d.From = before.Version
		}
		if len(rules) == 1 || len(d.Changes) > 0 {
			found = append(found, d)
		}
	}
	return show(s, k.output, found, nil, printComparisons)
}

// versions returns the two versions of a rule to compare. The first is zero where there was none.
func (k *rulesDiffCommand) versions(ctx context.Context, c *client.Client, r *rule.Rule, since time.Time) (before, after rule.Rule, err error) {
	after = *r
	if k.To != 0 {
		if after, err = client.Get(ctx, c, op.GetRuleVersion.At(r.ID, strconv.Itoa(k.To))); err != nil {
			return before, after, err
		}
	}
	from := k.From
	switch {
	case k.Since != "":
		all, err := client.All(ctx, c, op.ListRuleVersions.At(r.ID))
		if err != nil {
			return before, after, err
		}
		for i := range all {
			if all[i].UpdatedAt.Before(since) {
				return all[i], after, nil
			}
		}
		return before, after, nil
	case from == 0:
		from = after.Version - 1
	}
	if from == 0 {
		return before, after, nil
	}
	before, err = client.Get(ctx, c, op.GetRuleVersion.At(r.ID, strconv.Itoa(from)))
	return before, after, err
}

// ruleComparison is how two versions of a rule differ. From is 0 where there was no version.
type ruleComparison struct {
	RuleID  string             `json:"rule_id"`
	Slug    string             `json:"slug,omitempty"`
	From    int                `json:"from"`
	To      int                `json:"to"`
	Changes []rule.FieldChange `json:"changes"`
}

func printComparisons(s *session, found []ruleComparison) error {
	if len(found) == 0 {
		s.note("nothing has changed")
		return nil
	}
	var b bytes.Buffer
	for i := range found {
		d := &found[i]
		versions := fmt.Sprintf("version %d → %d", d.From, d.To)
		if d.From == 0 {
			versions = fmt.Sprintf("new, version %d", d.To)
		}
		fmt.Fprintf(&b, "%s  %s\n", s.bold(line(orID(d.Slug, d.RuleID))), versions)
		if len(d.Changes) == 0 {
			fmt.Fprintf(&b, "    nothing differs\n")
		}
		printChanges(s, &b, d.Changes)
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// longValue is the length from which two values are shown below each other.
const longValue = 40

// printChanges shows changed fields: short values side by side, long ones below each other.
func printChanges(s *session, b *bytes.Buffer, fields []rule.FieldChange) {
	for _, f := range fields {
		before, after := shownValue(f.Before), shownValue(f.After)
		if before == after { // an empty list and nothing, say
			continue
		}
		if len(before) <= longValue && len(after) <= longValue {
			fmt.Fprintf(b, "    %s: %s %s %s\n", f.Field, s.red(before), s.dim("→"), s.green(after))
			continue
		}
		fmt.Fprintf(b, "    %s:\n", f.Field)
		fmt.Fprintf(b, "      %s\n      %s\n", s.red("- "+before), s.green("+ "+after))
	}
}

// shownValue is a value of a field on one line: text without quotes, everything else as JSON.
func shownValue(v json.RawMessage) string {
	var words string
	if json.Unmarshal(v, &words) == nil && words != "" {
		return line(strings.ReplaceAll(words, "\n", " ⏎ "))
	}
	if shown := value(v); shown != "[]" && shown != "{}" {
		return shown
	}
	return "nothing"
}
