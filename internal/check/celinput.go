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
	diff, whole ref.Val
	// all are by the number of the file in the subject.
	all []*celFile
	// added and deleted count the lines that the diff shows. addedLines and deletedLines are unknown if it does not show all.
	added, deleted           int
	addedLines, deletedLines ref.Val

	content, parts, names gaps
	// inText is the unknown of all hidden content.
	inText ref.Val
}

func newCELFiles(s *subject.Subject, unit func(file int) int) *celFiles {
	files := &celFiles{content: gaps{base: contentGaps}, parts: gaps{base: partGaps}, names: gaps{base: nameGaps}}
	var changed, whole []ref.Val
	var inText, inDiff *types.Unknown
	for i := range s.Files {
		f := &s.Files[i]
		c := files.file(f, func() int { return unit(i) })
		files.all = append(files.all, c)
		inText, _ = types.MaybeMergeUnknowns(c.unseen, inText)
		if f.Change != diff.Whole {
			inDiff, _ = types.MaybeMergeUnknowns(c.removed, inDiff)
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
					files.added++
				case diff.OpDelete:
					files.deleted++
				case diff.OpContext:
				}
			}
		}
	}
	files.diff, files.whole = refList(changed), refList(whole)
	files.addedLines, files.deletedLines = types.Int(files.added), types.Int(files.deleted)
	if inDiff != nil {
		files.addedLines, files.deletedLines = inDiff, inDiff
	}
	if inText != nil {
		files.inText = inText
	}
	return files
}

// celFile is a file of a diff or a whole file. It makes its texts when an expression first reads them.
type celFile struct {
	file                  *diff.File
	path, oldPath, change ref.Val

	// unseen is set if the hunks lack content that the subject brings to the file, removed if they lack what it deletes, and
	// part if they lack lines of the new version.
	unseen, removed, part ref.Val

	text func() *celFileText
}

// file returns a file and notes its gaps.
func (files *celFiles) file(f *diff.File, unit func() int) *celFile {
	c := &celFile{
		file: f, path: types.String(f.Path), oldPath: types.String(f.OldPath), change: types.String(f.Change),
		text: sync.OnceValue(func() *celFileText { return newCELFileText(f) }),
	}
	if reason := f.Hidden(); reason != "" {
		gap := files.content.add(unit(), "%s: %s", f.Path, reason)
		c.unseen, c.removed, c.part = gap, gap, gap
	} else if reason := partial(f); reason != "" {
		c.part = files.parts.add(unit(), "%s: %s", f.Path, reason)
	}
	if f.Change == diff.Deleted && len(f.Hunks) == 0 && f.Media == "" && !diff.IsEmptyBlob(f.OldBlob) {
		c.removed = files.content.add(unit(), "%s: the diff does not show what it deletes", f.Path)
	}
	if f.Change == diff.Modified && (f.Binary || f.Missing) && f.OldBlob == "" && f.OldMode == "" {
		c.change = files.names.add(unit(), "%s: the diff does not say whether the file was there before", f.Path)
	}
	if len(f.Others) > 0 {
		c.path = files.names.add(unit(), "%s: its path may also be read as %s", f.Path, strings.Join(f.Others, " or "))
	}
	return c
}

// orGap returns what a file shows, or the gap in it.
func orGap(gap ref.Val, shown func() ref.Val) ref.Val {
	if gap != nil {
		return gap
	}
	return shown()
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

// shownText returns the text of a subject: the action, then the added lines of each file of the diff and the content of each
// whole file.
func shownText(s *subject.Subject) types.String {
	var b strings.Builder
	b.WriteString(s.Action)
	for i := range s.Files {
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

// allText returns the text of the subject, or the gaps in it.
func (in *Input) allText() ref.Val {
	return orGap(in.files().inText, func() ref.Val { return in.text() })
}
