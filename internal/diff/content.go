package diff

import (
	"crypto/sha1" //nolint:gosec // git names blobs so
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"strings"

	"tenet/internal/charset"
)

// Fill gives a file its whole new content. Text becomes lines that are all added; of media only the kind is kept; other content
// cannot be examined, and Unseen says so.
func (f *File) Fill(content []byte) {
	f.Missing, f.Binary, f.Delta, f.Hunks, f.Unseen, f.Media = false, false, nil, nil, "", ""
	if text, _, ok := charset.Decode(content); ok {
		f.Hunks = WholeText(text)
		switch {
		case f.declaresCode():
			f.Unseen = codeUnseen
		case f.switchesSets():
			f.Unseen = setsUnseen
		case f.isPointer():
			f.Unseen = pointerUnseen
		}
		return
	}
	f.Binary = true
	name, ok := charset.Media(content)
	switch {
	case !ok:
		f.Unseen = "its content is neither text nor media that can be recognised"
	case isProgramName(f.Path):
		f.Unseen = fmt.Sprintf("it is named like a program, but its content is that of %s", name)
	default:
		f.Media = name
	}
}

// FillText gives a file its whole new content, of which the caller has only text: other bytes may be lost. Text that reads like
// no text is kept too, but Unseen says that it is not all.
func (f *File) FillText(content string) {
	if f.Fill([]byte(content)); f.Binary {
		f.Binary, f.Unseen, f.Media = false, garbledUnseen, ""
		f.Hunks = WholeText(strings.ReplaceAll(content, "\x00", ""))
	}
}

// WholeText returns the one hunk of a file that is given whole, or none for an empty text.
func WholeText(text string) []Hunk {
	if text == "" {
		return nil
	}
	lines := make([]Line, 0, strings.Count(text, "\n")+1)
	for line := range strings.Lines(text) {
		lines = append(lines, Line{Op: OpAdd, New: len(lines) + 1, Text: LineText(strings.TrimSuffix(line, "\n"))})
	}
	return []Hunk{{NewStart: 1, NewLines: len(lines), Lines: lines}}
}

// programEndings are endings of names by which interpreters, compilers and web servers take a file for a program.
var programEndings = map[string]bool{}

func init() {
	for ending := range strings.FieldsSeq(`asp aspx awk bash bat c cc cgi cjs class clj cmd cpp cs csh css cxx dart erb ex exs fish go gradle groovy h hpp
		hs htaccess hta htm html ipynb java jl js jsp jsx kt kts ksh lua m mjs mk ml mm mts phar php php3 php4 php5 php7 php8 phtml pht pl pm ps1 psm1 py
		pyc pyi pyw r rb rs sass scala scss sh shtml sol sql svelte svg swift tcl tf ts tsx vb vbs vue xhtml xml xsl yaml yml zig zsh`) {
		programEndings["."+ending] = true
	}
}

// isProgramName reports whether a file may be run or read as a program by its name. One without an ending is, such as Makefile,
// Dockerfile, .bashrc or bin/run.
func isProgramName(name string) bool {
	base := strings.TrimLeft(path.Base(name), ".")
	ending := strings.ToLower(path.Ext(base))
	return ending == "" || programEndings[ending]
}

// Agrees reports whether a content may be what the diff makes of a file: it is the one that a pointer of Git LFS names, or has the lines
// that the hunks show, where they show them.
func (f *File) Agrees(content []byte) bool {
	if f.isPointer() {
		return f.PointsTo(content)
	}
	if len(f.Hunks) == 0 {
		return true
	}
	text, _, _ := charset.Decode(content)
	lines := strings.Split(text, "\n")
	for _, l := range f.NewLines {
		if strings.Contains(l.Text, "\uFFFD") {
			continue
		}
		if l.New > len(lines) || strings.TrimSuffix(LineText(lines[l.New-1]), "\r") != strings.TrimSuffix(l.Text, "\r") {
			return false
		}
	}
	return true
}

// IsBlob reports whether content has a name as a blob in git, by SHA-1 or SHA-256; the name may be cut short.
func IsBlob(name string, content []byte) bool {
	head := fmt.Appendf(nil, "blob %d\x00", len(content))
	one, two := sha1.New(), sha256.New() //nolint:gosec // as above
	for _, part := range [][]byte{head, content} {
		_, _ = one.Write(part)
		_, _ = two.Write(part)
	}
	return name != "" && (strings.HasPrefix(hex.EncodeToString(one.Sum(nil)), name) || strings.HasPrefix(hex.EncodeToString(two.Sum(nil)), name))
}

// Completable reports whether the content of the file itself can be given where the diff does not show it: not that of a
// submodule or of the file that a link names, which are elsewhere.
func (f *File) Completable() bool {
	return f.Change != Deleted && f.NewMode != linkMode && !f.isSubmodule() && f.Unseen != submoduleUnseen
}
