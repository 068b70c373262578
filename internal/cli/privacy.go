package cli

import (
	"context"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// privacyCommands are `tenet privacy ...`.
type privacyCommands struct {
	Show   privacyShowCommand   `cmd:"" help:"Show how personal data are kept."`
	Find   privacyFindCommand   `cmd:"" help:"Find what is stored of a person."`
	Forget privacyForgetCommand `cmd:"" help:"Delete the personal data of a person from all records, for good."`
}

type privacyShowCommand struct{ output }

func (privacyShowCommand) Help() string {
	return `The policy of the project names the personal data. Records hold them encrypted under a key of the person.

    tenet policy set --personal 'people=facts.customer.id, fields=facts.customer facts.iban'
    tenet privacy show`
}

func (k *privacyShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	p, err := client.Get(ctx, c, op.GetPrivacy)
	return show(s, k.output, &p, err, func(s *session, p *wire.Privacy) error {
		if p.Problem != "" {
			s.note("%s", p.Problem)
		}
		return s.table("SETTING\tVALUE", [][]any{
			{"people are named by", orNone(p.Policy.People)}, {"personal fields", orNone(p.Policy.Fields)}, {"people with a key", p.People}, {"keys forgotten", p.Forgotten},
		})
	})
}

func orNone(list []string) string {
	if len(list) == 0 {
		return "none"
	}
	return strings.Join(list, ", ")
}

// personRef names a person, or a record that names none.
type personRef struct {
	Person     string `arg:"" optional:"" help:"The person, as the fields of the policy name it, such as a customer number."`
	Evaluation string `placeholder:"ID" help:"An evaluation whose record names no person, instead."`
}

func (k *personRef) ref() wire.PersonRef { return wire.PersonRef(*k) }

type privacyFindCommand struct {
	personRef
	output
}

func (k *privacyFindCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	p, err := client.Call(ctx, c, op.FindPerson, k.ref())
	return show(s, k.output, &p, err, func(s *session, p *wire.PersonKept) error {
		s.note("%d records since %s (tenet evaluations list --personal-key %s)", p.Records, p.Since.Format(time.DateOnly), p.Key)
		for _, h := range p.Holds {
			s.note("the legal hold %s keeps them: %s", h.ID, line(h.Reason))
		}
		_, err := fmt.Fprintln(s.out, p.Key)
		return err
	})
}

type privacyForgetCommand struct {
	personRef
	output
	Reason string `required:"" placeholder:"TEXT" help:"Why, such as the number of the request. The audit log keeps it: it must not name the person."`
}

func (privacyForgetCommand) Help() string {
	return `Deletes the key under which records hold the data of a person. Nobody can read them again, in no copy of the records. Verdicts stay, and all
proofs stay valid. A legal hold that covers one of the records refuses it.

    tenet privacy find cust-4711
    tenet privacy forget cust-4711 --reason 'request 2026-118'`
}

func (k *privacyForgetCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	p, err := client.Call(ctx, c, op.ForgetPerson, wire.ForgetPerson{PersonRef: k.ref(), Reason: k.Reason})
	return show(s, k.output, &p, err, func(s *session, p *wire.ForgottenPerson) error {
		s.note("forgotten in %d records", p.Records)
		_, err := fmt.Fprintln(s.out, p.Key)
		return err
	})
}
