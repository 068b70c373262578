package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// consent is the user's word that rules may end.
type consent struct {
	Yes    bool   `short:"y" help:"Do not ask before rules end somewhere."`
	Reason string `placeholder:"TEXT" help:"Why; kept in the audit chain. Needed where CRITICAL and HIGH rules end."`
	DryRun bool   `help:"List the rules that would start and stop to hold, and where, and change nothing."`
}

// permission returns the permission for a change that ends rules, once the user agrees to it: by a flag or on the terminal. The rules are
// listed before.
func (k *consent) permission(s *session, silenced *rule.Silenced) (rule.Permission, error) {
	reason := strings.TrimSpace(k.Reason)
	none := rule.Permission{Reason: reason}
	if silenced == nil {
		return none, nil
	}
	var b bytes.Buffer
	printSilenced(s, &b, silenced)
	if _, err := s.err.Write(b.Bytes()); err != nil {
		return none, err
	}
	return k.agree(s, silenced)
}

// agree is [consent.permission] for rules that are listed already.
func (k *consent) agree(s *session, silenced *rule.Silenced) (rule.Permission, error) {
	given := rule.Permission{Reason: strings.TrimSpace(k.Reason)}
	switch {
	case given.Reason != "":
		given.AllowWeakening = silenced.Guarded > 0
		return given, nil
	case silenced.Guarded > 0:
		return given, fmt.Errorf("%s; if that is meant, give --reason", guardedText(silenced))
	case k.Yes:
		return given, nil
	case !isTerminal(s.stdin):
		return given, errors.New("rules would end, and there is no terminal to ask on; give --yes or --reason if that is meant")
	case !confirm(s, "End these rules there?"):
		return given, errors.New("nothing was changed")
	}
	return given, nil
}

// mayOptOut returns an error if a node is to have only its own rules without a reason.
func (k *consent) mayOptOut(ownRulesOnly bool) error {
	if ownRulesOnly && strings.TrimSpace(k.Reason) == "" {
		return errors.New("--own-rules-only needs --reason: CRITICAL and HIGH rules that no node has would not hold there, nor those made later")
	}
	return nil
}

func guardedText(silenced *rule.Silenced) string {
	first := &silenced.Rules[0]
	text := fmt.Sprintf("the %s rule %s would no longer hold at %s", first.Severity, first.Label(), first.At)
	if more := silenced.Guarded - 1; more > 0 {
		text += fmt.Sprintf(", and %d other CRITICAL and HIGH rules would end", more)
	}
	return line(text)
}

// printSilenced lists the rules that a change ends: a sentence, and those that need a reason.
func printSilenced(s *session, b io.Writer, silenced *rule.Silenced) {
	fmt.Fprintf(b, "%s %s\n", s.yellow("!"), line(silenced.String()))
	for i := range silenced.Rules {
		r := &silenced.Rules[i]
		if !r.Guarded {
			break
		}
		where := "ends at " + r.At
		if r.Scope != nil {
			where = "holds at " + r.At + " in the scope " + strings.Join(r.Scope, ", ") + " only"
		}
		fmt.Fprintf(b, "    %s\n", s.red(line(string(r.Severity)+" "+r.Label()+" "+where+": needs --reason")))
	}
	if more := silenced.Guarded - min(silenced.Guarded, len(silenced.Rules)); more > 0 {
		fmt.Fprintf(b, "    %s\n", s.red(fmt.Sprintf("%d more need --reason", more)))
	}
}

// preview asks what a change would end, and the user for consent.
func (k *consent) preview(ctx context.Context, s *session, c *client.Client, in wire.PreviewNodes) (wire.WeakeningInput, error) {
	effect, err := client.Call(ctx, c, op.PreviewNodes, in)
	if err != nil {
		return wire.WeakeningInput{}, err
	}
	if k.DryRun {
		return wire.WeakeningInput{}, printShift(s, &effect)
	}
	permission, err := k.permission(s, effect.Silenced)
	return wire.WeakeningInput{AllowWeakening: permission.AllowWeakening || in.AllowWeakening, Reason: permission.Reason}, err
}

// printShift lists the rules that would start and stop to hold.
func printShift(s *session, p *wire.PreviewedNodes) error {
	var b strings.Builder
	for _, side := range []struct {
		sign, one, many, other string
		paint                  func(string) string
		rules                  wire.ShiftedRules
	}{
		{"+", "rule starts to hold", "rules start to hold", "instead of", s.green, p.Starts}, {"-", "rule stops to hold", "rules stop to hold", "replaced by", s.red, p.Stops},
	} {
		text := side.many
		if side.rules.Total == 1 {
			text = side.one
		}
		fmt.Fprintf(&b, "%d %s\n", side.rules.Total, text)
		for i := range side.rules.Rules {
			r := &side.rules.Rules[i]
			where := strings.Join(append(slices.Clone(r.At), r.Repositories...), ", ")
			if more := r.Nodes - len(r.At); more > 0 {
				where += fmt.Sprintf(" and %d more nodes", more)
			}
			if other := cmp.Or(r.OtherSlug, r.OtherID); other != "" {
				where += " (" + side.other + " " + other + ")"
			}
			fmt.Fprintf(&b, "  %s %-8s  %s\n", side.paint(side.sign+" "+line(cmp.Or(r.Slug, r.RuleID))), r.Severity, line("at "+where))
		}
		if more := side.rules.Total - len(side.rules.Rules); more > 0 {
			fmt.Fprintf(&b, "  and %d more\n", more)
		}
	}
	if p.NodesCompared < p.Nodes {
		fmt.Fprintf(&b, "The lists cover %d of the %d nodes that the change may concern.\n", p.NodesCompared, p.Nodes)
	}
	if p.Silenced != nil {
		printSilenced(s, &b, p.Silenced)
	}
	_, err := io.WriteString(s.out, b.String())
	return err
}
