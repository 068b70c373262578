package discover

import (
	"fmt"
	"strings"
	"testing"

	"tenet/internal/discover/source"
	"tenet/internal/wire"
)

// Texts made of nothing but rules fill no memory, and take nothing away from sources of another kind.
func TestStatementsOfAScanAreBounded(t *testing.T) {
	files := []source.File{{Path: "z.md", Content: []byte("Doors must be locked.\n")}}
	for i := range 20 {
		files = append(files, source.File{Path: fmt.Sprintf("%02d.md", i), Content: []byte(strings.Repeat("x\n", maxFound/8))})
	}
	done := 0
	r := &reading{files: files, progress: func(n, _ int) { done = n }}
	r.run(t.Context(), []source.Reader{lines{wire.PolicyDocument}, lines{wire.AssistantMD}})
	if len(r.found) != 2*maxFound || r.found[maxFound].Kind != wire.AssistantMD || cap(r.found) > 6*maxFound {
		t.Errorf("%d statements are kept, in room for %d", len(r.found), cap(r.found))
	}
	if len(r.problems) != 2 || !strings.Contains(r.problems[1].Reason, "assistant_md") || done != 2*len(files) {
		t.Errorf("%+v, %d files done", r.problems, done)
	}
}
