package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/evidence/attest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type auditProveCommand struct {
	Evaluation string `arg:"" type:"filled" help:"Id of the evaluation."`
	Out        string `short:"o" placeholder:"FILE" help:"File to write the proof to, such as x.tlog-proof; default is stdout."`
	Record     string `placeholder:"FILE" help:"File to write the stored record to, compressed with zstd. Only a record of more than about 30 KiB is not in the proof itself."`
}

func (auditProveCommand) Help() string {
	return `Writes a proof (C2SP tlog-proof) that an evaluation is in the audit log, for somebody who trusts neither this server nor its database. It
holds the record, so handle it like the record. Needs the role reviewer.

    tenet audit prove 0198c5f2-... -o decision.tlog-proof
    tenet audit check decision.tlog-proof --policy tenet.policy      # the auditor, offline`
}

func (k *auditProveCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	part := func(name, path string) error {
		var b bytes.Buffer
		if err := client.Copy(ctx, c, op.ProveEvaluation.At(k.Evaluation).Where(wire.ProofQuery{Part: name}), &b); err != nil {
			return err
		}
		if path == "" || path == "-" {
			_, err := s.out.Write(b.Bytes())
			return err
		}
		return os.WriteFile(path, b.Bytes(), 0o600)
	}
	if k.Record == "-" && (k.Out == "" || k.Out == "-") {
		return errors.New("--record and --out cannot both go to the output; name a file for one of them")
	}
	if k.Record != "" {
		if err := part("record", k.Record); err != nil {
			return err
		}
	}
	return part("proof", k.Out)
}

type auditCheckCommand struct {
	Proof  string `arg:"" type:"filled" help:"File with the proof, or an evidence pack; - for a proof on stdin."`
	Record string `arg:"" optional:"" help:"File with a record to compare: as GET /api/v1/evaluations/{id} gives it, as the caller got the answer, or as tenet audit prove --record wrote it."`
	Policy string `type:"filled" required:"" placeholder:"FILE" help:"Policy (C2SP tlog-policy): the keys of the log, the witnesses, and the quorum of them that you ask for."`
	output
}

func (auditCheckCommand) Help() string {
	return `Checks a proof, or all of an evidence pack, without a database and without a network: that the record is in the log, that a key of the policy has signed the checkpoint,
and that the quorum of witnesses has cosigned it. Get the keys of the policy from the people who hold them, not with the proof.

Exit codes: 0 it is proven, 1 it is not, 2 a file could not be read.`
}

// maxRecord bounds a record that is compared, in bytes.
const maxRecord = 256 << 20

func (k *auditCheckCommand) Run(s *session) error {
	rules, err := readLimited(s, k.Policy, checkpoint.MaxPolicy)
	if err != nil {
		return err
	}
	policy, err := checkpoint.ParsePolicy(rules)
	if err != nil {
		return fmt.Errorf("%s: %w", k.Policy, err)
	}
	if isPack(k.Proof) {
		if k.Record != "" {
			return fmt.Errorf("a pack has its records in it; leave out %s", k.Record)
		}
		return k.checkPack(s, policy)
	}
	proof, err := readLimited(s, k.Proof, checkpoint.MaxFile)
	if err != nil {
		return err
	}
	var record []byte
	if k.Record != "" {
		if record, err = readLimited(s, k.Record, maxRecord); err != nil {
			return err
		}
		if len(record) == 0 {
			return fmt.Errorf("%s is empty", k.Record)
		}
	}
	r, err := attest.Check(proof, policy, record)
	if err != nil {
		return k.notProven(s, err)
	}
	if k.json() {
		return printJSON(s.out, checkedProofOf(r))
	}
	return printProof(s, r, k.Record)
}

// notProven prints why something is not proven.
func (k *auditCheckCommand) notProven(s *session, problem error) error {
	if k.json() {
		if err := printJSON(s.out, checkedProof{Problem: problem.Error()}); err != nil {
			return err
		}
	} else if _, err := fmt.Fprintf(s.out, "%s not proven: %s\n", s.red("✗"), line(problem.Error())); err != nil {
		return err
	}
	return exit(exitFound)
}

