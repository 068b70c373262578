package subject

import (
	"bufio"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"

	"tenet/internal/diff"
)

// Hash returns the SHA-256, in hex, of the whole subject with line numbers. Equal subjects have equal hashes, in any order of
// facts and any form of the diff.
func (s *Subject) Hash() string { return s.hash(false) }

// HashWithoutModes returns the hash that records have from before modes of files were a part of it, which edges of an earlier version
// still send. It identifies a subject less well than [Subject.Hash] does: only records may be compared with it.
func (s *Subject) HashWithoutModes() string { return s.hash(true) }

func (s *Subject) hash(withoutModes bool) string {
	c := newContent("subject 1")
	c.withoutModes = withoutModes
	c.count(len(s.Kinds))
	for _, k := range s.Kinds {
		c.text(string(k))
	}
	c.text(s.Action).text(s.Intent).text(s.Repository).text(s.Scope)
	if len(s.Facts) > 0 {
		c.text(factsJSON(s.Facts, ""))
	} else {
		c.text("")
	}
	c.count(len(s.Files))
	for i := range s.Files {
		f := &s.Files[i]
		c.file(f)
		for j := range f.Hunks {
			h := &f.Hunks[j]
			c.count(h.OldStart).count(h.OldLines).count(h.NewStart).count(h.NewLines)
		}
	}
	return c.sum()
}

// content feeds a hash with values that cannot run into one another: each text follows its length.
type content struct {
	hash hash.Hash
	out  *bufio.Writer // into hash, which never fails
	// withoutModes leaves out the modes of files.
	withoutModes bool
}

func newContent(kind string) *content {
	h := sha256.New()
	return (&content{hash: h, out: bufio.NewWriterSize(h, 512)}).text(kind)
}

func (c *content) count(n int) *content {
	_, _ = c.out.Write(binary.AppendVarint(c.out.AvailableBuffer(), int64(n)))
	return c
}

func (c *content) text(s string) *content {
	c.count(len(s))
	_, _ = c.out.WriteString(s)
	return c
}

func (c *content) file(f *diff.File) {
	c.text(f.Path).text(f.OldPath).text(string(f.Change))
	c.text(strconv.FormatBool(f.Binary)).text(strconv.FormatBool(f.Missing))
	c.count(len(f.Hunks))
	for i := range f.Hunks {
		c.hunk(&f.Hunks[i])
	}
	c.seen(f)
}

// seen adds which content of a file is given, and further readings of its path. Records have hashes from before these were
// known, so it adds nothing where they follow from the rest: a file without content, a binary or a moved one is not wholly given.
func (c *content) seen(f *diff.File) {
	unseen := f.Change != diff.Deleted && (f.Missing || f.Binary && f.Change != diff.Whole || f.Change == diff.Renamed || f.Change == diff.Copied)
	if unseen != (f.Unseen != "") {
		c.text("unseen").text(f.Unseen)
	}
	if f.Media != "" {
		c.text("media").text(f.Media)
	}
	if len(f.Others) > 0 {
		c.text("others").count(len(f.Others))
		for _, path := range f.Others {
			c.text(path)
		}
	}
	if modes := f.Modes(); modes != "" && !c.withoutModes {
		c.text("modes").text(modes)
	}
	if f.Delta != nil {
		c.text("delta").text(string(f.Delta))
	}
}

func (c *content) hunk(h *diff.Hunk) {
	c.text(h.Section).count(len(h.Lines))
	for i := range h.Lines {
		c.count(int(h.Lines[i].Op)).text(h.Lines[i].Text)
	}
}

func (c *content) sum() string {
	_ = c.out.Flush()
	return hex.EncodeToString(c.hash.Sum(nil))
}
