package pack

import (
	"archive/zip"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

var at = time.Date(2026, 10, 1, 12, 0, 0, 0, time.UTC)

// log is an audit log in memory with a key.
type log struct {
	entries []store.AuditEntry
	rules   map[string]rule.Rule
	keys    *checkpoint.KeyFile
	policy  *checkpoint.Policy
}

// newLog makes a log of n evaluations, of which each third is denied, after some other entries.
func newLog(t testing.TB, n, others int) *log {
	t.Helper()
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", at)
	if err != nil {
		t.Fatal(err)
	}
	l := &log{keys: keys, rules: map[string]rule.Rule{}}
	signing, _, err := keys.Keys(t.Context(), "example.com/tenet/p")
	if err != nil {
		t.Fatal(err)
	}
	if l.policy, err = checkpoint.ParsePolicy([]byte("log " + signing[0] + "\nquorum none\n")); err != nil {
		t.Fatal(err)
	}
	r := rule.Rule{ID: "0199f0a0-0000-7000-8000-000000000001", ProjectID: "p", Slug: "SEC-1", Version: 3, Statement: "Do not call eval <now>.", Modality: rule.MustNot, Severity: rule.High}
	l.rules[r.ID] = r
	for range others {
		l.add("key", "", []byte(`{"action":"created","secret":"for administrators"}`))
	}
	for i := range n {
		verdict := rule.Allow
		if i%3 == 0 {
			verdict = rule.Deny
		}
		record := wire.EvaluationRecord{
			Evaluation: &rule.Evaluation{OverallVerdict: verdict, RuleVerdicts: []rule.RuleVerdict{{RuleID: r.ID, RuleSlug: r.Slug, RuleStatement: r.Statement, Severity: r.Severity, Verdict: verdict}}},
			Rules:      []wire.RecordedRule{{RuleID: r.ID, Version: 3, ContentHash: r.ContentHash()}},
		}
		l.add(audit.KindEvaluation, string(verdict), audit.JSON(record))
	}
	return l
}

// sumOf returns the SHA-256 of bytes, in hex.
func sumOf(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

func (l *log) add(kind, verdict string, body []byte) {
	e := store.AuditEntry{
		ProjectID: "p", Seq: int64(len(l.entries) + 1), ID: audit.NewID(), Kind: kind, At: at.Add(time.Duration(len(l.entries)) * time.Second), Actor: "ann", Verdict: verdict, Body: audit.Compress(body),
	}
	if len(l.entries) > 0 {
		e.PrevHash = l.entries[len(l.entries)-1].Hash
	}
	e.BodyHash = sumOf(e.Body)
	e.Hash = audit.Hash(e)
	l.entries = append(l.entries, e)
}

func (l *log) leaves(t testing.TB, from, to int64) []tree.Hash {
	t.Helper()
	var out []tree.Hash
	for _, e := range l.entries[from:to] {
		leaf, err := tree.Leaf(e.Hash)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, leaf)
	}
	return out
}

// source makes a pack of the entries after one.
func (l *log) source(t testing.TB, after int64) Source {
	t.Helper()
	size := int64(len(l.entries))
	note, err := checkpoint.Sign(t.Context(), l.keys, checkpoint.Checkpoint{Origin: "example.com/tenet/p", Size: size, Root: tree.RootOf(l.leaves(t, 0, size))})
	if err != nil {
		t.Fatal(err)
	}
	return Source{
		ProjectID: "p", Query: "entries <all>", Checkpoint: store.Checkpoint{ProjectID: "p", Size: size, At: at, Note: note},
		Each: func(_ context.Context, fn func(e *store.AuditEntry, withheld bool) error) error {
			for i := range l.entries {
				e := l.entries[i]
				if e.Seq > after {
					if err := fn(&e, e.Kind == "key"); err != nil {
						return err
					}
				}
			}
			return nil
		},
		Front: func(_ context.Context, n int64) (tree.Front, error) {
			var f tree.Front
			for _, leaf := range l.leaves(t, 0, n) {
				f.Append(leaf)
			}
			return f, nil
		},
		Leaves: func(_ context.Context, after int64, n int) ([]tree.Hash, error) {
			return l.leaves(t, after, after+int64(n)), nil
		},
		Rules: func(_ context.Context, refs []store.VersionRef) (map[string]rule.Rule, error) {
			out := map[string]rule.Rule{}
			for _, ref := range refs {
				out[ref.RuleID] = l.rules[ref.RuleID]
			}
			return out, nil
		},
	}
}

func (l *log) pack(t testing.TB, after int64) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(t.Context(), &b, l.source(t, after)); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func check(b []byte, policy *checkpoint.Policy) (*Result, error) {
	return Check(bytes.NewReader(b), int64(len(b)), policy)
}

func TestAPackProvesItsEntries(t *testing.T) {
	l := newLog(t, 30, 5)
	for _, after := range []int64{0, 3, 17, 34, 35} {
		b := l.pack(t, after)
		if again := l.pack(t, after); !bytes.Equal(b, again) {
			t.Errorf("after %d: two packs of the same entries differ, so none can go on", after)
		}
		r, err := check(b, l.policy)
		if err != nil {
			t.Fatalf("after %d: %v", after, err)
		}
		f := r.Manifest.Figures
		if f.Entries != 35-int(after) || len(r.Missing) > 0 || len(r.Unproven) > 0 || r.Size != 35 {
			t.Errorf("after %d: %+v", after, r)
		}
	}
	r, err := check(l.pack(t, 0), l.policy)
	if err != nil {
		t.Fatal(err)
	}
	f := r.Manifest.Figures
	if f.Withheld != 5 || f.Verdicts["DENY"] != 10 || f.Verdicts["ALLOW"] != 20 || f.Rules[0].Denied != 10 || f.RuleContent != 1 {
		t.Errorf("figures %+v", f)
	}
	if b := l.pack(t, 0); bytes.Contains(unzip(t, b)[recordsName], []byte("for administrators")) {
		t.Error("a withheld body is in the pack")
	}
}

// unzip returns the files of a pack.
func unzip(t testing.TB, b []byte) map[string][]byte {
	t.Helper()
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	for _, f := range z.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if out[f.Name], err = io.ReadAll(in); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// rezip makes a pack of files, with a manifest that fits them.
func rezip(t testing.TB, files map[string][]byte) []byte {
	t.Helper()
	var m Manifest
	if err := json.Unmarshal(files[manifestName], &m); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	w := zip.NewWriter(&b)
	put := func(name string, data []byte) {
		to, err := w.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := to.Write(data); err != nil {
			t.Fatal(err)
		}
	}
	for i := range m.Files {
		data := files[m.Files[i].Name]
		m.Files[i].Size, m.Files[i].SHA256 = int64(len(data)), sumOf(data)
		put(m.Files[i].Name, data)
	}
	put(manifestName, audit.JSON(&m))
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What the operator changes in a pack, with a manifest that fits it, is found.
func TestAChangedPackIsNotProven(t *testing.T) {
	l := newLog(t, 12, 2)
	whole := l.pack(t, 0)
	swap := func(name, old, other string) func(map[string][]byte) {
		return func(f map[string][]byte) {
			if !bytes.Contains(f[name], []byte(old)) {
				t.Fatalf("%s has no %s", name, old)
			}
			f[name] = bytes.Replace(f[name], []byte(old), []byte(other), 1)
		}
	}
	dropLine := func(f map[string][]byte) {
		_, rest, _ := bytes.Cut(f[recordsName], []byte("\n"))
		f[recordsName] = rest
	}
	for name, c := range map[string]struct {
		change func(map[string][]byte)
		says   string
	}{
		"a verdict":                 {swap(recordsName, `"verdict":"DENY"`, `"verdict":"ALLOW"`), "was changed"},
		"a record for people":       {swap(recordsName, `"overall_verdict":"DENY"`, `"overall_verdict":"ALLOW"`), "is not its body"},
		"an entry is left out":      {dropLine, "figures"},
		"a rule":                    {swap(rulesName, "Do not call", "Do call"), "not the one that decided"},
		"a leaf":                    {func(f map[string][]byte) { f[leavesName][40] ^= 1 }, "not the one in the log"},
		"the last leaf":             {func(f map[string][]byte) { f[leavesName] = f[leavesName][:len(f[leavesName])-32] }, "end too early"},
		"the checkpoint":            {swap(checkpointName, "\n14\n", "\n15\n"), ""},
		"the figures":               {swap(manifestName, `"DENY": 4`, `"DENY": 0`), "figures"},
		"another project":           {swap(manifestName, `"project_id": "p"`, `"project_id": "q"`), "is not"},
		"what was before":           {swap(frontName, `"entries_before": 0`, `"entries_before": 1`), ""},
		"a record without its body": {swap(recordsName, `"body":"`, `"body":"","x":"`), ""},
	} {
		files := unzip(t, whole)
		c.change(files)
		if r, err := check(rezip(t, files), l.policy); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v; want %q", name, r, err, c.says)
		}
	}
	files := unzip(t, whole)
	swap(reportName, "Evidence of", "Praise of")(files)
	if r, err := check(rezip(t, files), l.policy); err != nil || len(r.Unproven) != 1 {
		t.Errorf("another report: %+v, %v", r, err)
	}
	// With the manifest as it was.
	if _, err := check(bytes.Replace(whole, []byte("manifest.json"), []byte("manifest.jsoN"), 2), l.policy); err == nil {
		t.Error("a pack without a manifest is proven")
	}
	other := newLog(t, 12, 2)
	if _, err := check(whole, other.policy); err == nil {
		t.Error("a pack is proven by the key of another log")
	}
	for n := range 40 {
		if _, err := check(whole[:len(whole)*n/40], l.policy); err == nil {
			t.Errorf("%d of %d bytes are proven", len(whole)*n/40, len(whole))
		}
	}
}

func TestTheAssessmentIsOSCAL(t *testing.T) {
	f, err := os.Open("testdata/oscal_complete_schema-1-1-3.json")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Close() }()
	schema, err := jsonschema.UnmarshalJSON(f)
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("oscal.json", schema); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("oscal.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, l := range []*log{newLog(t, 12, 2), newLog(t, 0, 1)} {
		var b bytes.Buffer
		if err := Assessment(t.Context(), &b, l.source(t, 0)); err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b.Bytes()))
		if err != nil {
			t.Fatal(err)
		}
		if err := compiled.Validate(doc); err != nil {
			t.Errorf("%v\n%s", err, b.Bytes())
		}
	}
}

