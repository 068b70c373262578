// Package modeleval measures how well a judge decides: it runs labelled cases (a rule, a subject, the verdict expected)
// through the judge, counts what came out, and compares two such runs.
package modeleval

import (
	"bufio"
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Limits of a file of cases.
const (
	MaxLine  = 4 << 20 // bytes of one case
	MaxCases = 100_000 // cases of one run
)

// Case is a labelled case: what one rule should mean for one subject.
type Case struct {
	// ID names the case, and is its own in a run.
	ID string
	// Set is the file that the case is from, without folder and ending.
	Set string
	// Hash is of all that the judge sees and of the verdict expected, so that two runs know whether they are about the same.
	Hash string

	Rule     *rule.Rule
	Input    subject.Input // what Subject is built from
	Subject  *subject.Subject
	Expected rule.Verdict
}

// row is a case in a file. Other fields are ignored, so that authors may add their own.
type row struct {
	ID        string         `json:"id"`
	Statement string         `json:"statement"`
	Rationale string         `json:"rationale"`
	Modality  string         `json:"modality"`
	Severity  string         `json:"severity"`
	Diff      string         `json:"diff"`
	Path      string         `json:"path"`
	Code      *string        `json:"code"`
	Facts     map[string]any `json:"facts"`
	Action    string         `json:"action"`
	Expected  string         `json:"expected"`
}

// Read reads cases as JSON Lines: id, statement, expected, and what is judged as diff, as path and code, as facts or as
// action; optionally rationale, modality (default MUST) and severity (default MEDIUM). Blank lines are passed over. set names
// the file in reports. The error is of code invalid and names the line.
func Read(set string, r io.Reader) ([]Case, error) {
	var cases []Case
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), MaxLine)
	n := 1
	for ; lines.Scan(); n++ {
		line := bytes.TrimSpace(lines.Bytes())
		if len(line) == 0 {
			continue
		}
		c, err := parseCase(set, line)
		if err != nil {
			return nil, rule.Errorf(rule.CodeInvalid, "%s, line %d: %w", set, n, err)
		}
		if cases = append(cases, c); len(cases) > MaxCases {
			return nil, rule.Errorf(rule.CodeInvalid, "%s has more than %d cases; divide it", set, MaxCases)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, rule.Errorf(rule.CodeInvalid, "%s, line %d: longer than %d bytes", set, n, MaxLine)
	} else if err != nil {
		return nil, err
	}
	return cases, nil
}

func parseCase(set string, line []byte) (Case, error) {
	var in row
	if err := json.Unmarshal(line, &in); err != nil {
		return Case{}, fmt.Errorf("no case in JSON: %w", err)
	}
	if in.ID == "" || strings.TrimSpace(in.Statement) == "" {
		return Case{}, errors.New("a case needs an id and a statement")
	}
	c := Case{ID: in.ID, Set: set}
	var ok bool
	if c.Expected, ok = rule.Parse(in.Expected, rule.Verdicts); !ok {
		return Case{}, fmt.Errorf("expected must be one of %s", rule.Names(rule.Verdicts))
	}
	r := &rule.Rule{
		ID: in.ID, ProjectID: rule.DefaultProject, Version: 1, Statement: strings.TrimSpace(in.Statement), Rationale: strings.TrimSpace(in.Rationale),
		Status: rule.Effective, Enforcement: rule.Enforce,
	}
	if r.Modality, ok = rule.Parse(cmp.Or(in.Modality, string(rule.Must)), []rule.Modality{rule.Must, rule.MustNot, rule.Should}); !ok {
		return Case{}, errors.New("modality must be MUST, MUST_NOT or SHOULD: other rules are not judged")
	}
	if r.Severity, ok = rule.Parse(cmp.Or(in.Severity, string(rule.Medium)), rule.Severities); !ok {
		return Case{}, fmt.Errorf("severity must be one of %s", rule.Names(rule.Severities))
	}
	c.Rule = r
	input := subject.Input{Diff: in.Diff, Facts: in.Facts, Action: in.Action}
	if in.Diff == "" && in.Code != nil {
		input.Files = []subject.InputFile{{Path: in.Path, Content: in.Code}}
	}
	var err error
	c.Input = input
	if c.Subject, err = subject.Build(input); err != nil {
		return Case{}, err
	}
	if c.Subject.Empty() {
		return Case{}, errors.New("there is nothing to judge: give diff, path and code, facts or action")
	}
	c.Hash, err = hash(r, input, c.Expected)
	return c, err
}

func hash(r *rule.Rule, input subject.Input, expected rule.Verdict) (string, error) {
	b, err := json.Marshal([]any{r.Statement, r.Rationale, r.Modality, r.Severity, input, expected})
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:8]), nil
}

// Sample returns n of the cases (all if n is 0 or too large), the same ones for the same cases: those whose ids have the smallest
// hashes, which spreads them over all files at random. It refuses cases that share an id.
func Sample(cases []Case, n int) ([]Case, error) {
	seen := make(map[string]string, len(cases))
	for i := range cases {
		if set, ok := seen[cases[i].ID]; ok {
			return nil, rule.Errorf(rule.CodeInvalid, "two cases have the id %q (in %s and %s); reports could not tell them apart", cases[i].ID, set, cases[i].Set)
		}
		seen[cases[i].ID] = cases[i].Set
	}
	if n <= 0 || n >= len(cases) {
		return cases, nil
	}
	return bySmallestHash(cases)[:n], nil
}

// Balanced is as [Sample], with as many cases that expect an ALLOW as others, as far as there are enough.
func Balanced(cases []Case, n int) ([]Case, error) {
	all, err := Sample(cases, 0)
	if err != nil {
		return nil, err
	}
	var allow, other []Case
	for _, c := range bySmallestHash(all) {
		if c.Expected == rule.Allow {
			allow = append(allow, c)
		} else {
			other = append(other, c)
		}
	}
	each := min(len(allow), len(other))
	if n > 0 {
		each = min(each, (n+1)/2)
	}
	var sample []Case
	for i := range each { // in turn, so that a run that is broken off is balanced, too
		sample = append(sample, allow[i], other[i])
	}
	return sample, nil
}

// bySmallestHash orders cases by the hashes of their ids.
func bySmallestHash(cases []Case) []Case {
	keys := make(map[string][sha256.Size]byte, len(cases))
	for i := range cases {
		keys[cases[i].ID] = sha256.Sum256([]byte(cases[i].ID))
	}
	sample := slices.Clone(cases)
	slices.SortFunc(sample, func(a, b Case) int {
		x, y := keys[a.ID], keys[b.ID]
		return bytes.Compare(x[:], y[:])
	})
	return sample
}
