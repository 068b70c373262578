// Package bundle holds what evaluations need of a deployment as one immutable signed file: its format, its places, and its verification.
//
// A file is a signed head and a body. The head (a C2SP signed note) names the environment, the sequence number, the snapshot with the
// Merkle root of its rules, and the size and the hash of the body, so that nothing of the body is read before a trusted key has vouched
// for its length. The body is zstd over lines in one order, so that equal contents are equal bytes.
package bundle

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	fastjson "github.com/go-json-experiment/json"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Contents holds the parts of a deployment that evaluations need: no test cases, no drafts, no history.
type Contents struct {
	Project       rule.Project
	Snapshot      store.Snapshot // without its manifest
	Rules         []rule.Rule    // in order of id
	Relationships []rule.Relationship
	Nodes         []rule.Node
	Attachments   []rule.Attachment
	Waivers       []rule.Waiver     // that are in force or will be
	Keys          []store.Key       // that may ask; their secrets are hashes
	Suspensions   []rule.Suspension // of agents, in force
	// KeysRequired is true where callers must present a key, be it that none of Keys is theirs.
	KeysRequired bool
}

// Kinds of lines, in the order in which a body has them.
const (
	projectKind      = "a-project"
	snapshotKind     = "b-snapshot"
	ruleKind         = "c-rule"
	relationshipKind = "d-relationship"
	nodeKind         = "e-node"
	attachmentKind   = "f-attachment"
	waiverKind       = "g-waiver"
	keyKind          = "h-key"
	suspensionKind   = "i-suspension"
	accessKind       = "j-access"
)

// line is one thing of a bundle: the kind and the id, and its JSON.
type line struct {
	key  string
	body []byte
}

// Encode returns the canonical text of contents: a line for each thing, with its kind and id, a tab, and its JSON; in order of the first.
func (c *Contents) Encode() ([]byte, error) {
	var lines []line
	var err error
	add := func(kind, id string, v any) {
		if err != nil {
			return
		}
		if id == "" || strings.ContainsAny(id, "\t\n") {
			err = fmt.Errorf("bundle: %q is not an id", id)
			return
		}
		var body []byte
		if body, err = json.Marshal(v); err == nil {
			lines = append(lines, line{kind + " " + id, body})
		}
	}
	add(projectKind, c.Project.ID, c.Project)
	snapshot := c.Snapshot
	snapshot.Manifest = nil
	add(snapshotKind, snapshot.ID, snapshot)
	rules, ruleErr := encodeRules(c.Rules)
	if ruleErr != nil {
		return nil, ruleErr
	}
	for _, r := range c.Relationships {
		add(relationshipKind, r.ID, r)
	}
	for _, n := range c.Nodes {
		add(nodeKind, n.ID, n)
	}
	for _, a := range c.Attachments {
		add(attachmentKind, a.NodeID+"/"+a.RuleID, a)
	}
	for _, w := range c.Waivers {
		add(waiverKind, w.ID, w)
	}
	for _, k := range c.Keys {
		add(keyKind, k.ID, bare(k))
	}
	for _, s := range c.Suspensions {
		add(suspensionKind, s.ID, s)
	}
	if c.KeysRequired {
		add(accessKind, "keys", access{KeysRequired: true})
	}
	if err != nil {
		return nil, err
	}
	lines = append(lines, rules...)
	return join(lines)
}

// access is the line of who may ask.
type access struct {
	KeysRequired bool `json:"keys_required"`
}

// bare returns a key without what changes with each use.
func bare(k store.Key) store.Key {
	k.LastUsedAt, k.LastRefusedAt, k.LastRefusal, k.Refused = nil, nil, "", 0
	return k
}

// encodeRules encodes rules on all processors.
func encodeRules(rules []rule.Rule) ([]line, error) {
	lines, errs := make([]line, len(rules)), make([]error, len(rules))
	each(len(rules), func(i int) {
		lines[i].key = ruleKind + " " + rules[i].ID
		lines[i].body, errs[i] = json.Marshal(&rules[i])
	})
	for _, err := range errs {
		if err != nil {
			return nil, fmt.Errorf("bundle: %w", err)
		}
	}
	return lines, nil
}

// each calls fn for 0 to n-1 on all processors.
func each(n int, fn func(i int)) {
	workers := max(1, min(runtime.GOMAXPROCS(0), n/64))
	var wg sync.WaitGroup
	for w := range workers {
		wg.Go(func() {
			for i := w; i < n; i += workers {
				fn(i)
			}
		})
	}
	wg.Wait()
}

