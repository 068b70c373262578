// Package pin remembers what the tools of an MCP server say of themselves, so that a server cannot change it in silence: a model trusts the
// description of a tool as much as its user does.
package pin

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/rule"
)

// File is the pins of one server.
type File struct {
	Server string `json:"server"`
	// FirstSeen is when its tools were listed first. What that list had is accepted, unless it hides something.
	FirstSeen time.Time `json:"first_seen"`
	// Complete is true once a list was read to its end. What comes later is held back until a person accepts it.
	Complete bool             `json:"complete"`
	Tools    map[string]*Tool `json:"tools"`
}

// Tool is the pin of a tool.
type Tool struct {
	// Hash and Definition belong to the accepted definition; empty for a tool that never was accepted.
	Hash       string          `json:"hash,omitempty"`
	Definition json.RawMessage `json:"definition,omitempty"`
	AcceptedAt time.Time       `json:"accepted_at,omitzero"`
	// Pending is the definition of the last list; nil if that is accepted.
	Pending *Pending `json:"pending,omitempty"`
}

// Pending is a definition that waits for a person.
type Pending struct {
	Hash       string          `json:"hash"`
	Definition json.RawMessage `json:"definition"`
	SeenAt     time.Time       `json:"seen_at"`
	// Why says in words why it is held back.
	Why []string `json:"why"`
}

// Bounds of what a server may have pinned.
const (
	maxTools      = 5000
	maxDefinition = 256 << 10 // bytes
	// firstList is how long the first list may take to be read to its end: a server must not keep it open to slip tools in.
	firstList = time.Hour
)

// Store keeps the pins of one server in a file. It is safe for concurrent use, also by several processes.
type Store struct {
	server, file string
	now          func() time.Time

	mu   sync.Mutex
	read stamp
	last *File
}

// Open returns the store of a server in a folder, which is made when something is written.
func Open(folder, server string) *Store {
	return &Store{server: server, file: FileOf(folder, server), now: time.Now}
}

// Note is a thing that an operator should know.
type Note struct {
	// Text says it in words.
	Text string
	// Tool is a tool that is held back from now on, Hash the hash of its definition, and Why the reasons; empty in other notes.
	Tool, Hash string
	Why        []string
}

func (n Note) String() string { return n.Text }

// Check compares tools of a list with their pins. It returns the definitions that may be shown, and a note for each thing that an operator
// should know. Last says that the list ends here.
func (s *Store) Check(tools []json.RawMessage, last bool) (kept []json.RawMessage, notes []Note, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	// Most lists are as pinned: they are read without a lock, and nothing is written.
	f, err := s.load()
	if err != nil {
		return nil, nil, err
	}
	var changed bool
	kept, notes, changed = s.compare(f, tools, last)
	if !changed {
		return kept, notes, nil
	}
	err = s.change(func(f *File) error {
		kept, notes, _ = s.compare(f, tools, last)
		return nil
	})
	return kept, notes, err
}

// compare stores new definitions in f, and reports whether it did.
func (s *Store) compare(f *File, tools []json.RawMessage, last bool) (kept []json.RawMessage, notes []Note, changed bool) {
	now := s.now().UTC().Truncate(time.Second)
	if f.FirstSeen.IsZero() {
		f.FirstSeen, changed = now, true
	}
	first := !f.Complete && now.Sub(f.FirstSeen) < firstList
	kept = []json.RawMessage{}
	seen := map[string]bool{}
	for _, raw := range tools {
		d, err := define(raw)
		switch {
		case err != nil:
			notes = append(notes, Note{Text: "a tool is withheld: " + err.Error()})
			continue
		case seen[d.name]:
			notes = append(notes, Note{Text: fmt.Sprintf("the tool %q is listed twice; the second is withheld", d.name)})
			continue
		}
		seen[d.name] = true
		t := f.Tools[d.name]
		if t == nil {
			if len(f.Tools) >= maxTools {
				notes = append(notes, Note{Text: fmt.Sprintf("the tool %q is withheld: the server has more than %d", d.name, maxTools)})
				continue
			}
			t = &Tool{}
		}
		if t.Hash == d.hash {
			changed = changed || t.Pending != nil
			t.Pending = nil // it is again what was accepted
			kept = append(kept, raw)
			continue
		}
		why := d.hides
		switch {
		case t.Hash != "":
			why = append(changesOf(t.Definition, d), why...)
		case !first:
			why = append([]string{"it is new"}, why...)
		}
		if len(why) == 0 {
			t.Hash, t.Definition, t.AcceptedAt, changed = d.hash, d.canonical, now, true
			f.Tools[d.name] = t
			kept = append(kept, raw)
			continue
		}
		if t.Pending == nil || t.Pending.Hash != d.hash {
			t.Pending, changed = &Pending{d.hash, d.canonical, now, why}, true
			f.Tools[d.name] = t
			notes = append(notes, Note{
				Text: fmt.Sprintf("the tool %q is held back: %s. See it with tenet gateway pins list %s", d.name, strings.Join(why, ", "), s.server),
				Tool: d.name, Hash: d.hash, Why: why,
			})
		}
	}
	if last && !f.Complete {
		f.Complete, changed = true, true
	}
	return kept, notes, changed
}

