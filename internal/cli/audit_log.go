package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type auditLogCommand struct {
	Policy     bool `xor:"part" help:"Print the policy for tenet audit check: the keys of the log, and the witnesses and their quorum."`
	Checkpoint bool `xor:"part" help:"Print the newest checkpoint, to store it somewhere else."`
	output
}

func (auditLogCommand) Help() string {
	return `The audit chain of a project is also a transparency log. Its checkpoints, signed and cosigned by witnesses, prove to others what was in it.

    tenet audit log                                  # size, keys, newest checkpoint
    tenet audit log --policy > tenet.policy          # for those who check proofs
    tenet audit log --checkpoint > monday.checkpoint # for tenet audit verify --checkpoint

Exit codes: 0, or 1 if the log does not continue its last checkpoint.`
}

func (k *auditLogCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	l, err := client.Get(ctx, c, op.GetAuditLog)
	if err != nil {
		return err
	}
	switch {
	case k.Policy && l.Policy == "":
		return errors.New("this installation has no key for checkpoints yet; a server makes it when it starts (docs/audit.md)")
	case k.Policy:
		_, err = io.WriteString(s.out, l.Policy)
	case k.Checkpoint && l.Checkpoint == nil:
		return errors.New("the log has no checkpoint yet; a server makes them")
	case k.Checkpoint:
		_, err = io.WriteString(s.out, l.Checkpoint.Note)
	default:
		err = show(s, k.output, l, nil, printAuditLog)
	}
	if err == nil && l.Problem != "" {
		return exit(exitFound)
	}
	return err
}

func printAuditLog(s *session, l wire.AuditLog) error {
	var b bytes.Buffer
	if l.Problem != "" {
		fmt.Fprintf(&b, "%s %s\n", s.red("✗"), line(l.Problem))
	}
	origin := l.Origin
	if origin == "" {
		origin = "none: this installation signs no checkpoints"
	}
	fmt.Fprintf(&b, "log of project %s\n  name        %s\n  entries     %d\n", l.ProjectID, line(origin), l.Size)
	for _, key := range l.Keys {
		use := "signs"
		if !key.Signs {
			use = "has signed older checkpoints"
		}
		fmt.Fprintf(&b, "  key         %s (%s)\n", line(key.Key), use)
	}
	if c := l.Checkpoint; c == nil {
		b.WriteString("  checkpoint  none yet\n")
	} else {
		seen := "the quorum of witnesses has cosigned it"
		switch {
		case strings.Contains(l.Policy, "quorum none"):
			seen = "no witness has to cosign it"
		case !c.Witnessed:
			seen = "its quorum of witnesses is missing"
		}
		fmt.Fprintf(&b, "  checkpoint  of %d entries, %s; %s\n", c.Size, c.At.UTC().Format(time.RFC3339), seen)
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// rotated is the JSON of a change of the keys that sign checkpoints.
type rotated struct {
	Retired bool `json:"older_keys_retired"`
}

type auditRotateCommand struct {
	Retire bool `help:"End the signing by the older keys, and forget their secret halves."`
	output
}

func (auditRotateCommand) Help() string {
	return `Adds a key to the file of keys in audit_folder, or with --retire ends the older ones. Run it on the machine of the server, and start
the server again after it.

After the first step both keys sign, so that all who know either can check. Give the new policy (tenet audit log --policy) to auditors and
witnesses, and then retire the older key: it goes on to verify what it has signed.`
}

func (k *auditRotateCommand) Run(s *session) error {
	cfg, err := s.configure(defaultSettings(), nil)
	if err != nil {
		return err
	}
	if err := app.RotateKeys(cfg, k.Retire, time.Now()); err != nil {
		return err
	}
	r := rotated{Retired: k.Retire}
	return noted(s, k.output, r, nil, func(r rotated) string {
		if r.Retired {
			return "the newest key alone signs from the next start of the server on"
		}
		return "a new key signs beside the others from the next start of the server on"
	})
}
