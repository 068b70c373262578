package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type waiveCommand struct {
	Fingerprint string `arg:"" help:"Fingerprint of the violation, or its beginning as reports show it."`
	Until       string `required:"" placeholder:"WHEN" help:"When it lapses: a date such as 2026-12-31, a time in RFC 3339, or days from now such as 30d."`
	Reason      string `required:"" placeholder:"TEXT" help:"Why the violation is accepted."`
	Repository  string `type:"filled" placeholder:"NAME" help:"Which repository, where the violation is in several."`
	Approver    string `placeholder:"NAME" help:"Who is asked to approve it; nobody else can then."`
	output
}

func (waiveCommand) Help() string {
	return `Reports show the first 12 characters of the fingerprint of each violation that can be waived. The server must have recorded the evaluation: tenet check --rules, and a machine
without a database, record nothing. tenet waivers lists, approves and revokes what is waived.

    tenet waive 5c1f0d1e7a0f --until 30d --reason "test key without rights"
    tenet waive 5c1f0d1e7a0f --until 2026-12-31 --reason "known" --repository acme/billing`
}

// Run waives the one violation that the name means.
func (k *waiveCommand) Run(ctx context.Context, s *session) error {
	ends, err := moment(k.Until, time.Now())
	if err != nil {
		return fmt.Errorf("--until: %w", err)
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		found, err := client.Get(ctx, c, op.ListViolations.Where(wire.ViolationQuery{Fingerprint: k.Fingerprint}))
		if err != nil {
			return err
		}
		f, err := k.choose(s, found)
		if err != nil {
			return err
		}
		s.note("%s %s", line(orID(f.Slug, f.RuleID)), violationPlace(f))
		w, err := c.CreateWaiver(ctx, wire.CreateWaiver{
			RuleID: f.RuleID, Fingerprint: f.Fingerprint, Repository: f.Repository, Reason: k.Reason, ExpiresAt: ends, Approver: k.Approver,
		})
		return noteWaiver(s, k.output, w, err)
	})
}

// choose returns the violation that is meant, or an error that lists what it could be.
func (k *waiveCommand) choose(s *session, found wire.Violations) (*wire.Violation, error) {
	var fit []*wire.Violation
	for i := range found.Items {
		f := &found.Items[i]
		if k.Repository == "" || rule.ParseRepository(k.Repository).Same(rule.ParseRepository(f.Repository)) {
			fit = append(fit, f)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) > 1:
		for _, f := range fit {
			fmt.Fprintf(s.err, "  %s  %s  %s  %s\n", f.Fingerprint, line(orID(f.Slug, f.RuleID)), line(orDash(f.Repository)), violationPlace(f))
		}
		return nil, fmt.Errorf("%s could be any of these; write more of it, or name the repository with --repository", k.Fingerprint)
	case len(found.Items) > 0:
		return nil, fmt.Errorf("%s was found in %s only; leave --repository out, or name that one", k.Fingerprint, orDash(found.Items[0].Repository))
	case found.Unsearched > 0:
		return nil, fmt.Errorf("no recorded evaluation has the violation %s yet; %d of them are not indexed, so try again soon", k.Fingerprint, found.Unsearched)
	}
	return nil, errors.New("no recorded evaluation has the violation " + k.Fingerprint + "; is it of this project (--project) and server (--server)? " +
		"A denial that rests on a fact or on what is absent has none, and cannot be waived")
}

// violationPlace names where a violation is and what it is.
func violationPlace(f *wire.Violation) string {
	var where []string
	for i := range f.Locations {
		where = append(where, report.Place(&f.Locations[i]))
	}
	const shown = 3
	if len(where) > shown {
		where = append(where[:shown], fmt.Sprintf("and %d more", len(where)-shown))
	}
	return line(strings.TrimSpace(strings.Join(where, ", ") + ": " + f.Issue))
}
