package extract

import (
	"archive/zip"
	"bytes"
	"errors"
	"path"
	"strings"

	"tenet/internal/rule"
)

// Format is a kind of file that text can be taken from.
type Format string

// The formats.
const (
	PDF      Format = "pdf"
	DOCX     Format = "docx"
	HTML     Format = "html"
	Markdown Format = "md"
	Text     Format = "txt"
)

// ErrUnsupported is in the chain of the error for a file of a kind that cannot be read at all.
var ErrUnsupported = errors.New("unsupported kind of file")

// Accepted names the formats for messages.
const Accepted = "pdf, docx, html, md and txt"

var mimeTypes = map[Format]string{
	PDF: "application/pdf", DOCX: "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
	HTML: "text/html", Markdown: "text/markdown", Text: "text/plain",
}

// MIMEType returns the media type of the format.
func (f Format) MIMEType() string { return mimeTypes[f] }

// Noun returns how messages call the format.
func (f Format) Noun() string {
	return map[Format]string{PDF: "PDF", DOCX: "Word", HTML: "HTML", Markdown: "Markdown", Text: "text"}[f]
}

// extensions are the file names' endings by format.
var extensions = map[string]Format{
	".pdf": PDF, ".docx": DOCX, ".html": HTML, ".htm": HTML, ".xhtml": HTML, ".md": Markdown, ".markdown": Markdown, ".txt": Text, ".text": Text,
}

// KnownEnding reports whether a file's name has the ending of a format.
func KnownEnding(name string) bool {
	_, ok := extensions[strings.ToLower(path.Ext(name))]
	return ok
}

// Sniff returns the format of a file by its content. The name only decides between kinds of text, which look alike; a name that
// contradicts the content is an error of code invalid, and so is a kind of file that cannot be read, with [ErrUnsupported] in its
// chain.
func Sniff(filename string, data []byte) (Format, error) {
	if len(bytes.TrimSpace(data)) == 0 {
		return "", rule.Errorf(rule.CodeInvalid, "the file is empty")
	}
	named, hasEnding := extensions[strings.ToLower(path.Ext(filename))]
	is, err := content(data)
	switch {
	case err != nil && hasEnding:
		return "", rule.Errorf(rule.CodeInvalid, "the file is named %q but does not hold %s: %w", filename, named.Noun(), err)
	case err != nil:
		return "", rule.Errorf(rule.CodeInvalid, "%w", err)
	case !hasEnding:
		return is, nil
	case is == named, is == Text && (named == Markdown || named == HTML):
		return named, nil
	}
	return "", rule.Errorf(rule.CodeInvalid, "the file is named %q but holds %s; give it the ending .%s if that is right", filename, is.Noun(), string(is))
}

// unsupported says what a file is and what to do instead.
func unsupported(what string) error {
	return rule.Errorf(rule.CodeInvalid, "it is %s (%w); upload %s", what, ErrUnsupported, Accepted)
}

// content returns the format by content alone; all text that is not HTML is Text.
func content(data []byte) (Format, error) {
	head := data[:min(len(data), 1024)]
	switch {
	case bytes.Contains(head, []byte("%PDF-")):
		return PDF, nil
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("PK\x05\x06")):
		return inZip(data)
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return "", unsupported("an old or encrypted Office file: save it as docx without a password")
	case bytes.HasPrefix(data, []byte(`{\rtf`)):
		return "", unsupported("an RTF file: save it as docx")
	case !isText(data):
		return "", unsupported("a binary file")
	case isHTML(decode(data[:min(len(data), 4096)])):
		return HTML, nil
	}
	return Text, nil
}

// inZip looks for Word's main part in a zip archive.
func inZip(data []byte) (Format, error) {
	archive, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		return "", unsupported("a damaged zip archive")
	}
	for _, f := range archive.File {
		if mainPart.MatchString(f.Name) {
			return DOCX, nil
		}
	}
	return "", unsupported("a zip archive that is no Word document")
}

// isText reports whether data is text in an encoding that decode knows.
func isText(data []byte) bool {
	if wide(data) {
		return true
	}
	control := 0
	for _, b := range data[:min(len(data), 64<<10)] {
		if b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b {
			control++
		}
	}
	return control*100 <= min(len(data), 64<<10) && bytes.IndexByte(data, 0) < 0
}

// isHTML reports whether text begins as an HTML document does.
func isHTML(text string) bool {
	text = strings.ToLower(strings.TrimLeft(text, " \t\r\n\ufeff"))
	for strings.HasPrefix(text, "<?xml") || strings.HasPrefix(text, "<!--") {
		end := ">"
		if text[1] == '!' {
			end = "-->"
		}
		_, rest, found := strings.Cut(text, end)
		if !found {
			return false
		}
		text = strings.TrimLeft(rest, " \t\r\n")
	}
	for _, tag := range []string{"<!doctype html", "<html", "<head", "<body"} {
		rest, ok := strings.CutPrefix(text, tag)
		if ok && (rest == "" || strings.ContainsRune(" \t\r\n>", rune(rest[0]))) {
			return true
		}
	}
	return false
}