// A pack holds one entry in memory, not all.
func TestAPackTakesLittleMemory(t *testing.T) {
	l := newLog(t, 3, 0)
	body := bytes.Repeat([]byte("tenet "), 20_000) // 120 KB of a record
	big := store.AuditEntry{ProjectID: "p", Kind: "document", Actor: "ann", At: at, Body: audit.Compress(fmt.Appendf(nil, `{"text":%q}`, body))}
	s := l.source(t, 0)
	signed, err := checkpoint.Sign(t.Context(), l.keys, checkpoint.Checkpoint{Origin: "example.com/tenet/p", Size: 600})
	if err != nil {
		t.Fatal(err)
	}
	s.Checkpoint.Note = signed
	var peak uint64
	s.Each = func(_ context.Context, fn func(*store.AuditEntry, bool) error) error {
		for i := range 600 { // 72 MB of records
			e := big
			e.Seq = int64(i + 1)
			if err := fn(&e, false); err != nil {
				return err
			}
			if i%100 == 99 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				peak = max(peak, m.HeapAlloc)
			}
		}
		return nil
	}
	s.Leaves = func(_ context.Context, _ int64, n int) ([]tree.Hash, error) { return make([]tree.Hash, n), nil }
	if err := Write(t.Context(), io.Discard, s); err != nil {
		t.Fatal(err)
	}
	if peak > 40<<20 {
		t.Errorf("a pack of 72 MB holds %d MB", peak>>20)
	}
}

func FuzzCheck(f *testing.F) {
	l := newLog(f, 3, 1)
	f.Add(l.pack(f, 0))
	f.Add([]byte("PK\x03\x04"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if r, err := check(b, l.policy); err == nil && r.Manifest.Figures.Entries == 0 && r.Size != 4 {
			t.Errorf("proven: %+v", r)
		}
	})
}