// Held returns why a tool is held back; empty if it is not. Before the first list of a server nothing is.
func (s *Store) Held(tool string) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	if err != nil {
		return "", err
	}
	t := f.Tools[tool]
	switch {
	case t != nil && t.Pending != nil:
		return "the tool is held back: " + strings.Join(t.Pending.Why, ", "), nil
	case t == nil && f.Complete:
		return "the tool is not in the server's list of tools that was pinned", nil
	}
	return "", nil
}

// Pending returns the hashes of the definitions that are held back, by the names of their tools.
func (s *Store) Pending() (map[string]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	if err != nil {
		return nil, err
	}
	pending := map[string]string{}
	for name, t := range f.Tools {
		if t.Pending != nil {
			pending[name] = t.Pending.Hash
		}
	}
	return pending, nil
}

// Accepted returns the names of those tools among pending, as Pending gave them, whose definitions were accepted since.
func (s *Store) Accepted(pending map[string]string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(pending)) {
		if t := f.Tools[name]; t != nil && t.Hash == pending[name] {
			names = append(names, name)
		}
	}
	return names, nil
}

// Pins returns a copy of the pins.
func (s *Store) Pins() (File, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	f, err := s.load()
	if err != nil {
		return File{}, err
	}
	copied := *f
	copied.Tools = maps.Clone(f.Tools)
	return copied, nil
}

// Accept accepts what is held back of the named tools; of all where none is named. It returns the names. A name that is held back in nothing
// is not_found.
func (s *Store) Accept(names ...string) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var accepted []string
	err := s.change(func(f *File) error {
		accepted = nil
		if len(names) == 0 {
			for name, t := range f.Tools {
				if t.Pending != nil {
					names = append(names, name)
				}
			}
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			t := f.Tools[name]
			if t == nil || t.Pending == nil {
				return rule.NotFound("held tool", name)
			}
			t.Hash, t.Definition, t.AcceptedAt, t.Pending = t.Pending.Hash, t.Pending.Definition, s.now().UTC().Truncate(time.Second), nil
			accepted = append(accepted, name)
		}
		return nil
	})
	return accepted, err
}

// definition is a tool as a server describes it.
type definition struct {
	name, hash string
	canonical  json.RawMessage // without what only programs and pictures are about
	hides      []string        // what a reader would not see, in words
	parts      map[string]json.RawMessage
}

// define reads the definition of a tool.
func define(raw []byte) (*definition, error) {
	d := &definition{}
	if !jsontext.Value(raw).IsValid() || json.Unmarshal(raw, &d.parts) != nil || d.parts == nil {
		return nil, fmt.Errorf("its definition is no JSON object, or has a name twice")
	}
	if json.Unmarshal(d.parts["name"], &d.name) != nil || d.name == "" {
		return nil, fmt.Errorf("its definition has no name")
	}
	if len(raw) > maxDefinition {
		return nil, fmt.Errorf("the definition of %.100q has %d bytes; at most %d are allowed", d.name, len(raw), maxDefinition)
	}
	delete(d.parts, "_meta")
	delete(d.parts, "icons")
	text, err := json.Marshal(d.parts)
	if err != nil {
		return nil, err
	}
	v := jsontext.Value(text)
	if err := v.Canonicalize(); err != nil {
		return nil, err
	}
	sum := sha256.Sum256(v)
	d.canonical, d.hash, d.hides = json.RawMessage(v), hex.EncodeToString(sum[:]), hidden(v)
	return d, nil
}

// changesOf names the parts of a definition that differ from an accepted one, in words.
func changesOf(accepted []byte, d *definition) []string {
	var old map[string]json.RawMessage
	_ = json.Unmarshal(accepted, &old) // one that cannot be read differs in everything
	var differ, gone []string
	for _, part := range slices.Sorted(maps.Keys(d.parts)) {
		if !same(old[part], d.parts[part]) {
			differ = append(differ, part)
		}
	}
	for _, part := range slices.Sorted(maps.Keys(old)) {
		if d.parts[part] == nil {
			gone = append(gone, part)
		}
	}
	var out []string
	if len(differ) > 0 {
		out = append(out, "it changed its "+strings.Join(differ, ", "))
	}
	if len(gone) > 0 {
		out = append(out, "it dropped its "+strings.Join(gone, ", "))
	}
	return out
}

func same(a, b json.RawMessage) bool {
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	x, y := jsontext.Value(slices.Clone(a)), jsontext.Value(slices.Clone(b))
	return x.Canonicalize() == nil && y.Canonicalize() == nil && string(x) == string(y)
}
