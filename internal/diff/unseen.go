package diff

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Modes of git: of what is no file, and of an ordinary file.
const (
	linkMode      = "120000"
	submoduleMode = "160000"
	fileMode      = "100644"
)

const (
	submoduleUnseen = "the content of the submodule is not given"
	missingUnseen   = "its content is not given"
	modeUnseen      = "the diff does not say that it stays a file, and gives no content"
	codeUnseen      = "it declares an encoding in which its text means something else"
	setsUnseen      = "its text switches between character sets by escapes, which readers take for text or leave out"
	pointerUnseen   = "it is a pointer of Git LFS, and the content behind it is not given"
	garbledUnseen   = "part of its text is in an unknown encoding"
)

// subprojectLine matches what git shows of a submodule.
var subprojectLine = regexp.MustCompile(`^Subproject commit [0-9a-f]{7,64}(-dirty)?$`)

// unseen says why the hunks of a file, as its header describes it, do not have all content that the change brings to its path.
// It returns "" if they do.
//
// A renamed or copied file brings all of its content to its path, whatever else has changed in it: else a rule for that path
// could be passed by a move that changes nothing.
func (f *File) unseen() string {
	switch {
	case f.Change == Deleted:
		return ""
	case f.isSubmodule():
		return submoduleUnseen
	case f.NewMode == linkMode:
		if to := f.linkTarget(); to != "" {
			return fmt.Sprintf("it is a link to %s, whose content is not given", to)
		}
		return "it is a link, and its target is not given"
	case (f.OldMode == linkMode || f.OldMode == submoduleMode) && f.NewMode != "" && f.NewMode != f.OldMode && len(f.Hunks) == 0:
		return "it becomes a file, whose content is not given"
	case f.Change == Renamed || f.Change == Copied:
		if IsEmptyBlob(f.NewBlob) && !f.Binary {
			return ""
		}
		return fmt.Sprintf("it comes from %s, and the diff shows only what else has changed in it", f.OldPath)
	case f.Missing:
		return missingUnseen
	case f.Binary:
		return "its content is binary and not given"
	case f.declaresCode():
		return codeUnseen
	case f.switchesSets():
		return setsUnseen
	case f.isPointer():
		return pointerUnseen
	case f.Change == Added && len(f.Hunks) > 0 && (len(f.Hunks) > 1 || f.Hunks[0].NewStart > 1):
		return "the diff shows only a part of its content"
	}
	return ""
}

// Hidden says why the hunks of a file do not have all content that the change brings to its path, such as "its content is not given".
// It returns "" if they do, and for media, which have no text. Patterns, expressions and the judge all ask it.
func (f *File) Hidden() string {
	switch {
	case f.Change == Deleted:
		return ""
	case f.Unseen != "" || f.Media != "":
		return f.Unseen
	case f.Missing:
		return missingUnseen
	case f.Binary:
		return "the file is binary"
	case (f.Change == Added || f.Change == Modified) && len(f.Hunks) == 0 && !IsEmptyBlob(f.NewBlob):
		return "the diff shows none of its content"
	}
	return ""
}

// staysFile reports whether the header of a change of mode says that a file stays a file, as chmod leaves it: then it has no other
// content than before. A change of type, such as from a file to a link, does bring content.
func (h *header) staysFile() bool {
	return !h.mode || !h.isMerge && isFileMode(h.oldMode) && isFileMode(h.newMode)
}

// Modes returns the new mode of a file, or "OLD to NEW"; empty for an unchanged mode and for a new ordinary file.
func (f *File) Modes() string {
	switch {
	case f.NewMode == "" || f.NewMode == f.OldMode:
		return ""
	case f.OldMode != "":
		return f.OldMode + " to " + f.NewMode
	case f.NewMode == fileMode:
		return ""
	}
	return f.NewMode
}

// isFileMode reports whether a mode is that of a file and not of a link, a submodule or a folder.
func isFileMode(mode string) bool { return strings.HasPrefix(mode, "100") }

// pointerID matches the line of a pointer of Git LFS that names the content, which takes the place of the pointer in a working tree.
var pointerID = regexp.MustCompile(`^oid sha256:[0-9a-f]{64}\r?$`)

