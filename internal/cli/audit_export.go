package cli

import (
	"archive/zip"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/evidence/pack"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type auditExportCommand struct {
	auditFilter
	From       string `placeholder:"TIME" help:"The same as --since."`
	To         string `placeholder:"TIME" help:"The same as --until."`
	Node       string `placeholder:"ID" help:"Only evaluations at this federation node."`
	Scope      string `placeholder:"SCOPE" help:"Only evaluations of subjects in this scope or below."`
	Repository string `placeholder:"NAME" help:"Only evaluations of subjects of this repository."`
	Format     string `short:"f" enum:"jsonl,csv,pack,oscal" default:"jsonl" help:"${enum}."`
	Out        string `short:"o" placeholder:"FILE" help:"File to write to; default is stdout. The same command again completes a pack that was interrupted."`
	AfterSeq   int64  `placeholder:"N" help:"Only entries after this number, to go on with an earlier export."`
	JSON       bool   `name:"json" help:"The same as --format jsonl: one entry a line."`
}

func (auditExportCommand) Help() string {
	return `Writes the entries of the project's audit chain, oldest first: as JSON lines with all that was recorded, or as a table for spreadsheets.
A pack is a ZIP file with the entries, the rules in the versions that decided, a report for people, OSCAL assessment results, and what proves all of it
to somebody who trusts neither this server nor its database. Needs the role reviewer; entries about keys, sign-ins and webhooks have their bodies
for administrators only.

    tenet audit export --since 2026-10-01 --until 2026-11-01 > october.jsonl
    tenet audit export --kind rule --format csv > rules.csv
    tenet audit export --from 2026-10-01 --to 2026-11-01 --format pack -o october.zip
    tenet audit check october.zip --policy tenet.policy      # the auditor, offline`
}

