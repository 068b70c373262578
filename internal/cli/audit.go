package cli

import (
	"context"
	"errors"
	"fmt"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// auditCommands are `tenet audit ...`.
type auditCommands struct {
	List   auditListCommand   `cmd:"" help:"Read the audit chain, newest entries first."`
	Show   auditShowCommand   `cmd:"" help:"Show what an entry has changed, field by field."`
	Export auditExportCommand `cmd:"" help:"Write entries to a file, as JSON lines or as a table."`
	Verify auditVerifyCommand `cmd:"" help:"Check that no record was changed, removed, added or moved."`
	Prove  auditProveCommand  `cmd:"" help:"Write a proof that an evaluation is in the audit log."`
	Check  auditCheckCommand  `cmd:"" help:"Check a proof, without a database or network."`
	Log    auditLogCommand    `cmd:"" help:"Show the state of the transparency log, its policy or its newest checkpoint."`
	Rotate auditRotateCommand `cmd:"" name:"rotate-key" help:"Add a key that signs checkpoints, or retire the older ones."`
	Accept auditAcceptCommand `cmd:"" name:"accept-corpus" help:"Accept the rules as a damaged database has them."`
}

type auditAcceptCommand struct {
	Reason string `required:"" placeholder:"TEXT" help:"Why rules may be missing; it is recorded."`
	Yes    bool   `short:"y" help:"Do not ask."`
	output
}

func (auditAcceptCommand) Help() string {
	return `Tenet counts the rules of a project with each change of them. If the database has others than were counted, nothing is evaluated:
restore the database from a backup. Where there is none, this command accepts the rules that are left.`
}

func (k *auditAcceptCommand) Run(ctx context.Context, s *session) error {
	if !k.Yes {
		if !isTerminal(s.stdin) {
			return errors.New("accept-corpus asks first, and there is no terminal to ask on; restore a backup, or give --yes")
		}
		if !confirm(s, "Rules may be missing. Evaluate by those that are left?") {
			return errors.New("nothing was changed")
		}
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		corpus, err := client.Call(ctx, c, op.AcceptCorpus, wire.AcceptCorpus{Reason: k.Reason})
		return noted(s, k.output, corpus, err, func(corpus wire.Corpus) string { return "the project has " + amount(corpus.Rules, "rule") })
	})
}

type auditVerifyCommand struct {
	ExpectSeq  int64  `placeholder:"N" help:"Number of an entry noted earlier, which the chain must still hold."`
	ExpectHash string `placeholder:"HASH" help:"Hash of that entry."`
	AfterSeq   int64  `placeholder:"N" help:"Number of an entry up to which the chain was verified earlier; only later ones are verified."`
	AfterHash  string `placeholder:"HASH" help:"Hash of that entry."`
	Limit      int64  `placeholder:"N" help:"Verify so many entries at most, and print where to go on."`
	Checkpoint string `placeholder:"FILE" help:"File of signed checkpoints that the log must continue, as tenet audit log --checkpoint or audit_publish wrote it; - for stdin."`
	Witnesses  bool   `help:"Compare with the newest checkpoints of the witnesses of the policy too."`
	Policy     string `placeholder:"FILE" help:"Policy with the keys of the log; default are those that the server gives."`
	output
}

func (auditVerifyCommand) Help() string {
	return `Each record holds the hash of the one before it. Note the head that is printed, somewhere else than in the
database: with it, a later run also finds a chain that was cut short or rewritten as a whole. A signed checkpoint says more: it finds
all changes of what was there when it was signed, also a project that was deleted and an older backup that was restored.

    tenet audit verify --checkpoint monday.checkpoint --policy tenet.policy
    tenet audit verify --witnesses --policy tenet.policy

A long chain may be verified in several runs. A run that --limit or an interruption ends prints the entry that it has reached, as --after-seq and --after-hash
of the next one, and --expect-seq and --expect-hash again if it has not reached that entry. Bodies that were changed in the part before it are not found again.

Exit codes: 0 the chain is whole, 1 it is not, 2 it could not be read.`
}

func (k *auditVerifyCommand) Run(ctx context.Context, s *session) error {
	if (k.ExpectSeq == 0) != (k.ExpectHash == "") || k.ExpectSeq < 0 {
		return errors.New("--expect-seq and --expect-hash belong together: the number and the hash of one entry")
	}
	if (k.AfterSeq == 0) != (k.AfterHash == "") || k.AfterSeq < 0 {
		return errors.New("--after-seq and --after-hash belong together: the number and the hash of the entry that an earlier run has reached")
	}
	if k.Limit < 0 {
		return errors.New("--limit must be at least 1")
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		if k.Checkpoint != "" || k.Witnesses {
			compared, err := k.compare(ctx, s, c)
			if err == nil {
				err = printComparison(s, compared)
			}
			if err != nil {
				return err
			}
		}
		r, err := k.verify(ctx, s, c)
		if err != nil {
			return err
		}
		err = show(s, k.output, &r, nil, k.print)
		if r.Next != nil && k.ExpectSeq > r.Next.Seq {
			s.note("entry %d, which is expected, was not reached; whether the chain has it is open", k.ExpectSeq)
		}
		if err == nil && !r.OK() {
			return exit(exitFound)
		}
		return err
	})
}