// readLimited reads a file, or stdin for -, of at most so many bytes.
func readLimited(s *session, path string, most int64) ([]byte, error) {
	in := s.in
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // opened for reading
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, most+1))
	if err == nil && int64(len(data)) > most {
		err = fmt.Errorf("%s has more than %d bytes", path, most)
	}
	return data, err
}

// checkedProof is the result of a check as JSON.
type checkedProof struct {
	Proven   bool           `json:"proven"`
	Problem  string         `json:"problem,omitempty"`
	Log      string         `json:"log,omitempty"`
	Project  string         `json:"project_id,omitempty"`
	Seq      int64          `json:"seq,omitempty"`
	ID       string         `json:"id,omitempty"`
	Kind     string         `json:"kind,omitempty"`
	Verdict  string         `json:"verdict,omitempty"`
	Actor    string         `json:"actor,omitempty"`
	At       *time.Time     `json:"at,omitempty"`
	Size     int64          `json:"checkpoint_size,omitempty"`
	Cosigned []checkedSight `json:"cosigned,omitempty"`
	// Record is whole, same (as the given one) or absent.
	Record     string           `json:"record,omitempty"`
	Redactions []wire.Redaction `json:"redactions,omitempty"`
	Personal   []string         `json:"personal,omitempty"`
}

type checkedSight struct {
	Witness string    `json:"witness"`
	At      time.Time `json:"at"`
}

func checkedProofOf(r *attest.Result) checkedProof {
	e := r.Entry
	out := checkedProof{
		Proven: true, Log: r.Origin, Project: e.ProjectID, Seq: e.Seq, ID: e.ID, Kind: e.Kind, Verdict: e.Verdict, Actor: e.Actor, At: &e.At, Size: r.Size, Record: "whole",
	}
	for _, c := range r.Cosigned {
		out.Cosigned = append(out.Cosigned, checkedSight{c.Witness, c.At})
	}
	switch {
	case r.Record == nil:
		out.Record = "absent"
	case r.Compared:
		out.Record = "same"
	}
	if r.Evaluation != nil {
		out.Redactions = r.Evaluation.Redactions
		if p := r.Evaluation.Personal; p != nil {
			out.Personal = p.Fields
		}
	}
	return out
}

func printProof(s *session, r *attest.Result, compared string) error {
	var b bytes.Buffer
	e := r.Entry
	fmt.Fprintf(&b, "%s proven: %s %s is entry %d of the log %s\n", s.green("✓"), line(e.Kind), line(e.ID), e.Seq, line(r.Origin))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s%s\n", name, line(fmt.Sprintf(format, args...)))
	}
	if e.Verdict != "" {
		row("verdict", "%s", e.Verdict)
	}
	row("recorded", "%s, for %s", e.At.UTC().Format(time.RFC3339), e.Actor)
	row("signed", "by the log, in a checkpoint of %d entries", r.Size)
	for _, c := range r.Cosigned {
		row("seen", "by the witness %s at %s", c.Witness, c.At.UTC().Format(time.RFC3339))
	}
	if len(r.Cosigned) == 0 {
		row("seen", "by no witness: the owner of the log's key could have made another log")
	}
	switch {
	case r.Record == nil:
		row("record", "not in the proof: its verdict, time, actor and hash are proven, its content is not")
	case r.Compared:
		row("record", "whole, and the same as %s", compared)
	default:
		row("record", "whole")
	}
	if v := r.Evaluation; v != nil {
		if v.Kept != "" && v.Kept != wire.KeepFull {
			row("subject", "recorded %s", map[wire.Keep]string{wire.KeepRedacted: "without its secrets"}[v.Kept])
		}
		if x := v.Personal; x != nil {
			row("personal", "%s: encrypted when it was recorded, under %s; with a deleted key it is forgotten", strings.Join(x.Fields, ", "), strings.Join(x.Keys, ", "))
		}
		for _, x := range v.Redactions {
			row("redacted", "%s in %s, line %d, before it was recorded", x.Kind, x.Where, x.Line)
		}
	}
	_, err := s.out.Write(b.Bytes())
	return err
}
