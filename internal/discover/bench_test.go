package discover

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"tenet/internal/discover/assistant"
	"tenet/internal/discover/code"
	"tenet/internal/discover/linter"
	"tenet/internal/discover/policy"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// repository is n files of some 10 KB of the kinds that a repository has.
func repository(n int) map[string]string {
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same each time
	words := strings.Fields("payment order customer account invoice request service handler record store client server token report audit limit")
	word := func() string { return words[rng.IntN(len(words))] }
	files := make(map[string]string, n)
	for i := range n {
		var b strings.Builder
		name := fmt.Sprintf("p%02d/%s%d.go", i%40, word(), i)
		switch i % 10 {
		case 0, 1:
			name = fmt.Sprintf("docs/%s%d.md", word(), i)
			for b.Len() < 10_000 {
				fmt.Fprintf(&b, "## The %s of %d\n\nEvery %s must be kept for %d days, unless the %s is closed. It describes the %s.\n\n", word(), b.Len(), word(), rng.IntN(900), word(), word())
			}
		case 2:
			name = fmt.Sprintf("p%02d/AGENTS.md", i)
			for b.Len() < 10_000 {
				fmt.Fprintf(&b, "- Never log the %s of a %s in the %s.\n", word(), word(), word())
			}
		case 3:
			name = fmt.Sprintf("p%02d/.eslintrc.json", i)
			b.WriteString(`{"rules": {"eqeqeq": "error", "no-eval": 2, "max-len": ["warn", {"code": 120}]}}`)
		default:
			b.WriteString("package p\n\n")
			for b.Len() < 10_000 {
				fmt.Fprintf(&b, "// %s%d gives the %s.\nfunc %s%d() (string, error) {\n\tif err := do(); err != nil {\n\t\treturn \"\", fmt.Errorf(\"%s: %%w\", err)\n\t}\n\treturn \"%s\", nil\n}\n\n",
					word(), b.Len(), word(), word(), b.Len(), word(), word())
			}
		}
		files[name] = b.String()
	}
	return files
}

// BenchmarkScan scans 1,000 files of 10 MB in all, with all readers, from the request to the stored candidates.
func BenchmarkScan(b *testing.B) {
	files, bytes := repository(1000), 0
	for _, text := range files {
		bytes += len(text)
	}
	f := newFixture(b, func(c *Config) {
		c.Readers = []source.Reader{policy.Reader{}, assistant.Reader{}, linter.New(), code.New()}
	})
	b.SetBytes(int64(bytes))
	b.ReportMetric(float64(len(files)), "files")
	candidates := 0
	n := 0
	for b.Loop() {
		n++
		s, err := f.Start(f.ctx, rule.DefaultProject, wire.ScanRequest{Sources: wire.SourceKinds, Files: files, Repository: fmt.Sprint(n)})
		if err != nil {
			b.Fatal(err)
		}
		if err := f.handle(f.ctx, s, 1); err != nil {
			b.Fatal(err)
		}
		if s, err = f.GetScan(f.ctx, rule.DefaultProject, s.ID); err != nil || s.CandidatesCount == nil {
			b.Fatalf("%+v, %v", s, err)
		}
		candidates = *s.CandidatesCount
	}
	b.ReportMetric(float64(candidates), "candidates")
}