// verifyPart is how many entries one request verifies.
const verifyPart = 20_000

// verify verifies the chain in parts and shows on a terminal how far it is.
func (k *auditVerifyCommand) verify(ctx context.Context, s *session, c *client.Client) (wire.AuditReport, error) {
	var whole wire.AuditReport
	terminal := isTerminal(s.err)
	defer func() {
		if terminal {
			fmt.Fprint(s.err, "\r\x1b[K")
		}
	}()
	q := wire.AuditQuery{ExpectSeq: k.ExpectSeq, ExpectHash: k.ExpectHash, AfterSeq: k.AfterSeq, AfterHash: k.AfterHash}
	for first := true; ; first = false {
		q.Limit = verifyPart
		if k.Limit > 0 {
			q.Limit = int(min(verifyPart, k.Limit-whole.Entries))
		}
		part, err := client.Get(ctx, c, op.VerifyAudit.Where(q))
		if err != nil {
			if whole.Next != nil && whole.OK() {
				err = fmt.Errorf("%w; go on with %s", err, k.goOn(whole.Next))
			}
			return whole, err
		}
		if first {
			whole = part
		} else {
			whole.Entries += part.Entries
			whole.Pruned += part.Pruned
			whole.Head, whole.Problems = part.Head, append(whole.Problems, part.Problems...)
		}
		if whole.Next = part.Next; part.Next == nil || len(whole.Problems) >= maxVerifyProblems {
			whole.Next = nil
			return whole, nil
		}
		if k.Limit > 0 && whole.Entries >= k.Limit {
			return whole, nil
		}
		if terminal {
			fmt.Fprintf(s.err, "\r\x1b[Kverified %d of %d entries", whole.Entries, part.Head.Seq)
		}
		q.AfterSeq, q.AfterHash = part.Next.Seq, part.Next.Hash
		if q.ExpectSeq <= q.AfterSeq {
			q.ExpectSeq, q.ExpectHash = 0, "" // the part had it, or has reported that it is missing
		}
	}
}

// goOn returns the flags of a run that goes on where this one has ended. They repeat the expected entry if it comes later.
func (k *auditVerifyCommand) goOn(reached *wire.AuditHead) string {
	flags := fmt.Sprintf("--after-seq %d --after-hash %s", reached.Seq, reached.Hash)
	if k.ExpectSeq > reached.Seq {
		flags += fmt.Sprintf(" --expect-seq %d --expect-hash %s", k.ExpectSeq, k.ExpectHash)
	}
	return flags
}

// maxVerifyProblems bounds a report over all its parts.
const maxVerifyProblems = 100

func (k *auditVerifyCommand) print(s *session, r *wire.AuditReport) error {
	for _, p := range r.Problems {
		if _, err := fmt.Fprintf(s.out, "%s entry %d %s: %s\n", s.red("✗"), p.Seq, p.ID, line(p.Message)); err != nil {
			return err
		}
	}
	if !r.OK() {
		_, err := fmt.Fprintf(s.out, "%s project %s: the audit chain is broken in %s\n", s.red("✗"), r.ProjectID, amount(len(r.Problems), "place"))
		return err
	}
	if r.Head.Seq == 0 {
		_, err := fmt.Fprintf(s.out, "%s project %s: the audit chain is empty\n", s.green("✓"), r.ProjectID)
		return err
	}
	if r.Next == nil && r.Entries == 0 {
		_, err := fmt.Fprintf(s.out, "%s project %s: no entry is later than %d, which is the head\n", s.green("✓"), r.ProjectID, r.Head.Seq)
		return err
	}
	pruned := ""
	if r.Pruned > 0 {
		pruned = fmt.Sprintf(" (the bodies of %d were removed under the retention setting)", r.Pruned)
	}
	// The entries of a whole chain are numbered without a gap. Some may have been appended since its head was read.
	to := k.AfterSeq + r.Entries
	entries := fmt.Sprintf("entries %d to %d", k.AfterSeq+1, to)
	if r.Next == nil && k.AfterSeq == 0 {
		entries = fmt.Sprintf("all %d entries", r.Entries)
	}
	if _, err := fmt.Fprintf(s.out, "%s project %s: %s are whole%s\n", s.green("✓"), r.ProjectID, entries, pruned); err != nil {
		return err
	}
	if r.Next == nil {
		_, err := fmt.Fprintf(s.out, "  head: --expect-seq %d --expect-hash %s\n", r.Head.Seq, r.Head.Hash)
		return err
	}
	_, err := fmt.Fprintf(s.out, "  go on: %s\n", k.goOn(r.Next))
	return err
}
