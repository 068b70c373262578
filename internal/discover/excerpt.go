package discover

import (
	"bytes"
	"encoding/json"
	"strings"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/discover/source"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// Bounds of the lines of a source that are stored with a candidate.
const (
	excerptRound = 8   // lines before its place, and after it
	excerptLines = 60  // in all
	excerptWidth = 400 // characters of a line
)

// excerpts stores with each draft the lines round its first place, without secrets. A file is redacted as a whole, since a secret may have
// several lines. Files that are no text have no lines; the quote is shown of them.
func (w *scanWork) excerpts(drafts []draft, files []source.File) error {
	contents := make(map[string][]byte, len(files))
	for _, f := range files {
		contents[f.Path] = f.Content
	}
	linesOf := map[string][]string{}
	for i := range drafts {
		c := &drafts[i]
		lines, read := linesOf[c.SourceFile]
		if content, ok := contents[c.SourceFile]; ok && !read && bytes.IndexByte(content, 0) < 0 {
			clean, _ := w.d.redactor.Text(strings.ToValidUTF8(string(content), "\ufffd"))
			lines = strings.Split(clean, "\n")
			linesOf[c.SourceFile] = lines
		}
		if e := excerptOf(lines, c.SourceLine, c.SourceEndLine); e != nil {
			data, err := json.Marshal(e)
			if err != nil {
				return err
			}
			c.excerpt = audit.Compress(data)
		}
	}
	return nil
}

// excerptOf returns the lines round a place; nil if the text has no such place.
func excerptOf(lines []string, from, to int) *wire.Excerpt {
	if from < 1 || to > len(lines) || from > to {
		return nil
	}
	first := max(from-excerptRound, 1)
	last := min(to+excerptRound, len(lines), first+excerptLines-1)
	e := &wire.Excerpt{FirstLine: first, Lines: make([]string, 0, last-first+1)}
	for _, l := range lines[first-1 : last] {
		e.Lines = append(e.Lines, text.FitRunes(strings.TrimRight(l, "\r"), excerptWidth, "…"))
	}
	return e
}

// unpackExcerpt returns a stored excerpt, or the quote of a candidate without one.
func unpackExcerpt(data []byte, c *wire.Candidate) wire.Excerpt {
	var e wire.Excerpt
	if len(data) > 0 {
		if plain, err := audit.Decompress(data); err == nil && json.Unmarshal(plain, &e) == nil && len(e.Lines) > 0 {
			return e
		}
	}
	e = wire.Excerpt{FirstLine: c.SourceLine, Quoted: true}
	for l := range strings.SplitSeq(c.Quote, "\n") {
		if utf8.RuneCountInString(l) > excerptWidth {
			l = text.FitRunes(l, excerptWidth, "…")
		}
		e.Lines = append(e.Lines, l)
	}
	return e
}
