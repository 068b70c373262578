package redact

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/charset"
	"tenet/internal/diff"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Input redacts all texts of raw input: diff, contents and paths of files, keys and values of facts, action, intent. The
// input itself is not changed. The places are in the order of the fields; those in facts in order of their keys. The function
// takes the same secrets out of other texts, such as a verdict that quotes the input. It is nil for input without secrets.
func (r *Redactor) Input(in subject.Input) (subject.Input, []wire.Redaction, func(text string) string) {
	p := r.pass()
	in.Diff = p.text("diff", in.Diff)
	in.Files = slices.Clone(in.Files)
	for i := range in.Files {
		f := &in.Files[i]
		f.Path = p.text(fmt.Sprintf("files[%d].path", i), f.Path)
		if f.Content != nil {
			content := p.text(fmt.Sprintf("files[%d].content", i), *f.Content)
			f.Content = &content
		}
		p.encoded(fmt.Sprintf("files[%d].content_base64", i), f)
	}
	in.Facts = p.facts(in.Facts)
	in.Action, in.Intent = p.text("action", in.Action), p.text("intent", in.Intent)
	in.Repository, in.Scope = p.text("repository", in.Repository), p.text("scope", in.Scope)
	in.Redacted = in.Redacted || len(p.found) > 0
	return in, p.found, p.replacer()
}

// encoded redacts the text of a file whose bytes are given in base64. Text with secrets becomes plain content.
func (p *pass) encoded(where string, f *subject.InputFile) {
	if f.ContentBase64 == nil {
		return
	}
	b, err := base64.StdEncoding.DecodeString(*f.ContentBase64)
	text, _, ok := charset.Decode(b)
	if err != nil || !ok {
		return
	}
	if clean := p.text(where, text); clean != text {
		f.Content, f.ContentBase64 = &clean, nil
	}
}

// Subject redacts all texts of a subject. It returns s itself if it finds no secret, else a subject that shares the parts
// without secrets. Lines and their numbers stay as they are.
func (r *Redactor) Subject(s *subject.Subject) (*subject.Subject, []wire.Redaction) {
	p := r.pass()
	out := *s
	for i := range s.Files {
		before := len(p.found)
		f := p.file(&s.Files[i])
		if len(p.found) == before {
			continue
		}
		if &out.Files[0] == &s.Files[0] {
			out.Files = slices.Clone(s.Files)
		}
		out.Files[i] = f
	}
	out.Facts = p.facts(s.Facts)
	out.Action, out.Intent = p.text("action", s.Action), p.text("intent", s.Intent)
	out.Repository, out.Scope = p.text("repository", s.Repository), p.text("scope", s.Scope)
	if len(p.found) == 0 {
		return s, nil
	}
	return &out, p.found
}

// pass redacts the texts of one subject and collects what it finds.
type pass struct {
	r     *Redactor
	found []wire.Redaction
	known *secrets
}

func (r *Redactor) pass() *pass { return &pass{r: r, known: newSecrets()} }

// text redacts a text, which where names.
func (p *pass) text(where, s string) string {
	clean, found := p.r.text(s, p.known)
	p.note(where, found)
	return clean
}

func (p *pass) note(where string, found []wire.Redaction) {
	for _, f := range found {
		f.Where = where
		p.found = append(p.found, f)
	}
}

// replacer returns a function that replaces the secrets found so far in other texts, or nil without secrets.
func (p *pass) replacer() func(text string) string {
	if len(p.found) == 0 {
		return nil
	}
	p.known.anywhere.sort()
	return func(text string) string {
		spans := p.r.spans(text)
		return p.known.replace(text, spans)
	}
}

// file redacts a file. It reads all lines as one text, so that it still sees a key that a hunk breaks off.
func (p *pass) file(f *diff.File) diff.File {
	var b strings.Builder
	var numbers []int // of the new file, by line of the text
	for i := range f.Hunks {
		for _, l := range f.Hunks[i].Lines {
			b.WriteString(l.Text + "\n")
			numbers = append(numbers, l.New)
		}
		b.WriteString(f.Hunks[i].Section + "\n")
		numbers = append(numbers, f.Hunks[i].NewStart)
	}
	b.WriteString(f.Path + "\n" + f.OldPath + "\n")
	numbers = append(numbers, 0, 0)
	text, found := p.r.text(b.String(), p.known)
	if len(found) == 0 {
		return *f
	}
	lines := strings.Split(text, "\n")
	next := func() (line string) {
		line, lines = lines[0], lines[1:]
		return line
	}
	out := *f
	out.Hunks = slices.Clone(f.Hunks)
	for i := range out.Hunks {
		h := &out.Hunks[i]
		h.Lines = slices.Clone(h.Lines)
		for k := range h.Lines {
			h.Lines[k].Text = next()
		}
		h.Section = next()
	}
	out.Path, out.OldPath = next(), next()
	for i := range found {
		found[i].Line = numbers[found[i].Line-1]
	}
	p.note(out.Path, found)
	return out
}