// isPointer reports whether a file is a pointer of Git LFS: a few short lines of keys and values, of which one names the content. A
// diff without context shows that line alone.
func (f *File) isPointer() bool {
	const longest = 1024 // bytes of a pointer, by the specification of Git LFS
	named, bytes := false, 0
	for _, l := range f.NewLines {
		if bytes += len(l.Text) + 1; bytes > longest || l.New == 1 && !strings.HasPrefix(l.Text, "version http") {
			return false
		}
		named = named || pointerID.MatchString(l.Text)
	}
	return named
}

// PointsTo reports whether a file is a pointer of Git LFS to this content.
func (f *File) PointsTo(content []byte) bool {
	if !f.isPointer() {
		return false
	}
	id := fmt.Sprintf("oid sha256:%x", sha256.Sum256(content))
	for _, l := range f.NewLines {
		if strings.TrimSuffix(l.Text, "\r") == id {
			return true
		}
	}
	return false
}

// BringsFolder reports whether a file is a submodule or a link, which bring files below its path.
func (f *File) BringsFolder() bool { return f.NewMode == linkMode || f.isSubmodule() }

// NamesFolder is BringsFolder without links to what by its name is a document of the same tree, such as CLAUDE.md to AGENTS.md.
func (f *File) NamesFolder() bool {
	return f.isSubmodule() || f.NewMode == linkMode && !f.linksToDocument()
}

// documentEndings are those of files that links often lead to. Folders do not have them.
var documentEndings = []string{".md", ".mdc", ".txt", ".json", ".yaml", ".yml", ".toml"}

func (f *File) linksToDocument() bool {
	var target string
	for _, l := range f.NewLines {
		if target != "" {
			return false
		}
		target = l.Text
	}
	inTree := path.Join(path.Dir(f.Path), target)
	return !path.IsAbs(target) && inTree != ".." && !strings.HasPrefix(inTree, "../") && slices.Contains(documentEndings, path.Ext(target))
}

// isSubmodule reports whether a file is a commit of another repository, by its mode or, without one, by its lines.
func (f *File) isSubmodule() bool {
	if f.NewMode != "" {
		return f.NewMode == submoduleMode
	}
	any := false
	for _, l := range f.NewLines {
		if !subprojectLine.MatchString(l.Text) {
			return false
		}
		any = true
	}
	return any
}

// linkTarget returns the path in the text of a link, shortened for a message.
func (f *File) linkTarget() string {
	const longest = 200
	for _, l := range f.NewLines {
		return strings.ToValidUTF8(l.Text[:min(len(l.Text), longest)], "")
	}
	return ""
}

// index reads a line "index OLD..NEW MODE". In a combined diff OLD has a name per parent.
func (h *header) index(value string) {
	blobs, mode, _ := strings.Cut(value, " ")
	older, newer, _ := strings.Cut(blobs, "..")
	older, _, _ = strings.Cut(older, ",")
	if mode = modeOf(mode); mode != "" { // lines old mode and new mode go before it, and git apply follows them
		h.oldMode, h.newMode = cmp.Or(h.oldMode, mode), cmp.Or(h.newMode, mode)
	}
	h.oldBlob, h.newBlob = blobOf(older), blobOf(newer)
	switch {
	case IsEmptyBlob(h.newBlob):
		h.hasText = no
	case h.newBlob != "" && h.newBlob == h.oldBlob:
		// Names cut short may be equal by chance, and git writes no such line: it proves nothing.
	default:
		h.hasText = yes
	}
}

// blobOf returns the name of a blob in an index line, "" for another text and for the name of no blob, which is all zeros.
func blobOf(s string) string {
	if len(s) < 4 || len(s) > 64 || strings.Trim(s, "0") == "" {
		return ""
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return ""
		}
	}
	return s
}

// minAbbreviation is the fewest digits of a blob's name that git writes.
const minAbbreviation = 7

// IsEmptyBlob reports whether a name, maybe cut short, is that of empty content. Seven digits are no proof against somebody who
// searches for content with an equal beginning. But git writes no index line without hunks for such content: it shows the
// content, or that it is binary.
func IsEmptyBlob(name string) bool {
	const empty1, empty256 = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391", "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813"
	return len(name) >= minAbbreviation && (strings.HasPrefix(empty1, name) || strings.HasPrefix(empty256, name))
}

// modeOf returns the mode of a file in a header line, "" for another text.
func modeOf(s string) string {
	if len(s) != 6 || strings.Trim(s, "01234567") != "" {
		return ""
	}
	return s
}
