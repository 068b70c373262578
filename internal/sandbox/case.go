package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"time"
	"unicode/utf8"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Types of a sample.
const (
	Code  = "code"  // a snippet or a diff
	Facts = "facts" // a JSON object of facts, or a scenario in plain words
)

// Origins of a test case.
const (
	Manual    = "manual"    // written by a person, or made from a recorded evaluation
	Generated = "generated" // written by a model
	Imported  = "import"
)

// Bounds of test cases.
const (
	MaxCases   = 1000    // of a rule
	MaxSamples = 4 << 20 // bytes of all samples of a rule: they are read, run and listed together
	MaxName    = 200     // characters
)

// caseOf is a stored case as callers see it. hash is that of what the rule says now.
func caseOf(c *store.TestCase, hash string) wire.Case {
	out := wire.Case{
		ID: c.ID, RuleID: c.RuleID, Name: c.Name, SampleInput: c.SampleInput, InputType: c.InputType, ExpectedVerdict: rule.Verdict(c.Expected),
		Origin: c.Origin, Confirmed: c.Confirmed, LastRunAt: c.LastRunAt, LastReasoning: c.LastReasoning,
		LastDecidedBy: c.LastDecidedBy, LastModel: c.LastModel, LastRuleVersion: c.LastVersion, CreatedAt: c.CreatedAt, CreatedBy: c.CreatedBy,
	}
	if c.LastResult != "" {
		out.LastResult = new(rule.Verdict(c.LastResult))
	}
	if c.LastRunAt != nil {
		passing := c.LastResult == c.Expected
		out.Passing, out.Stale = &passing, c.LastHash != hash
	}
	return out
}

// NewCase is a test case as its author writes it.
type NewCase struct {
	Name            string
	SampleInput     string
	InputType       string // Code if empty
	ExpectedVerdict rule.Verdict
	Origin          string // Manual if empty
}

// normalize fills in defaults and names every wrong field.
func (n *NewCase) normalize() error {
	var p rule.Problems
	n.Name = strings.TrimSpace(n.Name)
	switch {
	case n.Name == "":
		p.Add("name", "must not be empty")
	case utf8.RuneCountInString(n.Name) > MaxName:
		p.Add("name", "has %d characters; at most %d are allowed", utf8.RuneCountInString(n.Name), MaxName)
	case !utf8.ValidString(n.Name), strings.ContainsRune(n.Name, 0):
		p.Add("name", "must be valid UTF-8 without NUL characters")
	}
	if n.InputType == "" {
		n.InputType = Code
	}
	n.InputType = strings.ToLower(n.InputType)
	if n.InputType != Code && n.InputType != Facts {
		p.Add("input_type", "is %q; use code or facts", n.InputType)
	}
	expected, ok := rule.Parse(string(n.ExpectedVerdict), []rule.Verdict{rule.Allow, rule.Deny})
	if !ok {
		p.Add("expected_verdict", "is %q; use ALLOW or DENY", string(n.ExpectedVerdict))
	}
	n.ExpectedVerdict = expected
	if n.Origin == "" {
		n.Origin = Manual
	}
	n.checkSample(&p)
	return p.Err("the test case is invalid")
}

// checkSample notes a sample that could never be judged.
func (n *NewCase) checkSample(p *rule.Problems) {
	switch {
	case strings.TrimSpace(n.SampleInput) == "":
		p.Add("sample_input", "must not be empty")
		return
	case len(n.SampleInput) > MaxSample:
		p.Add("sample_input", "has %d bytes; at most %d are allowed", len(n.SampleInput), MaxSample)
		return
	case !utf8.ValidString(n.SampleInput), strings.ContainsRune(n.SampleInput, 0):
		p.Add("sample_input", "must be valid UTF-8 without NUL characters")
		return
	}
	s, err := ParseSample(n.SampleInput, n.InputType)
	if err == nil {
		var in subject.Input
		if in, err = s.input(&rule.Rule{}); err == nil {
			_, err = subject.Build(in)
		}
	}
	if err != nil {
		p.Add("sample_input", "%s", reason(err))
	}
}

// reason returns the fault, without the names of fields that the caller does not have.
func reason(err error) string {
	e, ok := err.(*rule.Error) //nolint:errorlint // the errors of samples are not wrapped
	if !ok || len(e.Fields) == 0 {
		return err.Error()
	}
	return e.Fields[0].Message
}

