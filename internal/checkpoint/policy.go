package checkpoint

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	fnote "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

// MaxPolicy bounds the size of a policy, in bytes.
const MaxPolicy = 1 << 20

// Policy says which keys of logs are trusted, which witnesses there are, and which of them must have cosigned a checkpoint: C2SP
// tlog-policy.
type Policy struct {
	Logs      []note.Verifier
	Witnesses []Witness
	groups    map[string]group
	quorum    string // name of a witness or group; none
	rest      []string
}

// Witness is a witness of a policy.
type Witness struct {
	Name string // in the policy
	Key  note.Verifier
	URL  string // below which it takes checkpoints; may be empty
}

// group needs some of its members.
type group struct {
	need    int
	members []string
}

// none is the quorum that needs nobody.
const none = "none"

// ParsePolicy reads a policy.
func ParsePolicy(data []byte) (*Policy, error) {
	p, err := parsePolicy(data)
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	if p.quorum == "" {
		return nil, errors.New(`policy: a quorum is missing, such as "quorum none" or the name of a witness or group`)
	}
	return p, nil
}

// ParseLogs reads the logs of a policy, which may have no quorum.
func ParseLogs(data []byte) ([]note.Verifier, error) {
	p, err := parsePolicy(data)
	if err != nil {
		return nil, err
	}
	return p.Logs, nil
}

func parsePolicy(data []byte) (*Policy, error) {
	if len(data) > MaxPolicy {
		return nil, fmt.Errorf("it has more than %d bytes", MaxPolicy)
	}
	p := &reading{Policy: Policy{groups: map[string]group{}}, keys: map[string]bool{}, named: map[string]bool{none: true}, member: map[string]bool{}}
	for n, line := range strings.Split(string(data), "\n") {
		if strings.ContainsFunc(line, func(r rune) bool { return r < ' ' && r != '\t' || r == 0x7f }) {
			return nil, fmt.Errorf("line %d has a control character", n+1)
		}
		words := strings.FieldsFunc(line, func(r rune) bool { return r == ' ' || r == '\t' })
		if len(words) == 0 || strings.HasPrefix(words[0], "#") {
			continue
		}
		if words[0] != "log" {
			p.rest = append(p.rest, strings.Join(words, " "))
		}
		if err := p.line(words); err != nil {
			return nil, fmt.Errorf("line %d: %w", n+1, err)
		}
	}
	return &p.Policy, nil
}

// For returns the text of the policy for a log with some keys, in place of its own logs. A nil policy needs no witness.
func (p *Policy) For(keys []string) string {
	var lines []string
	for _, k := range keys {
		lines = append(lines, "log "+k)
	}
	if p == nil {
		lines = append(lines, "quorum none")
	} else {
		lines = append(lines, p.rest...)
	}
	return strings.Join(lines, "\n") + "\n"
}

// reading is a policy as far as it was read.
type reading struct {
	Policy

	keys   map[string]bool // public keys
	named  map[string]bool // names of witnesses and groups, and none
	member map[string]bool // names that are members of a group
}

func (p *reading) line(words []string) error {
	switch words[0] {
	case "log":
		return p.log(words[1:])
	case "witness":
		return p.witness(words[1:])
	case "group":
		return p.group(words[1:])
	case "quorum":
		if len(words) != 2 || p.quorum != "" || !p.named[words[1]] {
			return errors.New("a policy has one quorum, which names a witness or group of an earlier line, or none")
		}
		p.quorum = words[1]
		return nil
	}
	return fmt.Errorf("%.40q is not log, witness, group or quorum", words[0])
}

func (p *reading) log(words []string) error {
	if len(words) < 1 || len(words) > 2 {
		return errors.New("a log has a key and may have an address")
	}
	v, err := note.NewVerifier(words[0])
	if err != nil {
		return fmt.Errorf("%.80q is not an Ed25519 key of a log: %w", words[0], err)
	}
	if err := p.once("log", words[0]); err != nil {
		return err
	}
	p.Logs = append(p.Logs, v)
	return nil
}

func (p *reading) witness(words []string) error {
	if len(words) < 2 || len(words) > 3 {
		return errors.New("a witness has a name and a key, and may have an address")
	}
	v, err := fnote.NewVerifierForCosignatureV1(words[1])
	if err != nil {
		return fmt.Errorf("%.80q is not the key of a witness: %w", words[1], err)
	}
	if err := errors.Join(p.once("witness", words[1]), p.name(words[0])); err != nil {
		return err
	}
	w := Witness{Name: words[0], Key: v}
	if len(words) == 3 {
		u, err := url.Parse(words[2])
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return fmt.Errorf("%.80q is not an address such as https://witness.example.com", words[2])
		}
		w.URL = strings.TrimSuffix(words[2], "/")
	}
	p.Witnesses = append(p.Witnesses, w)
	return nil
}

// once refuses a public key that the policy has already in a role, under whatever name.
func (p *reading) once(role, vkey string) error {
	_, key, _ := strings.Cut(vkey, "+") // behind the name
	_, key, _ = strings.Cut(key, "+")
	b, err := base64.StdEncoding.DecodeString(key)
	if err != nil || len(b) < 2 {
		return errors.New("the key is damaged")
	}
	id := role + string(b[1:]) // without its algorithm
	if p.keys[id] {
		return errors.New("the policy has this public key already")
	}
	p.keys[id] = true
	return nil
}

func (p *reading) name(name string) error {
	if p.named[name] {
		return fmt.Errorf("the name %.80q is in use", name)
	}
	p.named[name] = true
	return nil
}

