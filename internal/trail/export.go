package trail

import (
	"bufio"
	"context"
	"encoding/csv"
	"encoding/json"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/evaluate/find"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Export is a file of entries of a chain, oldest first.
type Export struct {
	trail     *Trail
	projectID string
	query     find.ChainQuery
	after     int64
	format    string
	within    within
}

// within narrows an export to evaluations of some subjects.
type within struct{ node, scope, repository string }

// has reports whether an entry is about such a subject. An entry without a body is not.
func (w within) has(e *store.AuditEntry) (bool, error) {
	if w == (within{}) {
		return true, nil
	}
	if e.Kind != audit.KindEvaluation || len(e.Body) == 0 {
		return false, nil
	}
	body, err := audit.Body(*e)
	if err != nil {
		return false, err
	}
	var r struct {
		NodeID  string `json:"node_id"`
		Subject struct {
			Repository string `json:"repository"`
			Scope      string `json:"scope"`
		} `json:"subject"`
	}
	if err := json.Unmarshal(body, &r); err != nil {
		return false, err
	}
	return (w.node == "" || strings.EqualFold(w.node, r.NodeID)) &&
		(w.scope == "" || r.Subject.Scope == w.scope || strings.HasPrefix(r.Subject.Scope, w.scope+"/")) &&
		(w.repository == "" || rule.ParseRepository(w.repository).Same(rule.ParseRepository(r.Subject.Repository))), nil
}

// Each calls fn with the entries, oldest first. withheld entries are shown to administrators only.
func (x *Export) Each(ctx context.Context, fn func(e *store.AuditEntry, withheld bool) error) error {
	forAdmins := !auth.ActorFrom(ctx).Role.Allows(auth.Admin)
	return x.trail.chain.Each(ctx, x.projectID, x.query, x.after, func(e *store.AuditEntry) error {
		ok, err := x.within.has(e)
		if err != nil || !ok {
			return err
		}
		return fn(e, forAdmins && slices.Contains(hidden, e.Kind))
	})
}

// Export prepares a file of the entries that match, in the format jsonl or csv; errors are as of [Trail.List].
func (t *Trail) Export(ctx context.Context, projectID string, in wire.AuditExportQuery) (*Export, error) {
	q, err := t.query(ctx, projectID, &in.AuditFilter)
	if err != nil {
		return nil, err
	}
	return &Export{t, projectID, q, in.After, in.Format, within{in.Node, strings.Trim(in.Scope, "/"), in.Repository}}, nil
}

// Write writes the file. Entries that are recorded meanwhile are not in it. It holds a few hundred entries in memory at a time.
func (x *Export) Write(ctx context.Context, to io.Writer) error {
	out := bufio.NewWriterSize(to, 64<<10)
	write := jsonLines(out)
	if x.format == "csv" {
		table := csv.NewWriter(out)
		write = rows(table)
		if err := table.Write(columns); err != nil {
			return err
		}
	}
	slugs := map[string]string{}
	err := x.Each(ctx, func(e *store.AuditEntry, _ bool) error {
		line := wire.AuditLine{BodyHash: e.BodyHash, PrevHash: e.PrevHash}
		entry, about := entryOf(ctx, e)
		line.AuditEntry = entry
		if !entry.Withheld && entry.Problem == "" {
			line.Changes, line.Record = about.Changes, record(e)
		}
		if err := x.nameLine(ctx, &line, slugs); err != nil {
			return err
		}
		return write(&line)
	})
	if err != nil {
		return err
	}
	return out.Flush()
}

// maxSlugs bounds the slugs that an export holds.
const maxSlugs = 10_000

// nameLine sets the slugs of a line's rules.
func (x *Export) nameLine(ctx context.Context, line *wire.AuditLine, slugs map[string]string) error {
	var missing []string
	for _, r := range line.Rules {
		if _, ok := slugs[r.ID]; !ok {
			missing = append(missing, r.ID)
		}
	}
	if len(missing) > 0 {
		if len(slugs) > maxSlugs {
			clear(slugs)
			for _, r := range line.Rules {
				missing = append(missing, r.ID)
			}
		}
		rules, err := x.trail.store.Rules.GetMany(ctx, x.projectID, missing)
		if err != nil {
			return err
		}
		for _, id := range missing {
			slugs[id] = rules[id].Slug
		}
	}
	for i := range line.Rules {
		line.Rules[i].Slug = slugs[line.Rules[i].ID]
	}
	return nil
}

func jsonLines(to io.Writer) func(*wire.AuditLine) error {
	enc := json.NewEncoder(to)
	enc.SetEscapeHTML(false)
	return func(line *wire.AuditLine) error { return enc.Encode(line) }
}

// columns are the names of the columns of a table.
var columns = []string{
	"seq", "at", "kind", "action", "actor", "summary", "object", "rules", "evaluation_id", "verdict", "mode", "reason", "changes", "removed", "withheld",
	"id", "body_hash", "prev_hash", "hash", "person", "agent", "session", "claimed",
}

// rows writes lines as rows of a table.
func rows(to *csv.Writer) func(*wire.AuditLine) error {
	return func(l *wire.AuditLine) error {
		var names []string
		for _, r := range l.Rules {
			name := r.Slug
			if name == "" {
				name = r.ID
			}
			names = append(names, name)
		}
		if more := l.RuleCount - len(l.Rules); more > 0 {
			names = append(names, "and "+strconv.Itoa(more)+" more")
		}
		object := l.Object.Kind
		if l.Object.ID != "" {
			object += ":" + l.Object.ID
		}
		cells := []string{
			strconv.FormatInt(l.Seq, 10), l.At.UTC().Format(time.RFC3339Nano), l.Kind, l.Action, l.Actor, l.Summary, object, strings.Join(names, ", "),
			l.EvaluationID, l.Verdict, l.Mode, l.Reason, changeCell(l.Changes), yes(l.Removed), yes(l.Withheld), l.ID, l.BodyHash, l.PrevHash, l.Hash,
		}
		who := rule.Identity{}
		if l.Identity != nil {
			who = *l.Identity
		}
		cells = append(cells, who.Person, strings.Join(who.Agents(), ", "), who.Session, strings.Join(who.Claimed, ", "))
		for i := range cells {
			cells[i] = cell(cells[i])
		}
		if err := to.Write(cells); err != nil {
			return err
		}
		to.Flush()
		return to.Error()
	}
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return ""
}

// maxCell is how many bytes a spreadsheet takes in a cell.
const maxCell = 32_000

// changeCell has the changes of an entry, one a line.
func changeCell(list []rule.FieldChange) string {
	var b strings.Builder
	for i, c := range list {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(c.Field + ": " + string(c.Before) + " -> " + string(c.After))
		if b.Len() > maxCell {
			return strings.ToValidUTF8(b.String()[:maxCell], "") + "... (cut; the export as JSON lines has all)"
		}
	}
	return b.String()
}

// cell is a text that no spreadsheet takes for a formula: one that begins like a formula gets an apostrophe before it, also where white
// space comes first, which spreadsheets drop.
func cell(s string) string {
	s = strings.ReplaceAll(s, "\x00", "")
	switch first := strings.TrimLeft(s, " \t\r\n\v\f\u00a0\ufeff"); {
	case first != "" && strings.ContainsRune("=+-@\uff1d\uff0b\uff0d\uff20|%", []rune(first)[0]):
		return "'" + s
	case s != "" && strings.ContainsRune("\t\r\n", rune(s[0])):
		return "'" + s
	}
	return s
}