func (k *auditExportCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	if k.AfterSeq < 0 {
		return fmt.Errorf("--after-seq: %d is no number of an entry", k.AfterSeq)
	}
	for _, same := range []struct {
		flags       string
		other, name *string
	}{{"--from and --since", &k.From, &k.Since}, {"--to and --until", &k.To, &k.Until}} {
		if *same.other != "" && *same.name != "" {
			return fmt.Errorf("%s are the same; give one of them", same.flags)
		}
		*same.name += *same.other
	}
	if k.JSON {
		k.Format = "jsonl"
	}
	f, err := k.wire()
	if err != nil {
		return err
	}
	q := wire.AuditExportQuery{AuditFilter: f, Format: k.Format, After: k.AfterSeq, Node: k.Node, Scope: k.Scope, Repository: k.Repository}
	if k.Format == "pack" && k.Out != "" && k.Out != "-" {
		return k.pack(ctx, s, c, q)
	}
	if k.Out == "" || k.Out == "-" {
		return client.Copy(ctx, c, op.ExportAudit.Where(q), s.out)
	}
	to, err := os.OpenFile(k.Out, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w, done := received(s, "exporting", to)
	err = client.Copy(ctx, c, op.ExportAudit.Where(q), w)
	done()
	if err != nil {
		_ = to.Close() // the first error is the one that matters
		return err
	}
	return to.Close()
}

// packTries is how often a download of a pack is resumed after its connection broke.
const packTries = 5

// pack writes a pack to a file, and completes one that was begun.
func (k *auditExportCommand) pack(ctx context.Context, s *session, c *client.Client, q wire.AuditExportQuery) error {
	part, state := k.Out+".part", k.Out+".part.json"
	var begun wire.AuditExportQuery
	if data, err := os.ReadFile(state); err == nil && json.Unmarshal(data, &begun) == nil && begun.Checkpoint > 0 && sameQuery(begun, q) {
		q = begun
	} else {
		_ = os.Remove(part) // it may not be there
		log, err := client.Get(ctx, c, op.GetAuditLog)
		if err != nil {
			return err
		}
		if log.Checkpoint == nil {
			return rule.Errorf(rule.CodeUnavailable, "the audit log has no checkpoint yet; a server makes them, if audit_folder is set or the database is embedded")
		}
		q.Checkpoint = log.Checkpoint.Size
		data, err := json.Marshal(q)
		if err != nil {
			return err
		}
		if err := os.WriteFile(state, data, 0o600); err != nil {
			return err
		}
	}
	to, err := os.OpenFile(part, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	w, done := received(s, "exporting", to)
	defer done()
	for try := 1; ; try++ {
		at, err := to.Stat()
		if err != nil {
			return err
		}
		q.Offset = at.Size()
		if err = client.Copy(ctx, c, op.ExportAudit.Where(q), w); err == nil {
			break
		}
		if now, _ := to.Stat(); try == packTries || ctx.Err() != nil || now == nil || now.Size() == q.Offset {
			_ = to.Close() // the first error is the one that matters
			return fmt.Errorf("%w; run the same command again to continue after %d bytes", err, q.Offset)
		}
		s.note("the connection broke; going on")
		time.Sleep(time.Duration(try) * time.Second)
	}
	if err := to.Close(); err != nil {
		return err
	}
	_ = os.Remove(state) // a pack that is whole needs it no more
	whole, err := zip.OpenReader(part)
	if err != nil {
		_ = os.Remove(part) // it cannot go on
		return fmt.Errorf("the entries were changed while they were exported, such as by retention; run the command again: %w", err)
	}
	if err := whole.Close(); err != nil {
		return err
	}
	return os.Rename(part, k.Out)
}

// sameQuery reports whether two exports ask for the same, whatever the checkpoint.
func sameQuery(a, b wire.AuditExportQuery) bool {
	a.Checkpoint, a.Offset, b.Checkpoint, b.Offset = 0, 0, 0, 0
	x, err := json.Marshal(a)
	if err != nil {
		return false
	}
	y, err := json.Marshal(b)
	return err == nil && string(x) == string(y)
}

// isPack reports whether a file begins like a ZIP file.
func isPack(path string) bool {
	f, err := os.Open(path)
	if err != nil {
		return false
	}
	defer func() { _ = f.Close() }() // opened for reading
	var head [4]byte
	n, _ := f.Read(head[:])
	return string(head[:n]) == "PK\x03\x04"
}

// checkPack checks an evidence pack and prints the result.
func (k *auditCheckCommand) checkPack(s *session, policy *checkpoint.Policy) error {
	f, err := os.Open(k.Proof)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	info, err := f.Stat()
	if err != nil {
		return err
	}
	r, err := pack.Check(f, info.Size(), policy)
	if err != nil {
		return k.notProven(s, err)
	}
	if k.json() {
		return printJSON(s.out, checkedPackOf(r))
	}
	return printPack(s, r)
}

// checkedPack is the result of a check of a pack as JSON.
type checkedPack struct {
	Proven   bool           `json:"proven"`
	Log      string         `json:"log"`
	Project  string         `json:"project_id"`
	Query    string         `json:"query"`
	Size     int64          `json:"checkpoint_size"`
	Cosigned []checkedSight `json:"cosigned,omitempty"`
	Figures  *pack.Figures  `json:"figures"`
	Missing  []string       `json:"missing_rules,omitempty"`
	Unproven []string       `json:"unproven_files,omitempty"`
}

func checkedPackOf(r *pack.Result) checkedPack {
	out := checkedPack{Proven: true, Log: r.Origin, Project: r.Manifest.ProjectID, Query: r.Manifest.Query, Size: r.Size, Figures: r.Manifest.Figures, Unproven: r.Unproven}
	for _, c := range r.Cosigned {
		out.Cosigned = append(out.Cosigned, checkedSight{c.Witness, c.At})
	}
	for _, m := range r.Missing {
		out.Missing = append(out.Missing, fmt.Sprintf("%s version %d", m.RuleID, m.Version))
	}
	return out
}

func printPack(s *session, r *pack.Result) error {
	var b strings.Builder
	f := r.Manifest.Figures
	fmt.Fprintf(&b, "%s proven: %d entries are in the log %s\n", s.green("✓"), f.Entries, line(r.Origin))
	row := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "  %-10s%s\n", name, line(fmt.Sprintf(format, args...)))
	}
	row("asked", "%s", r.Manifest.Query)
	row("decided", "%d evaluations: %d ALLOW, %d DENY, %d NEEDS_CONFIRMATION", f.Kinds["evaluation"], f.Verdicts["ALLOW"], f.Verdicts["DENY"], f.Verdicts["NEEDS_CONFIRMATION"])
	row("rules", "%d versions, each the one that decided", f.RuleContent-len(r.Missing))
	row("signed", "by the log, in a checkpoint of %d entries", r.Size)
	for _, c := range r.Cosigned {
		row("seen", "by the witness %s at %s", c.Witness, c.At.UTC().Format(time.RFC3339))
	}
	if len(r.Cosigned) == 0 {
		row("seen", "by no witness: the owner of the log's key could have made another log")
	}
	if n := f.Removed + f.Withheld; n > 0 {
		row("bodies", "%d were removed under the retention setting and %d are for administrators: their entries are proven, what they say is not", f.Removed, f.Withheld)
	}
	for _, m := range r.Missing {
		row("missing", "version %d of the rule %s, which decided, is not in the pack", m.Version, m.RuleID)
	}
	for _, name := range r.Unproven {
		row("unproven", "%s is not what this version makes of the figures: it was changed, or another version made it", name)
	}
	_, err := s.out.Write([]byte(b.String()))
	return err
}
