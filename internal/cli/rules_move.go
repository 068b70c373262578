package cli

import (
	"context"
	"fmt"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// ruleMove are the arguments and flags of a command that moves rules to another status.
type ruleMove struct {
	rulePick
	bulk
	output

	Note string `placeholder:"TEXT" help:"Why; kept with the version of each rule."`
}

// move moves the selected rules. A filter selects those that have one of the statuses; none means all that are not retired.
func (k *ruleMove) move(ctx context.Context, s *session, c *client.Client, verb string, to rule.Status, from ...rule.Status) error {
	rules, err := k.find(ctx, c, from...)
	if err != nil {
		return err
	}
	if len(rules) == 0 {
		s.note("no rule matches")
		return nil
	}
	if agreed, err := k.agree(s, &k.rulePick, rules, verb); err != nil || !agreed {
		return err
	}
	return each(s, k.output, rules, func(r *rule.Rule) (changedRule, error) {
		made := changedRule{From: r.Status, To: to}
		moved, err := client.Call(ctx, c, op.TransitionRule.At(r.ID).IfMatch(r.Version), wire.Transition{To: to, Note: k.Note})
		made.Version = moved.Version
		return made, err
	}, func(made changedRule) string {
		return fmt.Sprintf("%s  %s → %s\n", s.bold(line(orID(made.Slug, made.RuleID))), made.From, made.To)
	})
}

// orID returns a slug, or the id of a rule that has none.
func orID(slug, id string) string {
	if slug == "" {
		return id
	}
	return slug
}

type rulesSubmitCommand struct{ ruleMove }

// Help returns examples.
func (rulesSubmitCommand) Help() string {
	return `A rule goes from DRAFT to REVIEW (submit), to APPROVED (approve), to EFFECTIVE (publish), and at its end to RETIRED (retire). Rules
are named, or selected by a filter: the command then lists them and asks, unless --yes is given.

    tenet rules submit PAY-014 PAY-015
    tenet rules submit --tag payments --note "for the release in June"`
}

// Run hands drafts in for review.
func (k *rulesSubmitCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.move(ctx, s, c, "Submit", rule.Review, rule.Draft)
}

type rulesApproveCommand struct{ ruleMove }

// Help returns examples.
func (rulesApproveCommand) Help() string {
	return `In a project with two_person_approval, nobody approves what they have written. A revision of a rule in force is approved
by tenet rules approve-revision.

    tenet rules approve PAY-014
    tenet rules approve --scope finance/payments --severity CRITICAL`
}

// Run approves rules in review.
func (k *rulesApproveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.move(ctx, s, c, "Approve", rule.Approved, rule.Review)
}

type rulesPublishCommand struct{ ruleMove }

// Help returns examples.
func (rulesPublishCommand) Help() string {
	return `APPROVED rules apply already; EFFECTIVE says that they are published. A project with tests_required takes only rules whose
test cases all pass.

    tenet rules publish PAY-014
    tenet rules publish --owner treasury --yes`
}

// Run makes approved rules effective.
func (k *rulesPublishCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.move(ctx, s, c, "Publish", rule.Effective, rule.Approved)
}

type rulesRetireCommand struct{ ruleMove }

// Help returns examples.
func (rulesRetireCommand) Help() string {
	return `A retired rule stays readable by its id; its slug becomes free. That cannot be taken back.

    tenet rules retire PAY-014 --note "replaced by PAY-020"
    tenet rules retire --tag pilot --dry-run`
}

// Run ends rules.
func (k *rulesRetireCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	return k.move(ctx, s, c, "Retire", rule.Retired)
}
