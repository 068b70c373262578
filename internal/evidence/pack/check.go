package pack

import (
	"archive/zip"
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"

	"tenet/internal/audit"
	"tenet/internal/audit/tree"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Limits of what a check reads at once, in bytes.
const (
	maxManifest = 64 << 20
	maxLine     = 512 << 20
)

// Result holds the findings of a check.
type Result struct {
	checkpoint.Seen

	Manifest Manifest
	// Missing lists versions of rules that decided and are not in the pack.
	Missing []store.VersionRef
	// Unproven lists files for people that are not what this version makes of the figures: they were changed, or another version has made them.
	Unproven []string
}

// Check checks all of a pack by a policy: that no file was changed, that each entry is in the log of a checkpoint that the policy accepts, that the records are
// those of the entries, and that the rules are those that decided. It reads the pack once, from its beginning to its end.
func Check(r io.ReaderAt, size int64, policy *checkpoint.Policy) (*Result, error) {
	z, err := zip.NewReader(r, size)
	if err != nil {
		return nil, fmt.Errorf("the pack is no whole ZIP file: %w", err)
	}
	p := &checking{files: map[string]*zip.File{}}
	for _, f := range z.File {
		if _, twice := p.files[f.Name]; twice {
			return nil, fmt.Errorf("the pack has two files %q", clip(f.Name))
		}
		p.files[f.Name] = f
	}
	if err := p.manifest(); err != nil {
		return nil, err
	}
	note, err := p.small(checkpointName, checkpoint.MaxFile)
	if err != nil {
		return nil, err
	}
	out := &Result{Manifest: p.m}
	if out.Seen, err = policy.Open(string(note)); err != nil {
		return nil, err
	}
	if i := strings.LastIndex(out.Origin, "/"); out.Origin[i+1:] != p.m.ProjectID {
		return nil, fmt.Errorf("the pack is one of project %s, the log %s is not", clip(p.m.ProjectID), out.Origin)
	}
	c := newCount(p.m.ProjectID)
	if err := p.records(c, &out.Seen); err != nil {
		return nil, err
	}
	if ok, err := same(c.figures(), p.m.Figures); err != nil || !ok {
		return nil, errors.New("the figures of the pack are not those of its entries")
	}
	if out.Missing, err = p.rules(c.used); err != nil {
		return nil, err
	}
	for _, name := range []string{reportName, oscalName} {
		if err := p.whole(name, func(io.Reader) error { return nil }); err != nil {
			return nil, err
		}
	}
	out.Unproven, err = p.derived()
	return out, err
}

// checking is a pack that is checked.
type checking struct {
	files map[string]*zip.File
	m     Manifest
}

func (p *checking) manifest() error {
	f, ok := p.files[manifestName]
	if !ok {
		return errNoPack
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it only reads
	data, err := io.ReadAll(io.LimitReader(in, maxManifest+1))
	if err != nil || len(data) > maxManifest {
		return errors.Join(errNoPack, err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	if err := d.Decode(&p.m); err != nil || p.m.Format != format || p.m.Figures == nil {
		return errNoPack
	}
	if len(p.m.Files) != len(p.files)-1 {
		return errors.New("the pack has files that its manifest does not list")
	}
	return nil
}

// whole gives the content of a file to fn, reads what fn leaves, and compares it with the manifest.
func (p *checking) whole(name string, fn func(io.Reader) error) error {
	i := slices.IndexFunc(p.m.Files, func(f File) bool { return f.Name == name })
	f, ok := p.files[name]
	if i < 0 || !ok {
		return fmt.Errorf("the pack has no file %s", name)
	}
	in, err := f.Open()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }() // it only reads
	sum := &summed{from: io.LimitReader(in, p.m.Files[i].Size+1), sum: sha256.New()}
	if err := fn(sum); err != nil {
		return err
	}
	if _, err := io.Copy(io.Discard, sum); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if sum.size != p.m.Files[i].Size || hex.EncodeToString(sum.sum.Sum(nil)) != p.m.Files[i].SHA256 {
		return fmt.Errorf("%s is not as the manifest has it", name)
	}
	return nil
}

// summed hashes what is read.
type summed struct {
	from io.Reader
	sum  hash.Hash
	size int64
}

// Read implements io.Reader.
func (s *summed) Read(b []byte) (int, error) {
	n, err := s.from.Read(b)
	s.sum.Write(b[:n]) // a hash never fails to write
	s.size += int64(n)
	return n, err
}

func (p *checking) small(name string, most int64) (data []byte, err error) {
	err = p.whole(name, func(in io.Reader) error {
		data, err = io.ReadAll(io.LimitReader(in, most+1))
		if err == nil && int64(len(data)) > most {
			err = fmt.Errorf("%s has more than %d bytes", name, most)
		}
		return err
	})
	return data, err
}

// maxFront bounds the file with the front, in bytes.
const maxFront = 64 << 10

// records checks the entries against the leaves, and the leaves against the checkpoint.
func (p *checking) records(c *count, seen *checkpoint.Seen) error {
	data, err := p.small(frontName, maxFront)
	if err != nil {
		return err
	}
	var before front
	if err := json.Unmarshal(data, &before); err != nil || before.Before < 0 || before.Before > seen.Size {
		return fmt.Errorf("%s cannot be read", frontName)
	}
	edge, err := tree.ParseFront(before.Before, before.Front)
	if err != nil {
		return err
	}
	return p.whole(leavesName, func(hashes io.Reader) error {
		leaves := bufio.NewReaderSize(hashes, 64<<10)
		next := func() (leaf tree.Hash, err error) {
			if edge.Size() >= seen.Size {
				return leaf, errors.New("the pack has entries that are not in the log of the checkpoint")
			}
			if _, err := io.ReadFull(leaves, leaf[:]); err != nil {
				return leaf, errors.New("the hashes of the log end too early")
			}
			edge.Append(leaf)
			return leaf, nil
		}
		err := p.whole(recordsName, func(in io.Reader) error {
			return lines(in, func(line []byte) error {
				var l Line
				d := json.NewDecoder(bytes.NewReader(line))
				d.DisallowUnknownFields()
				if err := d.Decode(&l); err != nil {
					return fmt.Errorf("a line of %s cannot be read: %w", recordsName, err)
				}
				if l.Entry.Seq <= edge.Size() {
					return fmt.Errorf("entry %d is out of order", l.Entry.Seq)
				}
				if l.Entry.Seq > seen.Size {
					return fmt.Errorf("entry %d is not in the log of the checkpoint, which has %d", l.Entry.Seq, seen.Size)
				}
				var leaf tree.Hash
				for edge.Size() < l.Entry.Seq {
					var err error
					if leaf, err = next(); err != nil {
						return err
					}
				}
				if err := p.entry(&l, leaf); err != nil {
					return err
				}
				return c.add(&l)
			})
		})
		for err == nil && edge.Size() < seen.Size {
			_, err = next()
		}
		if err == nil && edge.Root() != seen.Root {
			err = errors.New("the hashes of the log are not those of the checkpoint")
		}
		return err
	})
}

// entry checks an entry against its leaf, and its record against the entry.
func (p *checking) entry(l *Line, leaf tree.Hash) error {
	e := &l.Entry
	want, err := tree.Leaf(audit.Hash(*e))
	if err != nil {
		return err
	}
	if e.ProjectID != p.m.ProjectID || e.Hash != audit.Hash(*e) || want != leaf {
		return fmt.Errorf("entry %d was changed: it is not the one in the log", e.Seq)
	}
	if len(e.Body) == 0 {
		if l.Record != nil {
			return fmt.Errorf("entry %d has a record without the body that proves it", e.Seq)
		}
		return nil
	}
	sum := sha256.Sum256(e.Body)
	if hex.EncodeToString(sum[:]) != e.BodyHash || l.Withheld {
		return fmt.Errorf("the body of entry %d was changed: it does not have the hash that the log has", e.Seq)
	}
	body, err := audit.Body(*e)
	if err != nil {
		return err
	}
	var stored, shown bytes.Buffer
	if json.Compact(&stored, body) != nil || json.Compact(&shown, l.Record) != nil {
		return fmt.Errorf("the record of entry %d is no JSON", e.Seq)
	}
	if bytes.Equal(stored.Bytes(), shown.Bytes()) {
		return nil
	}
	// The encoder writes some characters otherwise than they were stored.
	var a, b any
	if decode(stored.Bytes(), &a) != nil || decode(shown.Bytes(), &b) != nil {
		return fmt.Errorf("the record of entry %d is no JSON", e.Seq)
	}
	if ok, err := same(a, b); err != nil || !ok {
		return fmt.Errorf("the record of entry %d is not its body", e.Seq)
	}
	return nil
}

func decode(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber()
	return d.Decode(v)
}

// rules compares the rules of the pack with the hashes in the records, and returns those that are missing.
func (p *checking) rules(used map[store.VersionRef]string) (missing []store.VersionRef, err error) {
	left := maps.Clone(used)
	err = p.whole(rulesName, func(in io.Reader) error {
		return lines(in, func(line []byte) error {
			var r rule.Rule
			if err := json.Unmarshal(line, &r); err != nil {
				return fmt.Errorf("a line of %s cannot be read: %w", rulesName, err)
			}
			ref := store.VersionRef{RuleID: r.ID, Version: r.Version}
			want, ok := left[ref]
			if !ok {
				return fmt.Errorf("version %d of the rule %s is in the pack, and decided nothing in it", r.Version, clip(r.ID))
			}
			delete(left, ref)
			if r.ContentHash() != want {
				return fmt.Errorf("version %d of the rule %s is not the one that decided", r.Version, r.ID)
			}
			return nil
		})
	})
	missing = slices.SortedFunc(maps.Keys(left), func(a, b store.VersionRef) int { return strings.Compare(a.RuleID, b.RuleID) })
	return missing, err
}

// derived compares the report and the assessment with those that the figures give, and returns the names of those that differ.
func (p *checking) derived() (differ []string, err error) {
	m := p.m
	m.Files = nil
	for _, f := range p.m.Files {
		sum := sha256.New()
		switch f.Name {
		case reportName:
			err = writeReport(sum, &m)
		case oscalName:
			err = encode(sum, oscal(&m))
		default:
			continue
		}
		if err != nil {
			return nil, err
		}
		if hex.EncodeToString(sum.Sum(nil)) != f.SHA256 {
			differ = append(differ, f.Name)
		}
	}
	return differ, nil
}

// lines calls fn with the lines of a file.
func lines(in io.Reader, fn func(line []byte) error) error {
	s := bufio.NewScanner(in)
	s.Buffer(make([]byte, 64<<10), maxLine)
	for s.Scan() {
		if err := fn(s.Bytes()); err != nil {
			return err
		}
	}
	return s.Err()
}

// clip shortens a name for a message.
func clip(s string) string {
	if len(s) > 100 {
		return s[:100]
	}
	return s
}
