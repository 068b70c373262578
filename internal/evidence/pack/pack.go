// Package pack writes and checks evidence packs: ZIP files with the entries of an audit log in a period, the rules that decided, and what proves that the
// entries are in the log that witnesses saw. Checking needs neither a database nor a network.
package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Names of the files in a pack.
const (
	recordsName    = "records.jsonl"           // a line for each entry
	rulesName      = "rules.jsonl"             // the rules in the versions that decided
	leavesName     = "log.hashes"              // the leaves of the tree, 32 bytes each, from the first entry of the pack to the checkpoint
	frontName      = "log.json"                // what comes before them
	checkpointName = "checkpoint"              // the signed note with its cosignatures
	reportName     = "report.html"             // for people
	oscalName      = "assessment-results.json" // OSCAL
	manifestName   = "manifest.json"           // the other files with their hashes; the last file
)

// format is the first field of a manifest.
const format = "tenet evidence pack 1"

// Source supplies the contents of a pack.
type Source struct {
	ProjectID  string
	Query      string // the filters of the export, for people
	Checkpoint store.Checkpoint
	// Each calls a function with the entries that the pack has, in the order of their numbers. withheld entries are for administrators: their bodies are left out.
	Each func(ctx context.Context, fn func(e *store.AuditEntry, withheld bool) error) error
	// Front returns the front of the tree at a size, and Leaves those of count entries after an entry.
	Front  func(ctx context.Context, size int64) (tree.Front, error)
	Leaves func(ctx context.Context, after int64, count int) ([]tree.Hash, error)
	// Rules returns rules in exact versions, by id.
	Rules func(ctx context.Context, refs []store.VersionRef) (map[string]rule.Rule, error)
}

// Line is a line of the records: an entry, and its body as JSON.
type Line struct {
	Entry    store.AuditEntry `json:"entry"`
	Withheld bool             `json:"withheld,omitempty"` // only administrators export the body
	Record   json.RawMessage  `json:"record,omitempty"`
}

// front holds the roots before the leaves of a pack.
type front struct {
	Before int64  `json:"entries_before"`
	Front  string `json:"front"`
}

// Manifest lists what a pack has.
type Manifest struct {
	Format     string    `json:"format"`
	ProjectID  string    `json:"project_id"`
	Log        string    `json:"log"`
	Query      string    `json:"query"`
	Checkpoint int64     `json:"checkpoint_size"`
	At         time.Time `json:"checkpoint_at"`
	Figures    *Figures  `json:"figures"`
	Files      []File    `json:"files"`
}

// File is a file of a pack.
type File struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// writer writes the files of a pack, one after the other.
type writer struct {
	zip   *zip.Writer
	files []File
	at    time.Time
	// Of the open file:
	to   io.Writer
	sum  hash.Hash
	size int64
}

// file begins a file. Its time is that of the checkpoint, so that packs of the same entries are the same.
func (w *writer) file(name string) error {
	w.end()
	to, err := w.zip.CreateHeader(&zip.FileHeader{Name: name, Method: zip.Deflate, Modified: w.at.UTC()})
	w.files, w.to, w.sum, w.size = append(w.files, File{Name: name}), to, sha256.New(), 0
	return err
}

// Write implements io.Writer.
func (w *writer) Write(b []byte) (int, error) {
	n, err := w.to.Write(b)
	w.sum.Write(b[:n]) // a hash never fails to write
	w.size += int64(n)
	return n, err
}

func (w *writer) end() {
	if w.sum == nil {
		return
	}
	f := &w.files[len(w.files)-1]
	f.Size, f.SHA256 = w.size, hex.EncodeToString(w.sum.Sum(nil))
	w.sum = nil
}

func (w *writer) json(name string, v any) error {
	if err := w.file(name); err != nil {
		return err
	}
	return encode(w, v)
}

// encode writes JSON for people.
func encode(to io.Writer, v any) error {
	e := json.NewEncoder(to)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(v)
}