func (p *reading) group(words []string) error {
	if len(words) < 3 {
		return errors.New("a group has a name, a number of members (or any, or all) and the members")
	}
	g := group{members: words[2:]}
	switch words[1] {
	case "any":
		g.need = 1
	case "all":
		g.need = len(g.members)
	default:
		n, err := strconv.Atoi(words[1])
		if err != nil || n < 1 || n > len(g.members) || strconv.Itoa(n) != words[1] {
			return fmt.Errorf("%.40q is not a number of its members, any or all", words[1])
		}
		g.need = n
	}
	for _, m := range g.members {
		if !p.named[m] || m == none || p.member[m] {
			return fmt.Errorf("%.80q is not a witness or group of an earlier line, or is in a group already", m)
		}
		p.member[m] = true
	}
	if err := p.name(words[0]); err != nil {
		return err
	}
	p.groups[words[0]] = g
	return nil
}

// met reports whether those who have cosigned are enough.
func (p *Policy) met(name string, cosigned func(witness string) bool) bool {
	if name == none {
		return true
	}
	g, ok := p.groups[name]
	if !ok {
		return cosigned(name)
	}
	n := 0
	for _, m := range g.members {
		if p.met(m, cosigned) {
			n++
		}
	}
	return n >= g.need
}

// Seen is a checkpoint that a policy accepts.
type Seen struct {
	Checkpoint

	Cosigned []Cosigned // by the witnesses of the policy that have cosigned it
}

// Cosigned is a cosignature.
type Cosigned struct {
	Witness string // its name in the policy
	At      time.Time
}

// Open checks a signed checkpoint: that a log of the policy has signed it and its quorum of witnesses has cosigned it. The signatures of
// others are ignored. If only the quorum is missing, it returns the checkpoint with a [QuorumError].
func (p *Policy) Open(signedNote string) (Seen, error) {
	c, err := Parse(signedNote)
	if err != nil {
		return Seen{}, err
	}
	var verifiers []note.Verifier
	for _, l := range p.Logs {
		if l.Name() == c.Origin {
			verifiers = append(verifiers, l)
		}
	}
	if len(verifiers) == 0 {
		return Seen{}, fmt.Errorf("the policy has no key of the log %q", c.Origin)
	}
	logs := len(verifiers)
	for _, w := range p.Witnesses {
		verifiers = append(verifiers, w.Key)
	}
	opened, err := note.Open([]byte(signedNote), note.VerifierList(verifiers...))
	if err != nil {
		return Seen{}, err
	}
	if opened.Text != c.Text() {
		return Seen{}, errors.New("the checkpoint has more lines than its three")
	}
	byLog := false
	seen := Seen{Checkpoint: c}
	for _, s := range opened.Sigs {
		is := func(v note.Verifier) bool { return v.Name() == s.Name && v.KeyHash() == s.Hash }
		byLog = byLog || slices.ContainsFunc(verifiers[:logs], is)
		i := slices.IndexFunc(p.Witnesses, func(w Witness) bool { return is(w.Key) })
		if i < 0 {
			continue
		}
		at, err := fnote.CoSigV1Timestamp(s)
		if err != nil {
			return Seen{}, err
		}
		seen.Cosigned = append(seen.Cosigned, Cosigned{p.Witnesses[i].Name, at.UTC()})
	}
	if !byLog {
		return Seen{}, fmt.Errorf("no key of the log %q in the policy has signed the checkpoint", c.Origin)
	}
	if !p.met(p.quorum, func(name string) bool {
		return slices.ContainsFunc(seen.Cosigned, func(c Cosigned) bool { return c.Witness == name })
	}) {
		return seen, &QuorumError{Cosigned: seen.Cosigned, Quorum: p.quorum}
	}
	return seen, nil
}

// Cosigned reports whether the quorum of witnesses has cosigned a checkpoint. It checks no signature of a log.
func (p *Policy) Cosigned(signedNote string) bool {
	c, err := Parse(signedNote)
	if err != nil {
		return false
	}
	keys := make([]note.Verifier, len(p.Witnesses))
	for i, w := range p.Witnesses {
		keys[i] = w.Key
	}
	opened, err := note.Open([]byte(signedNote), note.VerifierList(keys...))
	if err != nil || opened.Text != c.Text() {
		return p.quorum == none && err != nil
	}
	return p.met(p.quorum, func(name string) bool {
		i := slices.IndexFunc(p.Witnesses, func(w Witness) bool { return w.Name == name })
		return slices.ContainsFunc(opened.Sigs, func(s note.Signature) bool {
			return s.Name == p.Witnesses[i].Key.Name() && s.Hash == p.Witnesses[i].Key.KeyHash()
		})
	})
}

// Signed checks that a log of the policy has signed a checkpoint. It does not ask for the quorum.
func (p *Policy) Signed(signedNote string) (Seen, error) {
	seen, err := p.Open(signedNote)
	if _, missing := errors.AsType[*QuorumError](err); missing {
		err = nil
	}
	return seen, err
}

// QuorumError reports a checkpoint that too few witnesses have cosigned.
type QuorumError struct {
	Cosigned []Cosigned
	Quorum   string // its name in the policy
}

// Error implements error.
func (e *QuorumError) Error() string {
	if len(e.Cosigned) == 0 {
		return fmt.Sprintf("no witness of the quorum %s has cosigned the checkpoint", e.Quorum)
	}
	names := make([]string, len(e.Cosigned))
	for i, c := range e.Cosigned {
		names[i] = c.Witness
	}
	return fmt.Sprintf("only %s cosigned the checkpoint, which is not the quorum %s", strings.Join(names, ", "), e.Quorum)
}
