package redact

import (
	"fmt"
	"slices"
	"strings"

	"tenet/internal/subject"
)

// Input redacts all texts of raw input: diff, contents and paths of files, keys and values of facts, action, intent. The
// input itself is not changed. The places are in the order of the fields; those in facts in order of their keys.
func (r *Redactor) Input(in subject.Input) (subject.Input, []Found) {
	var all []Found
	text := func(where, s string) string {
		s, found := r.Text(s)
		all = append(all, at(where, found)...)
		return s
	}
	in.Diff = text("diff", in.Diff)
	in.Files = slices.Clone(in.Files)
	for i := range in.Files {
		f := &in.Files[i]
		f.Path = text(fmt.Sprintf("files[%d].path", i), f.Path)
		if f.Content != nil {
			content := text(fmt.Sprintf("files[%d].content", i), *f.Content)
			f.Content = &content
		}
	}
	var found []Found
	in.Facts, found = r.facts(in.Facts)
	all = append(all, found...)
	in.Action, in.Intent = text("action", in.Action), text("intent", in.Intent)
	in.Repository, in.Scope = text("repository", in.Repository), text("scope", in.Scope)
	return in, all
}

// Subject redacts all texts of a subject. It returns s itself if there is no secret in it, else a subject that shares what
// has none. Lines and their numbers stay as they are.
func (r *Redactor) Subject(s *subject.Subject) (*subject.Subject, []Found) {
	out, all := *s, []Found(nil)
	text := func(where, s string) string {
		s, found := r.Text(s)
		all = append(all, at(where, found)...)
		return s
	}
	for i := range s.Files {
		if f, found := r.file(&s.Files[i]); len(found) > 0 {
			if &out.Files[0] == &s.Files[0] {
				out.Files = slices.Clone(s.Files)
			}
			out.Files[i] = f
			all = append(all, found...)
		}
	}
	var found []Found
	out.Facts, found = r.facts(s.Facts)
	all = append(all, found...)
	out.Action, out.Intent = text("action", s.Action), text("intent", s.Intent)
	out.Repository, out.Scope = text("repository", s.Repository), text("scope", s.Scope)
	if len(all) == 0 {
		return s, nil
	}
	return &out, all
}

// file redacts a file. All its lines are read as one text, so that a key that a hunk breaks off is still seen.
func (r *Redactor) file(f *subject.File) (subject.File, []Found) {
	var b strings.Builder
	for i := range f.Hunks {
		for _, l := range f.Hunks[i].Lines {
			b.WriteString(l.Text)
			b.WriteByte('\n')
		}
		b.WriteString(f.Hunks[i].Section + "\n")
	}
	b.WriteString(f.Path + "\n" + f.OldPath + "\n")
	whole := b.String()
	text, found := r.Text(whole)
	if len(found) == 0 {
		return *f, nil
	}
	lines := strings.Split(text, "\n")
	out, n := *f, 0
	out.Hunks = slices.Clone(f.Hunks)
	numbers := make([]int, 0, len(lines)) // of the new file, by line of the text
	for i := range out.Hunks {
		h := &out.Hunks[i]
		h.Lines = slices.Clone(h.Lines)
		for k := range h.Lines {
			h.Lines[k].Text = lines[n]
			numbers = append(numbers, h.Lines[k].New)
			n++
		}
		h.Section = lines[n]
		numbers = append(numbers, h.NewStart)
		n++
	}
	out.Path, out.OldPath = lines[n], lines[n+1]
	for i := range found {
		found[i].Where = out.Path
		if l := found[i].Line - 1; l < len(numbers) {
			found[i].Line = numbers[l]
		} else {
			found[i].Line = 0
		}
	}
	return out, found
}

// at names the text that places are in.
func at(where string, found []Found) []Found {
	for i := range found {
		found[i].Where = where
	}
	return found
}
