package edge_test

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"tenet/edge"
	"tenet/internal/bundle"
	"tenet/internal/check"
	"tenet/internal/checkpoint"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Sizes of the benchmarks: rules in all, of which so many are in scope of the subject.
const (
	benchRules  = 10_000
	benchScopes = 100
)

func benchCheck(i int) *rule.Check {
	return &rule.Check{CEL: fmt.Sprintf("facts.amount < %d.0", i+1_000_000)}
}

var benchFacts = map[string]any{"amount": 12.5, "currency": "EUR"}

// benchBundle makes a file with a signed bundle of n rules, and the keys to trust.
func benchBundle(b *testing.B, n int) (file string, keys []string) {
	b.Helper()
	at := time.Now().UTC().Truncate(time.Microsecond)
	c := &bundle.Contents{Project: rule.Project{ID: "default", Name: "Default"}, Snapshot: store.Snapshot{ProjectID: "default", ID: "0199f0a0-0000-7000-8000-000000000000"}}
	for i := range n {
		r := rule.Rule{
			ID: fmt.Sprintf("0199f0a0-0000-7000-8000-%012d", i), ProjectID: "default", Version: 1, Slug: fmt.Sprintf("B-%d", i),
			Statement: fmt.Sprintf("Payments of kind %d must stay below %d EUR.", i%97, i+100), Modality: rule.Must, Severity: rule.High, Status: rule.Effective, Enforcement: rule.Enforce,
			Scope: []string{fmt.Sprintf("team-%d", i%benchScopes)}, AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}}, Check: benchCheck(i), CreatedAt: at, UpdatedAt: at,
		}
		r.Normalize()
		c.Rules = append(c.Rules, r)
	}
	c.Snapshot.ContentHash = release.RootOf(c)
	text, err := c.Encode()
	if err != nil {
		b.Fatal(err)
	}
	signer, err := checkpoint.OpenKeys(filepath.Join(b.TempDir(), "key"), "example.com", at)
	if err != nil {
		b.Fatal(err)
	}
	h := &bundle.Head{
		Name: bundle.NameOf("example.com", "default", "production"), Project: "default", Environment: "production", Seq: 1, Action: bundle.Deploy, Snapshot: c.Snapshot.ID,
		Root: c.Snapshot.ContentHash, Rules: len(c.Rules), Built: at, Signed: at,
	}
	body, err := bundle.Pack(h, text)
	if err != nil {
		b.Fatal(err)
	}
	note, err := h.Sign(b.Context(), signer)
	if err != nil {
		b.Fatal(err)
	}
	if keys, _, err = signer.Keys(b.Context(), h.Name); err != nil {
		b.Fatal(err)
	}
	file = filepath.Join(b.TempDir(), "bundle")
	if err := os.WriteFile(file, (&bundle.File{Note: note, Body: body}).Bytes(), 0o600); err != nil {
		b.Fatal(err)
	}
	return file, keys
}

// processorTime is what this process has used of all processors. Other load on the machine changes it little.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var use syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &use); err != nil {
		b.Fatal(err)
	}
	return time.Duration(use.Utime.Nano() + use.Stime.Nano())
}

// rates reports operations a second, by the clock and by the processor time of the process: the rate of one core.
func rates(b *testing.B, what string, used time.Duration) {
	b.Helper()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), what+"/s")
	b.ReportMetric(float64(b.N)/used.Seconds(), what+"/core-s")
}

// BenchmarkEvaluate evaluates facts by checks alone: 10,000 rules, 100 of them in scope. kept makes the record of each, discarded none.
func BenchmarkEvaluate(b *testing.B) {
	file, keys := benchBundle(b, benchRules)
	for name, sink := range map[string]edge.Sink{"discarded": edge.Discard, "kept": &last{}} {
		b.Run(name, func(b *testing.B) {
			e, err := edge.Open(b.Context(), edge.Config{Bundle: "file:" + file, Trusted: keys, Sink: sink, Every: time.Hour})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = e.Close() }()
			ask := edge.Request{Facts: benchFacts, Scope: "team-7"}
			evaluate := func() {
				a, err := e.Evaluate(b.Context(), ask)
				if err != nil {
					b.Fatal(err)
				}
				if a.OverallVerdict != edge.Allow || a.Coverage.RulesSelected < benchRules/benchScopes {
					b.Fatalf("%s by %+v", a.OverallVerdict, a.Coverage)
				}
			}
			evaluate() // compiles the checks
			began := processorTime(b)
			for b.Loop() {
				evaluate()
			}
			rates(b, "evaluations", processorTime(b)-began)
		})
	}
}

// BenchmarkChecks runs the checks of the 100 rules in scope on a subject, and nothing else.
func BenchmarkChecks(b *testing.B) {
	programs := make([]*check.Program, benchRules/benchScopes)
	for i := range programs {
		var err error
		if programs[i], err = check.Compile(benchCheck(i)); err != nil {
			b.Fatal(err)
		}
	}
	s, err := subject.Build(wire.RecordedSubject{Facts: benchFacts, Scope: "team-7"})
	if err != nil {
		b.Fatal(err)
	}
	began := processorTime(b)
	for b.Loop() {
		in := check.Prepare(s)
		for _, p := range programs {
			if out := p.Run(b.Context(), in); out.Result != check.Kept {
				b.Fatal(out)
			}
		}
	}
	rates(b, "subjects", processorTime(b)-began)
}

// BenchmarkOpen opens a bundle by its file: it is verified, compared with its Merkle root, decoded, indexed, and ready for evaluations. stored opens the last good
// one in a folder while the place is away.
func BenchmarkOpen(b *testing.B) {
	for _, n := range []int{benchRules, 100_000} {
		file, keys := benchBundle(b, n)
		folder := b.TempDir()
		open := func(b *testing.B, cfg edge.Config) {
			began := processorTime(b)
			for b.Loop() {
				cfg.Trusted, cfg.Sink, cfg.Every = keys, edge.Discard, time.Hour
				e, err := edge.Open(b.Context(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				if e.Bundle().Rules != n {
					b.Fatalf("%d rules", e.Bundle().Rules)
				}
				_ = e.Close()
			}
			b.ReportMetric(float64(processorTime(b)-began)/float64(b.N)/1e6, "processor-ms")
		}
		b.Run(fmt.Sprintf("%d rules", n), func(b *testing.B) { open(b, edge.Config{Bundle: "file:" + file}) })
		first, err := edge.Open(b.Context(), edge.Config{Bundle: "file:" + file, Trusted: keys, Sink: edge.Discard, Folder: folder})
		if err != nil {
			b.Fatal(err)
		}
		_ = first.Close()
		b.Run(fmt.Sprintf("%d rules, stored", n), func(b *testing.B) { open(b, edge.Config{Bundle: "file:" + file + ".away", Folder: folder}) })
	}
}
