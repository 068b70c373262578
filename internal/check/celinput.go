package check

import (
	"strings"
	"sync"

	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"

	"tenet/internal/subject"
)

// celSubject holds the fields of the variable subject but for text.
type celSubject struct {
	kind, kinds, repository, scope, intent, action ref.Val
}

func newCELSubject(s *subject.Subject) *celSubject {
	kinds := make([]ref.Val, len(s.Kinds))
	kind := ref.Val(types.String(""))
	for i, k := range s.Kinds {
		kinds[i] = types.String(k)
	}
	if len(kinds) > 0 {
		kind = kinds[0]
	}
	return &celSubject{
		kind: kind, kinds: refList(kinds),
		repository: types.String(s.Repository), scope: types.String(s.Scope),
		intent: types.String(s.Intent), action: types.String(s.Action),
	}
}

// celFiles holds the variable files and the fields of diff.
type celFiles struct {
	diff, whole              ref.Val
	addedLines, deletedLines ref.Val
}

func newCELFiles(s *subject.Subject) *celFiles {
	var diff, whole []ref.Val
	added, deleted := 0, 0
	for i := range s.Files {
		f := &s.Files[i]
		c := &celFile{
			file: f, path: types.String(f.Path), oldPath: types.String(f.OldPath), change: types.String(f.Change),
		}
		if f.Change == subject.Whole {
			whole = append(whole, &object{typ: wholeType, native: c})
			continue
		}
		diff = append(diff, &object{typ: fileType, native: c})
		for _, h := range f.Hunks {
			for _, l := range h.Lines {
				switch l.Op {
				case subject.OpAdd:
					added++
				case subject.OpDelete:
					deleted++
				case subject.OpContext:
				}
			}
		}
	}
	return &celFiles{diff: refList(diff), whole: refList(whole), addedLines: types.Int(added), deletedLines: types.Int(deleted)}
}

// celFile is a file of a diff or a whole file. What takes work is made when an expression first reads it.
type celFile struct {
	file                  *subject.File
	path, oldPath, change ref.Val

	once sync.Once
	text celFileText
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

func (f *celFile) built() *celFileText {
	f.once.Do(func() {
		var added, removed, all []celLine
		for _, h := range f.file.Hunks {
			for _, l := range h.Lines {
				line := celLine{l.New, l.Text}
				switch l.Op {
				case subject.OpDelete:
					removed = append(removed, line)
					continue
				case subject.OpAdd:
					added = append(added, line)
				case subject.OpContext:
				}
				all = append(all, line)
			}
		}
		f.text = celFileText{added: lineList(added), addedText: joinLines(added), removedText: joinLines(removed)}
		f.text.lines = f.text.added
		if len(all) != len(added) {
			f.text.lines = lineList(all)
		}
	})
	return &f.text
}

// content is the text of a whole file. Reading one that was not given is an error: an expression would otherwise hold for
// a file nobody has looked at.
func (f *celFile) content() ref.Val {
	if f.file.Missing {
		return types.NewErr("%s", notGiven(f.file.Path))
	}
	return f.built().addedText
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

// subjectText is all text of a subject: the action, then the added lines of each file of the diff and the content of each
// whole file. It is an error if a file was given without content.
func subjectText(s *subject.Subject) ref.Val {
	var b strings.Builder
	b.WriteString(s.Action)
	for i := range s.Files {
		if s.Files[i].Missing {
			return types.NewErr("%s", notGiven(s.Files[i].Path))
		}
		for _, h := range s.Files[i].Hunks {
			for _, l := range h.Lines {
				if l.Op != subject.OpAdd {
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
