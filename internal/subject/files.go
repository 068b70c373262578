package subject

import (
	"bytes"
	"encoding/base64"
	"fmt"

	"tenet/internal/diff"
	"tenet/internal/rule"
)

// maxIncomplete is the most bytes of what a content leaves out.
const maxIncomplete = 1000

// given is a file of the input with its content as bytes; nil if only the path is known.
type given struct {
	number  int // in the input
	content []byte
	isText  bool // given as text, which may have lost bytes that are not UTF-8
}

// addFiles adds the files that are given whole, and completes those of the diff.
func (s *Subject) addFiles(p *rule.Problems, in *Input) {
	if len(s.Files)+len(in.Files) > MaxFiles {
		p.Add("files", "brings the subject to %d files; at most %d are allowed", len(s.Files)+len(in.Files), MaxFiles)
		return
	}
	first := make(map[string]int, len(in.Files))
	c := completion{problems: p, files: s.Files, redacted: in.Redacted, left: MaxBytes}
	lines := 0
	for i, file := range in.Files {
		path, err := diff.CleanPath(file.Path)
		if err != nil {
			p.Add(fmt.Sprintf("files[%d].path", i), "%s", err.Error())
			continue
		}
		if j, taken := first[path]; taken {
			p.Add(fmt.Sprintf("files[%d].path", i), "is %q like files[%d]; give each file once", path, j)
			continue
		}
		first[path] = i
		g, ok := contentOf(p, i, &file)
		if !ok {
			continue
		}
		if lines += bytes.Count(g.content, []byte("\n")); lines > MaxLines {
			p.Add(fmt.Sprintf("files[%d].content_base64", i), "brings the subject to more than %d lines; split it", MaxLines)
			return
		}
		if g.content != nil && file.Incomplete == "" && c.complete(path, g) {
			continue
		}
		f := diff.File{Path: path, Change: diff.Whole, Others: diff.Readings(file.Path, path)}
		if g.content == nil {
			f.Missing, f.Unseen = true, "its content is not given"
		} else {
			g.fill(&f)
		}
		if left := label(p, fmt.Sprintf("files[%d].incomplete", i), file.Incomplete, maxIncomplete); left != "" && f.Unseen == "" {
			f.Unseen = left
		}
		s.Files = append(s.Files, f)
	}
}

// contentOf returns the content of a file. It notes a content that is given twice or is not base64.
func contentOf(p *rule.Problems, i int, file *InputFile) (given, bool) {
	field := fmt.Sprintf("files[%d].content_base64", i)
	switch {
	case file.Content != nil && file.ContentBase64 != nil:
		p.Add(field, "and content are two contents; give one")
		return given{}, false
	case file.Content != nil:
		return given{i, []byte(*file.Content), true}, true
	case file.ContentBase64 == nil:
		return given{number: i}, true
	}
	content, err := base64.StdEncoding.DecodeString(*file.ContentBase64)
	if err != nil {
		p.Add(field, "is not standard base64: %v", err)
		return given{}, false
	}
	return given{number: i, content: content}, true // not nil, even for an empty content
}

// fill gives a file this content.
func (g *given) fill(f *diff.File) {
	if g.isText {
		f.FillText(string(g.content))
	} else {
		f.Fill(g.content)
	}
}

// is reports whether the content has a name as a blob in git, also if it has the line ends of Windows, which git may store as
// those of Unix.
func (g *given) is(blob string) bool {
	return diff.IsBlob(blob, g.content) ||
		bytes.Contains(g.content, []byte("\r\n")) && diff.IsBlob(blob, bytes.ReplaceAll(g.content, []byte("\r\n"), []byte("\n")))
}

// completion gives files of a diff the contents that the diff does not show.
type completion struct {
	problems *rule.Problems
	files    []diff.File // of the diff
	redacted bool        // contents do not have the names of their blobs
	left     int         // bytes that deltas may still make
}

// complete gives a content to the files of the diff at its path that are not wholly shown: several if the diff is a series of
// commits. It returns false if the diff has none such, and notes a content that is none of those that the diff names.
func (c *completion) complete(path string, g given) bool {
	open, matches, other := "", false, false
	for i := range c.files {
		f := &c.files[i]
		if f.Path != path || f.Unseen == "" || !f.Completable() {
			continue
		}
		switch {
		case c.fill(f, &g):
			matches = true
		case f.NewBlob == "":
			other = true
		default:
			open = f.NewBlob
		}
	}
	if other && !matches && open == "" {
		c.problems.Add(g.field(), "is not the content that the diff gives %s; give the content after the change", path)
		return true
	}
	if open != "" && !matches {
		c.problems.Add(g.field(), "is not the content that the diff names for %s, %s; give the content as git stores it, and as content_base64 if it is not UTF-8",
			path, open)
	}
	return matches || open != ""
}

// fill gives one file its content: the one that the diff names, or what a delta makes of the one before it.
func (c *completion) fill(f *diff.File, g *given) bool {
	switch {
	case f.NewBlob == "" && f.Agrees(g.content), g.is(f.NewBlob), f.PointsTo(g.content):
		g.fill(f)
		return true
	case f.Delta != nil && diff.IsBlob(f.OldBlob, g.content):
		content, err := f.Apply(g.content)
		if err != nil || !diff.IsBlob(f.NewBlob, content) {
			c.problems.Add("diff", "the binary delta of %s does not give the content that the index line names", f.Path)
			return true
		}
		lines := bytes.Count(content, []byte("\n"))
		if c.left -= len(content) + lines*(MaxBytes/MaxLines); c.left < 0 {
			c.problems.Add("diff", "the binary deltas bring the subject to more than %d MiB or %d lines; split it", MaxBytes>>20, MaxLines)
			return true
		}
		f.Fill(content)
		return true
	case c.redacted:
		g.fill(f)
		return true
	}
	return false
}

func (g *given) field() string {
	if g.isText {
		return fmt.Sprintf("files[%d].content", g.number)
	}
	return fmt.Sprintf("files[%d].content_base64", g.number)
}
