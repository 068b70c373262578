package subject

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Build makes a subject from raw input. The leading kind is the input's, if it has one; the others follow from the fields:
// code_change for a diff or files, facts for facts, action for an action. A text of white space counts as absent. Input with
// nothing in it gives a subject that is [Subject.Empty].
//
// The error is a [*rule.Error] of code invalid that names every wrong field (diff, files[3].path, facts.a.b, ...), and for a
// diff the line of the diff text where it breaks. Build refuses a diff whose line numbers are not certain: rules would
// otherwise judge a part of it, or the wrong lines.
//
// A whole file completes a file of the diff at the same path whose content the diff does not show: see [diff.File] Unseen.
func Build(in Input) (*Subject, error) {
	var p rule.Problems
	s := &Subject{
		Action:     label(&p, "action", in.Action, MaxAction),
		Intent:     label(&p, "intent", in.Intent, MaxIntent),
		Repository: label(&p, "repository", in.Repository, MaxLabel),
		Scope:      strings.Trim(label(&p, "scope", in.Scope, MaxLabel), "/"), // as recorded subjects have it: their hash must stay
	}
	if in.Kind != "" && !slices.Contains(wire.SubmittedKinds, in.Kind) {
		p.Add("kind", "is %q; use one of %s", string(in.Kind), rule.Names(wire.SubmittedKinds))
	}
	if strings.TrimSpace(in.Diff) == "" {
		in.Diff = ""
	}
	if withinBounds(&p, &in) {
		s.addDiff(&p, in.Diff)
		s.addFiles(&p, &in)
	}
	if len(in.Facts) > 0 {
		s.Facts = normalFacts(&p, in.Facts)
	}
	if err := p.Err("the subject is invalid"); err != nil {
		return nil, err
	}
	s.Kinds = kinds(in.Kind, s)
	return s, nil
}

// kinds returns the leading kind, if the input has one, and those that follow from the fields. The text of a document is a
// file, but not code; the arguments of a tool call are below its facts, where rules about facts do not look for them.
func kinds(leading Kind, s *Subject) []Kind {
	var list []Kind
	add := func(k Kind, is bool) {
		if is && !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	add(leading, leading != "")
	add(CodeChange, len(s.Files) > 0 && leading != Document)
	add(Facts, len(s.Facts) > 0 && leading != ToolCall)
	add(Action, s.Action != "")
	return list
}

// withinBounds notes a diff and files that are too many or too large, before Build reads them.
func withinBounds(p *rule.Problems, in *Input) bool {
	field, bytes, lines := "diff", len(in.Diff), strings.Count(in.Diff, "\n")
	for i := range in.Files {
		if bytes > MaxBytes || lines > MaxLines {
			break
		}
		f := &in.Files[i]
		if f.Content != nil {
			field = fmt.Sprintf("files[%d].content", i)
			bytes, lines = bytes+len(*f.Content), lines+strings.Count(*f.Content, "\n")
		}
		if f.ContentBase64 != nil {
			field = fmt.Sprintf("files[%d].content_base64", i)
			bytes += base64.StdEncoding.DecodedLen(len(*f.ContentBase64))
		}
	}
	switch {
	case len(in.Files) > MaxFiles:
		p.Add("files", "has %d entries; at most %d are allowed", len(in.Files), MaxFiles)
	case bytes > MaxBytes:
		p.Add(field, "brings the subject to more than %d MiB; split it", MaxBytes>>20)
	case lines > MaxLines:
		p.Add(field, "brings the subject to more than %d lines; split it", MaxLines)
	default:
		return true
	}
	return false
}

func (s *Subject) addDiff(p *rule.Problems, text string) {
	if text == "" {
		return
	}
	files, err := diff.Parse(text)
	if err != nil {
		p.Add("diff", "%s", err.Error())
		return
	}
	s.Files = files
}

// label checks a text field and trims it.
func label(p *rule.Problems, field, s string, longest int) string {
	switch {
	case len(s) > longest:
		p.Add(field, "has %d bytes; at most %d are allowed", len(s), longest)
	case !utf8.ValidString(s):
		p.Add(field, "is not valid UTF-8")
	case strings.IndexByte(s, 0) >= 0:
		p.Add(field, "holds a NUL character")
	}
	return strings.TrimSpace(s)
}