// Write writes a pack as it reads the entries. It holds one entry, the names of the rules and their figures in memory.
func Write(ctx context.Context, to io.Writer, s Source) error {
	signed, err := checkpoint.Parse(s.Checkpoint.Note)
	if err != nil {
		return err
	}
	w := &writer{zip: zip.NewWriter(to), at: s.Checkpoint.At}
	c := newCount(s.ProjectID)
	if err := w.file(recordsName); err != nil {
		return err
	}
	first := signed.Size + 1
	err = s.Each(ctx, func(e *store.AuditEntry, withheld bool) error {
		if e.Seq > signed.Size {
			return nil // of a later checkpoint
		}
		first = min(first, e.Seq)
		line, err := lineOf(e, withheld)
		if err != nil {
			return err
		}
		if err := c.add(&line); err != nil {
			return err
		}
		b, err := json.Marshal(&line)
		if err == nil {
			_, err = w.Write(append(b, '\n'))
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := writeRules(ctx, w, s, c); err != nil {
		return err
	}
	if err := writeLog(ctx, w, s, first, signed.Size); err != nil {
		return err
	}
	if err := w.file(checkpointName); err != nil {
		return err
	}
	if _, err := io.WriteString(w, s.Checkpoint.Note); err != nil {
		return err
	}
	m := Manifest{Format: format, ProjectID: s.ProjectID, Log: signed.Origin, Query: s.Query, Checkpoint: signed.Size, At: s.Checkpoint.At.UTC(), Figures: c.figures()}
	if err := w.file(reportName); err != nil {
		return err
	}
	if err := writeReport(w, &m); err != nil {
		return err
	}
	if err := w.json(oscalName, oscal(&m)); err != nil {
		return err
	}
	w.end()
	m.Files = w.files
	if err := w.json(manifestName, &m); err != nil {
		return err
	}
	return w.zip.Close()
}

// Assessment writes the OSCAL assessment results of a pack alone.
func Assessment(ctx context.Context, to io.Writer, s Source) error {
	signed, err := checkpoint.Parse(s.Checkpoint.Note)
	if err != nil {
		return err
	}
	c := newCount(s.ProjectID)
	err = s.Each(ctx, func(e *store.AuditEntry, withheld bool) error {
		if e.Seq > signed.Size {
			return nil
		}
		line, err := lineOf(e, withheld)
		if err != nil {
			return err
		}
		return c.add(&line)
	})
	if err != nil {
		return err
	}
	return encode(to, oscal(&Manifest{ProjectID: s.ProjectID, Log: signed.Origin, Query: s.Query, Checkpoint: signed.Size, At: s.Checkpoint.At.UTC(), Figures: c.figures()}))
}

// lineOf makes the line of an entry.
func lineOf(e *store.AuditEntry, withheld bool) (Line, error) {
	line := Line{Entry: *e, Withheld: withheld}
	if withheld {
		line.Entry.Body = nil
	}
	if len(line.Entry.Body) == 0 {
		return line, nil
	}
	body, err := audit.Body(*e)
	line.Record = body
	return line, err
}

// rulesPage is how many rules are read at once.
const rulesPage = 500

func writeRules(ctx context.Context, w *writer, s Source, c *count) error {
	if err := w.file(rulesName); err != nil {
		return err
	}
	refs := slices.SortedFunc(maps.Keys(c.used), func(a, b store.VersionRef) int {
		if a.RuleID != b.RuleID {
			return strings.Compare(a.RuleID, b.RuleID)
		}
		return a.Version - b.Version
	})
	for len(refs) > 0 {
		// One version of a rule at a time, since they are read by id.
		var part, rest []store.VersionRef
		for i, ref := range refs {
			if len(part) == rulesPage {
				rest = append(rest, refs[i:]...)
				break
			}
			if len(part) > 0 && part[len(part)-1].RuleID == ref.RuleID {
				rest = append(rest, ref)
				continue
			}
			part = append(part, ref)
		}
		found, err := s.Rules(ctx, part)
		if err != nil {
			return err
		}
		for _, ref := range part {
			r, ok := found[ref.RuleID]
			if !ok {
				continue // the check names it
			}
			b, err := json.Marshal(&r)
			if err != nil {
				return err
			}
			if _, err := w.Write(append(b, '\n')); err != nil {
				return err
			}
		}
		refs = rest
	}
	return nil
}

// leavesPage is how many leaves are read at once.
const leavesPage = 10_000

func writeLog(ctx context.Context, w *writer, s Source, first, size int64) error {
	before, err := s.Front(ctx, first-1)
	if err != nil {
		return err
	}
	if err := w.json(frontName, front{first - 1, before.String()}); err != nil {
		return err
	}
	if err := w.file(leavesName); err != nil {
		return err
	}
	for at := first - 1; at < size; {
		list, err := s.Leaves(ctx, at, int(min(leavesPage, size-at)))
		if err != nil {
			return err
		}
		if len(list) == 0 {
			return rule.Errorf(rule.CodeConflict, "entries after %d are missing, so nothing proves the pack; run tenet audit verify", at)
		}
		if _, err := w.Write(tree.Bytes(list)); err != nil {
			return err
		}
		at += int64(len(list))
	}
	return nil
}

// Figures count what a pack has.
type Figures struct {
	Entries     int            `json:"entries"`
	First       int64          `json:"first_seq,omitempty"`
	Last        int64          `json:"last_seq,omitempty"`
	From        *time.Time     `json:"from,omitempty"` // times of the first and the last entry
	To          *time.Time     `json:"to,omitempty"`
	Kinds       map[string]int `json:"kinds"`
	Verdicts    map[string]int `json:"verdicts"`                       // of evaluations
	Removed     int            `json:"bodies_removed"`                 // under the retention setting
	Withheld    int            `json:"bodies_withheld"`                // for administrators
	Redacted    int            `json:"evaluations_redacted"`           // that were recorded without secrets
	Sealed      int            `json:"evaluations_personal,omitempty"` // whose personal data are encrypted
	Rules       []RuleFigures  `json:"rules"`                          // the worst first
	Unjudged    int            `json:"rules_without_verdicts"`         // rules that were used and have no verdict of their own
	RuleContent int            `json:"rule_versions"`
}

// RuleFigures count the verdicts of a rule.
type RuleFigures struct {
	ID        string `json:"id"`
	Slug      string `json:"slug,omitempty"`
	Statement string `json:"statement"`
	Severity  string `json:"severity"`
	Allowed   int    `json:"allowed"`
	Denied    int    `json:"denied"`
	Confirm   int    `json:"needs_confirmation"`
	Waived    int    `json:"waived"`
}

// count makes the figures of the lines that it is given, and notes the rules that decided.
type count struct {
	projectID string
	f         Figures
	rules     map[string]*RuleFigures
	used      map[store.VersionRef]string // content hashes
}

func newCount(projectID string) *count {
	return &count{projectID: projectID, f: Figures{Kinds: map[string]int{}, Verdicts: map[string]int{}}, rules: map[string]*RuleFigures{}, used: map[store.VersionRef]string{}}
}

// add adds a line. It fails if its record names two contents of one version of a rule.
func (c *count) add(l *Line) error {
	e := &l.Entry
	if at := e.At.UTC(); c.f.Entries == 0 {
		c.f.First, c.f.From = e.Seq, &at
	}
	at := e.At.UTC()
	c.f.Entries++
	c.f.Last, c.f.To = e.Seq, &at
	c.f.Kinds[e.Kind]++
	switch {
	case l.Withheld:
		c.f.Withheld++
	case len(e.Body) == 0:
		c.f.Removed++
	}
	if e.Kind != audit.KindEvaluation {
		return nil
	}
	c.f.Verdicts[e.Verdict]++
	if l.Record == nil {
		return nil
	}
	var r wire.EvaluationRecord
	if err := json.Unmarshal(l.Record, &r); err != nil {
		return fmt.Errorf("the record of entry %d cannot be read: %w", e.Seq, err)
	}
	if len(r.Redactions) > 0 {
		c.f.Redacted++
	}
	if r.Personal != nil {
		c.f.Sealed++
	}
	for _, one := range r.Rules {
		ref := store.VersionRef{RuleID: one.RuleID, Version: one.Version}
		if before, ok := c.used[ref]; ok && before != one.ContentHash {
			return fmt.Errorf("entry %d says that version %d of the rule %s has other content than an entry before", e.Seq, one.Version, one.RuleID)
		}
		c.used[ref] = one.ContentHash
	}
	if r.Evaluation == nil {
		return nil
	}
	for i := range r.Evaluation.RuleVerdicts {
		c.verdict(&r.Evaluation.RuleVerdicts[i])
	}
	return nil
}

func (c *count) verdict(v *rule.RuleVerdict) {
	f := c.rules[v.RuleID]
	if f == nil {
		f = &RuleFigures{ID: v.RuleID}
		c.rules[v.RuleID] = f
	}
	f.Slug, f.Statement, f.Severity = v.RuleSlug, v.RuleStatement, string(v.Severity)
	switch {
	case v.Verdict == rule.Deny && v.Waiver != nil:
		f.Waived++
	case v.Verdict == rule.Deny:
		f.Denied++
	case v.Verdict == rule.NeedsConfirmation:
		f.Confirm++
	default:
		f.Allowed++
	}
}

func (c *count) figures() *Figures {
	f := c.f
	f.Rules = make([]RuleFigures, 0, len(c.rules))
	for _, r := range c.rules {
		f.Rules = append(f.Rules, *r)
	}
	slices.SortFunc(f.Rules, func(a, b RuleFigures) int {
		switch {
		case a.Denied != b.Denied:
			return b.Denied - a.Denied
		case a.Confirm != b.Confirm:
			return b.Confirm - a.Confirm
		}
		return strings.Compare(a.ID, b.ID)
	})
	seen := map[string]bool{}
	for ref := range c.used {
		if _, ok := c.rules[ref.RuleID]; !ok && !seen[ref.RuleID] {
			seen[ref.RuleID] = true
			f.Unjudged++
		}
	}
	f.RuleContent = len(c.used)
	return &f
}

// same reports whether two values have the same JSON.
func same(a, b any) (bool, error) {
	x, err := json.Marshal(a)
	if err != nil {
		return false, err
	}
	y, err := json.Marshal(b)
	return bytes.Equal(x, y), err
}

// errNoPack reports a file that is no pack.
var errNoPack = errors.New("the file is no evidence pack of this version")
