package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// privacyCommands are `tenet privacy ...`.
type privacyCommands struct {
	Show   privacyShowCommand   `cmd:"" help:"Show how personal data are kept."`
	Find   privacyFindCommand   `cmd:"" help:"Find the records of a person."`
	Forget privacyForgetCommand `cmd:"" help:"Delete the personal data of a person from all records, for good."`
	Rotate privacyRotateCommand `cmd:"" name:"rotate-key" help:"Put a new key into the privacy key file, or retire the older one."`
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
		s.note("%s since %s (tenet evaluations list --personal-key %s)", amount(p.Records, "record"), p.Since.Format(time.DateOnly), p.Key)
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
		s.note("forgotten in %s", amount(p.Records, "record"))
		_, err := fmt.Fprintln(s.out, p.Key)
		return err
	})
}

type privacyRotateCommand struct {
	Retire bool   `help:"Encrypt the keys of all people under the new key, and take the older one out of the file."`
	Old    string `placeholder:"FILE" type:"path" help:"With --retire, an older key file whose keys to encrypt again, too: after a restore of an older backup."`
	output
}

func (privacyRotateCommand) Help() string {
	return `Works on the key file and the database, on the machine where they are, while servers go on. Run it as the user of the server.

    tenet privacy rotate-key             # a new key, beside the one before
    tenet privacy rotate-key --retire    # when all nodes have a copy of the file

Servers notice the changed file. Afterwards the older file opens nothing in this database; if --retire is broken off, run it again. A backup from
before needs the older file.`
}

// rotatedPrivacy is the JSON of a change of the privacy key.
type rotatedPrivacy struct {
	Retired bool `json:"older_keys_retired"`
	People  int  `json:"keys_encrypted_again"`
}

func (k *privacyRotateCommand) Run(ctx context.Context, s *session) error {
	if k.Old != "" && !k.Retire {
		return errors.New("--old goes with --retire")
	}
	cfg, err := ownDatabase(s, "privacy rotate-key")
	if err != nil {
		return err
	}
	r := rotatedPrivacy{Retired: k.Retire}
	if k.Retire {
		bar, done := s.bar("encrypting keys")
		r.People, err = app.RetirePrivacyKeys(ctx, cfg, k.Old, bar)
		done()
	} else {
		err = app.RotatePrivacyKey(cfg)
	}
	return noted(s, k.output, r, err, func(r rotatedPrivacy) string {
		if r.Retired {
			return fmt.Sprintf("keys of people that are encrypted under the new key now: %d; the older one opens none of them", r.People)
		}
		return "the file has a new key: give a copy to each node, then run tenet privacy rotate-key --retire"
	})
}
