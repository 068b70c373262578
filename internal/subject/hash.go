package subject

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"hash"
	"strconv"
)

// Hash is the SHA-256, in hex, of everything the subject holds, line numbers too. Equal subjects have equal hashes, however
// their facts were ordered and their diff was written.
func (s *Subject) Hash() string {
	c := newContent("subject 1")
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

// Hash is the SHA-256, in hex, of what a change does to the file: its paths, the kind of change, and its hunks without line
// numbers. It stays the same when other changes move the hunks up or down.
func (f *File) Hash() string {
	c := newContent("file 1")
	c.file(f)
	return c.sum()
}

// Hash is the SHA-256, in hex, of the section and the lines of the hunk, without line numbers and without the file's path.
func (h *Hunk) Hash() string {
	c := newContent("hunk 1")
	c.hunk(h)
	return c.sum()
}

// content feeds a hash with values that cannot run into one another: each text comes behind its length.
type content struct {
	hash hash.Hash
	room []byte
}

func newContent(kind string) *content {
	c := &content{hash: sha256.New(), room: make([]byte, 0, 4096)}
	return c.text(kind)
}

func (c *content) count(n int) *content {
	c.room = binary.AppendVarint(c.room, int64(n))
	return c
}

func (c *content) text(s string) *content {
	c.count(len(s))
	for len(c.room)+len(s) > cap(c.room) {
		n := cap(c.room) - len(c.room)
		c.room = append(c.room, s[:n]...)
		c.flush()
		s = s[n:]
	}
	c.room = append(c.room, s...)
	if cap(c.room)-len(c.room) < binary.MaxVarintLen64 {
		c.flush()
	}
	return c
}

func (c *content) flush() {
	c.hash.Write(c.room)
	c.room = c.room[:0]
}

func (c *content) file(f *File) {
	c.text(f.Path).text(f.OldPath).text(string(f.Change))
	c.text(strconv.FormatBool(f.Binary)).text(strconv.FormatBool(f.Missing))
	c.count(len(f.Hunks))
	for i := range f.Hunks {
		c.hunk(&f.Hunks[i])
	}
}

func (c *content) hunk(h *Hunk) {
	c.text(h.Section).count(len(h.Lines))
	for i := range h.Lines {
		c.count(int(h.Lines[i].Op)).text(h.Lines[i].Text)
	}
}

func (c *content) sum() string {
	c.flush()
	return hex.EncodeToString(c.hash.Sum(nil))
}