// ParseSample reads the text of a test case.
func ParseSample(text, inputType string) (Sample, error) {
	if inputType == Code {
		return Sample{Code: text}, nil
	}
	if !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return Sample{Facts: map[string]any{narrative: text}}, nil
	}
	var facts map[string]any
	if err := json.Unmarshal([]byte(text), &facts); err != nil {
		return Sample{}, rule.Errorf(rule.CodeInvalid, "begins like a JSON object of facts, but is not one: %s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return Sample{Facts: facts}, nil
}

// AddCase keeps a test case with a rule. The error is invalid and names the fields, not_found without the rule, or conflict
// if the rule has MaxCases already, or samples of MaxSamples.
func (b *Sandbox) AddCase(ctx context.Context, projectID, ref string, n NewCase) (wire.Case, error) {
	made, err := b.addCases(ctx, projectID, ref, []NewCase{n})
	if err != nil {
		return wire.Case{}, err
	}
	return made[0], nil
}

// addCases keeps test cases with a rule: all, or none.
func (b *Sandbox) addCases(ctx context.Context, projectID, ref string, list []NewCase) ([]wire.Case, error) {
	for i := range list {
		if err := list[i].normalize(); err != nil {
			return nil, err
		}
	}
	var made []wire.Case
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) error {
		r, err := tx.Rules.Get(ctx, projectID, ref)
		if err != nil {
			return err
		}
		have, err := tx.TestCases.List(ctx, projectID, r.ID)
		if err != nil {
			return err
		}
		size := 0
		for i := range have {
			size += len(have[i].SampleInput)
		}
		for i := range list {
			size += len(list[i].SampleInput)
		}
		if err := withinBounds(len(have)+len(list), size); err != nil {
			return err
		}
		made = make([]wire.Case, len(list))
		stored := make([]store.TestCase, len(list))
		for i, n := range list {
			stored[i] = store.TestCase{
				ProjectID: projectID, RuleID: r.ID, ID: audit.NewID(), Name: n.Name, SampleInput: n.SampleInput, InputType: n.InputType,
				Expected: string(n.ExpectedVerdict), Origin: n.Origin, Confirmed: n.Origin != Generated, CreatedAt: b.instant(),
				CreatedBy: auth.ActorFrom(ctx).Name,
			}
			made[i] = caseOf(&stored[i], "")
		}
		if err := tx.TestCases.Insert(ctx, stored); err != nil {
			return err
		}
		return note(ctx, tx, b.instant(), projectID, "created", made)
	})
	return made, err
}

// withinBounds refuses more test cases of a rule, or more bytes of their samples, than are kept.
func withinBounds(cases, size int) error {
	if cases > MaxCases {
		return rule.Errorf(rule.CodeConflict, "the rule would have %d test cases; at most %d are kept, so delete some first", cases, MaxCases)
	}
	if size > MaxSamples {
		return rule.Errorf(rule.CodeConflict, "the samples of the rule's test cases would have %d bytes; at most %d are kept, so shorten or delete some first", size, MaxSamples)
	}
	return nil
}

// instant is the current time as it is stored.
func (b *Sandbox) instant() time.Time { return rule.Instant(b.cfg.Now()) }

// note records a change of test cases: what a rule is held to is part of its history.
func note(ctx context.Context, tx store.Tx, at time.Time, projectID, action string, cases []wire.Case) error {
	return audit.Append(ctx, tx, projectID, audit.Record{
		Kind: audit.KindTestCase, At: at, Actor: auth.ActorFrom(ctx).Name, Body: audit.JSON(map[string]any{"action": action, "test_cases": cases}),
	})
}

// Cases returns the test cases of a rule, oldest first; not_found without the rule.
func (b *Sandbox) Cases(ctx context.Context, projectID, ref string) ([]wire.Case, error) {
	r, err := b.cfg.Store.Rules.Get(ctx, projectID, ref)
	if err != nil {
		return nil, err
	}
	stored, err := b.cfg.Store.TestCases.List(ctx, projectID, r.ID)
	if err != nil {
		return nil, err
	}
	hash := r.ContentHash()
	cases := make([]wire.Case, len(stored))
	for i := range stored {
		cases[i] = caseOf(&stored[i], hash)
	}
	return cases, nil
}

// DeleteCase removes a test case; not_found without the rule or the case.
func (b *Sandbox) DeleteCase(ctx context.Context, projectID, ref, id string) error {
	_, err := b.changeCase(ctx, projectID, ref, id, "deleted", store.TestCaseTx.Delete)
	return err
}

// ConfirmCase lets a person confirm a generated case; not_found without the rule or the case.
func (b *Sandbox) ConfirmCase(ctx context.Context, projectID, ref, id string) (wire.Case, error) {
	return b.changeCase(ctx, projectID, ref, id, "confirmed", store.TestCaseTx.Confirm)
}

func (b *Sandbox) changeCase(ctx context.Context, projectID, ref, id, action string,
	do func(tests store.TestCaseTx, ctx context.Context, projectID, ruleID, id string) (store.TestCase, error),
) (wire.Case, error) {
	var changed wire.Case
	err := b.cfg.Store.Update(ctx, func(tx store.Tx) error {
		r, err := tx.Rules.Get(ctx, projectID, ref)
		if err != nil {
			return err
		}
		stored, err := do(tx.TestCases, ctx, projectID, r.ID, strings.ToLower(id))
		if err != nil {
			return err
		}
		changed = caseOf(&stored, r.ContentHash())
		return note(ctx, tx, b.instant(), projectID, action, []wire.Case{changed})
	})
	return changed, err
}