// join sorts lines and writes them one after the other.
func join(lines []line) ([]byte, error) {
	slices.SortFunc(lines, func(a, b line) int { return cmp.Compare(a.key, b.key) })
	size := 0
	for i := range lines {
		if i > 0 && lines[i].key == lines[i-1].key {
			return nil, fmt.Errorf("bundle: %s is there twice", lines[i].key)
		}
		size += len(lines[i].key) + len(lines[i].body) + 2
	}
	out := make([]byte, 0, size)
	for i := range lines {
		out = append(out, lines[i].key...)
		out = append(out, '\t')
		out = append(out, lines[i].body...)
		out = append(out, '\n')
	}
	return out, nil
}

// split reads lines, which refer to the text. They must be in strict order.
func split(text []byte) ([]line, error) {
	if len(text) > 0 && text[len(text)-1] != '\n' {
		return nil, fmt.Errorf("%w: its last line is not whole", errDamaged)
	}
	lines := make([]line, 0, bytes.Count(text, []byte("\n")))
	for len(text) > 0 {
		one, rest, _ := bytes.Cut(text, []byte("\n"))
		text = rest
		key, body, ok := bytes.Cut(one, []byte("\t"))
		if !ok {
			return nil, fmt.Errorf("%w: a line has no content", errDamaged)
		}
		l := line{string(key), body}
		if n := len(lines); n > 0 && l.key <= lines[n-1].key {
			return nil, fmt.Errorf("%w: its lines are not in order", errDamaged)
		}
		lines = append(lines, l)
	}
	return lines, nil
}

// Decode reads what [Contents.Encode] has written. A line of a kind that this version does not know is an error: it could hold what
// evaluations need.
func Decode(text []byte) (*Contents, error) {
	lines, err := split(text)
	if err != nil {
		return nil, err
	}
	c := &Contents{}
	count := map[string]int{}
	for i := range lines {
		kind, _, _ := strings.Cut(lines[i].key, " ")
		count[kind]++
	}
	if count[projectKind] != 1 || count[snapshotKind] != 1 {
		return nil, fmt.Errorf("%w: it holds not one project and one snapshot", errDamaged)
	}
	c.Rules = make([]rule.Rule, 0, count[ruleKind])
	first := -1
	for i := range lines {
		kind, _, _ := strings.Cut(lines[i].key, " ")
		switch kind {
		case projectKind:
			err = read(lines[i], &c.Project)
		case snapshotKind:
			err = read(lines[i], &c.Snapshot)
		case ruleKind:
			if first < 0 {
				first = i
			}
		case relationshipKind:
			err = readTo(lines[i], &c.Relationships)
		case nodeKind:
			err = readTo(lines[i], &c.Nodes)
		case attachmentKind:
			err = readTo(lines[i], &c.Attachments)
		case waiverKind:
			err = readTo(lines[i], &c.Waivers)
		case keyKind:
			err = readTo(lines[i], &c.Keys)
		case suspensionKind:
			err = readTo(lines[i], &c.Suspensions)
		case accessKind:
			var a access
			err = read(lines[i], &a)
			c.KeysRequired = a.KeysRequired
		default:
			err = fmt.Errorf("it has the kind of line %q, which this version of Tenet does not know; upgrade it", kind)
		}
		if err != nil {
			return nil, err
		}
	}
	if first < 0 {
		return c, nil
	}
	c.Rules = make([]rule.Rule, count[ruleKind])
	errs := make([]error, count[ruleKind])
	each(len(c.Rules), func(i int) {
		if errs[i] = read(lines[first+i], &c.Rules[i]); errs[i] == nil && ruleKind+" "+c.Rules[i].ID != lines[first+i].key {
			errs[i] = fmt.Errorf("%w: the line %s is about another rule", errDamaged, lines[first+i].key)
		}
	})
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return c, nil
}

func read[T any](l line, v *T) error {
	if err := fastjson.Unmarshal(l.body, v); err != nil {
		return fmt.Errorf("%w: %s: %w", errDamaged, l.key, err)
	}
	return nil
}

func readTo[T any](l line, list *[]T) error {
	var v T
	err := read(l, &v)
	*list = append(*list, v)
	return err
}
