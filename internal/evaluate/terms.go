package evaluate

import (
	"maps"
	"slices"
	"strconv"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

// Bounds of the text of a subject that ranks rules.
const (
	maxTermBytes = 16 << 10
	maxFactDepth = 12 // of facts within facts
)

// terms collects the text of a subject that ranks rules.
type terms struct {
	texts []string
	room  int // bytes
}

func (t *terms) take(text string) {
	if text != "" && t.room > 0 {
		t.texts = append(t.texts, text)
		t.room -= len(text)
	}
}

// termsOf returns the text of a subject to rank rules by: its action, the names and values of its facts however deep, its paths, and the
// lines that it adds. Beside files, the values of facts are left out, which describe the files.
func termsOf(s *subject.Subject) []string {
	t := terms{room: maxTermBytes}
	t.take(s.Action)
	t.facts(s.Facts, len(s.Files) == 0, maxFactDepth)
	for i := range s.Files {
		f := &s.Files[i]
		t.take(f.Path)
	}
	for i := range s.Files {
		for _, h := range s.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Op == diff.OpAdd {
					t.take(l.Text)
				}
			}
		}
	}
	return t.texts
}

// facts takes the names of facts in their order, each with its values behind it.
func (t *terms) facts(facts map[string]any, values bool, depth int) {
	for _, name := range slices.Sorted(maps.Keys(facts)) {
		if t.room <= 0 {
			return
		}
		t.take(name)
		t.value(facts[name], values, depth)
	}
}

func (t *terms) value(v any, values bool, depth int) {
	if depth == 0 || t.room <= 0 {
		return
	}
	switch v := v.(type) {
	case map[string]any:
		t.facts(v, values, depth-1)
	case []any:
		for _, item := range v {
			t.value(item, values, depth-1)
		}
	case string:
		if values {
			t.take(v)
		}
	case bool:
		if values {
			t.take(strconv.FormatBool(v))
		}
	}
}
