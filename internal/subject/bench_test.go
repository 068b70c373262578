package subject

import (
	"fmt"
	"strings"
	"testing"
)

// bigDiff makes a diff of about so many bytes, with 20 hunks of 11 lines in each file.
func bigDiff(size int) string {
	var b strings.Builder
	for f := 0; b.Len() < size; f++ {
		name := fmt.Sprintf("internal/part%d/file%d.go", f%17, f)
		fmt.Fprintf(&b, "diff --git a/%s b/%s\nindex 1111111..2222222 100644\n--- a/%s\n+++ b/%s\n", name, name, name, name)
		for h := range 20 {
			fmt.Fprintf(&b, "@@ -%d,8 +%d,9 @@ func (s *Store) Step%d(ctx context.Context) error {\n", 1+h*50, 1+h*51, h)
			context := "\tif err := s.check(ctx); err != nil {\n \t\treturn err\n \t}\n"
			fmt.Fprintf(&b, " %s-\told := s.read(%d)\n-\tuse(old)\n+\tfresh := s.load(ctx, %d)\n+\tuse(fresh)\n+\taudit(fresh)\n %s", context, h, h, context)
		}
	}
	return b.String()
}

func BenchmarkBuildDiff(b *testing.B) {
	for _, size := range []int{3_000, 300_000, 10_000_000} {
		b.Run(fmt.Sprintf("%dKB", size/1000), func(b *testing.B) {
			diff := bigDiff(size)
			b.SetBytes(int64(len(diff)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Build(Input{Diff: diff}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkHash(b *testing.B) {
	s, err := Build(Input{Diff: bigDiff(300_000)})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		s.Hash()
	}
}
