package check

import (
	"strings"
	"sync"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"tenet/internal/diff"
	"tenet/internal/subject"
)

func leadingKind(kinds []subject.Kind) subject.Kind {
	if len(kinds) == 0 {
		return ""
	}
	return kinds[0]
}

func kindList(kinds []subject.Kind) ref.Val {
	values := make([]ref.Val, len(kinds))
	for i, k := range kinds {
		values[i] = types.String(k)
	}
	return refList(values)
}

// celFiles holds the variable files and the fields of diff.
type celFiles struct {
	diff, whole              ref.Val
	addedLines, deletedLines ref.Val
}

func newCELFiles(s *subject.Subject) *celFiles {
	var changed, whole []ref.Val
	added, deleted := 0, 0
	for i := range s.Files {
		f := &s.Files[i]
		c := &celFile{
			file: f, path: types.String(f.Path), oldPath: types.String(f.OldPath), change: types.String(f.Change),
			text: sync.OnceValue(func() *celFileText { return newCELFileText(f) }),
		}
		if f.Change == diff.Whole {
			whole = append(whole, &object{typ: wholeType, native: c})
			continue
		}
		changed = append(changed, &object{typ: fileType, native: c})
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				switch l.Op {
				case diff.OpAdd:
					added++
				case diff.OpDelete:
					deleted++
				case diff.OpContext:
				}
			}
		}
	}
	return &celFiles{diff: refList(changed), whole: refList(whole), addedLines: types.Int(added), deletedLines: types.Int(deleted)}
}

// celFile is a file of a diff or a whole file. It makes its texts when an expression first reads them.
type celFile struct {
	file                  *diff.File
	path, oldPath, change ref.Val

	text func() *celFileText
}

type celFileText struct {
	added, lines           ref.Val
	addedText, removedText ref.Val
}

// celLine is a line of the new version of a file.
type celLine struct {
	line int
	text string
}

func newCELFileText(f *diff.File) *celFileText {
	var added, removed, all []celLine
	for _, h := range f.Hunks {
		for _, l := range h.Lines {
			line := celLine{l.New, l.Text}
			switch l.Op {
			case diff.OpDelete:
				removed = append(removed, line)
				continue
			case diff.OpAdd:
				added = append(added, line)
			case diff.OpContext:
			}
			all = append(all, line)
		}
	}
	t := &celFileText{added: lineList(added), addedText: joinLines(added), removedText: joinLines(removed)}
	t.lines = t.added
	if len(all) != len(added) {
		t.lines = lineList(all)
	}
	return t
}

// content returns the text of a whole file. A file without content is an error: an expression would otherwise hold for a file
// that nobody has read.
func (f *celFile) content() ref.Val {
	if f.file.Missing {
		return types.NewErr("%s", notGiven(f.file.Path))
	}
	return f.text().addedText
}

func lineList(lines []celLine) ref.Val {
	objects := make([]object, len(lines))
	values := make([]ref.Val, len(lines))
	for i := range lines {
		objects[i] = object{typ: lineType, native: &lines[i]}
		values[i] = &objects[i]
	}
	return refList(values)
}

func joinLines(lines []celLine) ref.Val {
	var b strings.Builder
	for i := range lines {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(lines[i].text)
	}
	return types.String(b.String())
}

func refList(values []ref.Val) ref.Val {
	return types.NewRefValList(types.DefaultTypeAdapter, values)
}

// subjectText returns all text of a subject: the action, then the added lines of each file of the diff and the content of each
// whole file. A file without content is an error.
func subjectText(s *subject.Subject) ref.Val {
	var b strings.Builder
	b.WriteString(s.Action)
	for i := range s.Files {
		if s.Files[i].Missing {
			return types.NewErr("%s", notGiven(s.Files[i].Path))
		}
		for _, h := range s.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Op != diff.OpAdd {
					continue
				}
				if b.Len() > 0 {
					b.WriteByte('\n')
				}
				b.WriteString(l.Text)
			}
		}
	}
	return types.String(b.String())
}
