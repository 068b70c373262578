package sandbox

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// CaseFiles keeps the test cases of rule files with their rules.
type CaseFiles struct{ Now func() time.Time }

// Import makes the imported test cases of each rule that cases name those of the file, and leaves alone what people and models
// have written, and the rules that have no case in the file. It is part of the caller's transaction. The error is invalid, and
// names the fields, or conflict if a rule would have too many cases.
func (f CaseFiles) Import(ctx context.Context, tx store.Tx, projectID string, cases []rule.FileCase) (rule.CaseChanges, error) {
	im := &caseImport{tx: tx, projectID: projectID, at: rule.Instant(f.Now()), by: auth.ActorFrom(ctx).Name}
	existing, err := rulesOf(ctx, tx, projectID, cases)
	if err != nil {
		return im.changes, err
	}
	sorted, err := sortCases(cases, existing)
	if err != nil {
		return im.changes, err
	}
	im.changes.FileOnly = sorted.fileOnly
	for _, id := range sorted.order {
		if err := im.replace(ctx, id, sorted.byRule[id]); err != nil {
			return im.changes, err
		}
	}
	return im.changes, im.finish(ctx)
}

// Check returns the invalid error that Import would return for cases if the project also had the planned rules, or nil.
func (CaseFiles) Check(ctx context.Context, tx store.Tx, projectID string, cases []rule.FileCase, planned []rule.Rule) error {
	rules, err := rulesOf(ctx, tx, projectID, cases)
	if err != nil {
		return err
	}
	for i := range planned {
		r := &planned[i]
		rules[r.ID] = *r
		if r.Slug != "" {
			rules[r.Slug] = *r
		}
	}
	_, err = sortCases(cases, rules)
	return err
}

// rulesOf returns the stored rules that cases name, by the name that they use.
func rulesOf(ctx context.Context, tx store.Tx, projectID string, cases []rule.FileCase) (map[string]rule.Rule, error) {
	refs := make([]string, len(cases))
	for i := range cases {
		refs[i] = cases[i].Rule
	}
	return tx.Rules.GetMany(ctx, projectID, refs)
}

// sortedCases are the cases of a file by the id of their rule.
type sortedCases struct {
	order    []string // of the rules in the file
	byRule   map[string][]NewCase
	fileOnly int // cases that run from files only
}

// sortCases returns the cases of a file by rule. The error is invalid and names the fields.
func sortCases(cases []rule.FileCase, rules map[string]rule.Rule) (sortedCases, error) {
	sorted := sortedCases{byRule: map[string][]NewCase{}}
	var p rule.Problems
	for i := range cases {
		c := &cases[i]
		r, ok := rules[c.Rule]
		if !ok {
			p.Add(fmt.Sprintf("cases[%d].rule", i), "is %q, which is no rule of the project or the file", c.Rule)
			continue
		}
		n, count, err := fromFile(c, &r)
		if err != nil {
			p.AddAll(fmt.Sprintf("cases[%d]", i), err)
			continue
		}
		if _, ok := sorted.byRule[r.ID]; !ok {
			sorted.order = append(sorted.order, r.ID)
			sorted.byRule[r.ID] = nil
		}
		if !count {
			sorted.fileOnly++
			continue
		}
		sorted.byRule[r.ID] = append(sorted.byRule[r.ID], n)
	}
	return sorted, p.Err("the rule file is invalid; nothing was imported")
}

// fromFile makes a case of one in a file; storable is false for a case that the store cannot express.
func fromFile(c *rule.FileCase, r *rule.Rule) (n NewCase, storable bool, err error) {
	var p rule.Problems
	if parts := countTrue(len(c.Files) > 0, c.Diff != "", c.Facts != nil, c.Action != ""); parts != 1 {
		p.Add("files", "a case has either files, a diff, facts or an action; this one has %d of them", parts)
		return n, false, p.Err("the test case is invalid")
	}
	expect, ok := rule.Parse(string(c.Expect), rule.Verdicts)
	if !ok {
		p.Add("expect", "is %q; use one of %s", string(c.Expect), rule.Names(rule.Verdicts))
		return n, false, p.Err("the test case is invalid")
	}
	n = NewCase{Name: c.Name, SampleInput: c.Diff, InputType: Code, ExpectedVerdict: expect, Origin: Imported}
	for _, f := range c.Files {
		n.SampleInput += AddedDiff(f.Path, f.Content)
	}
	switch {
	case c.Facts != nil:
		text, err := json.Marshal(c.Facts)
		if err != nil {
			return n, false, rule.Errorf(rule.CodeInvalid, "the facts cannot be written as JSON: %w", err)
		}
		n.SampleInput, n.InputType = string(text), Facts
	case c.Action != "":
		text, err := json.Marshal(map[string]string{narrative: c.Action})
		if err != nil {
			return n, false, rule.Errorf(rule.CodeInvalid, "the action cannot be written as JSON: %w", err)
		}
		n.SampleInput, n.InputType = string(text), Facts
	}
	if expect == rule.NeedsConfirmation {
		if rule.Settle(rule.Deny, r.Modality, r.Enforcement) != rule.NeedsConfirmation {
			return n, false, nil
		}
		n.ExpectedVerdict = rule.Deny // of the sample; what that leads to is the modality's business
	}
	return n, true, fileFields(n.normalize())
}

func countTrue(list ...bool) int {
	n := 0
	for _, yes := range list {
		if yes {
			n++
		}
	}
	return n
}

// fileFields gives the field errors of a test case the names that its parts have in a file.
func fileFields(err error) error {
	e, ok := err.(*rule.Error) //nolint:errorlint // the errors of test cases are not wrapped
	if !ok {
		return err
	}
	for i := range e.Fields {
		switch e.Fields[i].Field {
		case "sample_input":
			e.Fields[i].Field = "files"
		case "expected_verdict":
			e.Fields[i].Field = "expect"
		}
	}
	return e
}

// caseImport is one import of test cases.
type caseImport struct {
	tx        store.Tx
	projectID string
	at        time.Time
	by        string
	changes   rule.CaseChanges
	added     []caseNote
	removed   []caseNote
}

// caseNote is a case in the record of an import: the sample itself is in the file.
type caseNote struct {
	RuleID   string `json:"rule_id"`
	ID       string `json:"id"`
	Name     string `json:"name"`
	Expected string `json:"expected_verdict"`
	Sample   string `json:"sample_sha256"`
}

func caseNoteOf(c *store.TestCase) caseNote {
	sum := sha256.Sum256([]byte(c.SampleInput))
	return caseNote{c.RuleID, c.ID, c.Name, c.Expected, hex.EncodeToString(sum[:])}
}

// replace makes the imported cases of a rule those that are wanted.
func (im *caseImport) replace(ctx context.Context, ruleID string, newCases []NewCase) error {
	have, err := im.tx.TestCases.List(ctx, im.projectID, ruleID)
	if err != nil {
		return err
	}
	type key struct{ name, sample, inputType, expected string }
	existing := map[key][]*store.TestCase{}
	count, size := 0, 0
	for i := range have {
		c := &have[i]
		if c.Origin != Imported {
			count, size = count+1, size+len(c.SampleInput)
			continue
		}
		k := key{c.Name, c.SampleInput, c.InputType, c.Expected}
		existing[k] = append(existing[k], c)
	}
	var fresh []store.TestCase
	for _, n := range newCases {
		count, size = count+1, size+len(n.SampleInput)
		k := key{n.Name, n.SampleInput, n.InputType, string(n.ExpectedVerdict)}
		if same := existing[k]; len(same) > 0 {
			existing[k] = same[1:]
			im.changes.Unchanged++
			continue
		}
		fresh = append(fresh, store.TestCase{
			ProjectID: im.projectID, RuleID: ruleID, ID: audit.NewID(), Name: n.Name, SampleInput: n.SampleInput, InputType: n.InputType,
			Expected: string(n.ExpectedVerdict), Origin: Imported, Confirmed: true, CreatedAt: im.at, CreatedBy: im.by,
		})
	}
	if err := withinBounds(count, size); err != nil {
		return err
	}
	for i := range have {
		c := &have[i]
		k := key{c.Name, c.SampleInput, c.InputType, c.Expected}
		if c.Origin != Imported || len(existing[k]) == 0 {
			continue
		}
		existing[k] = existing[k][1:]
		if _, err := im.tx.TestCases.Delete(ctx, im.projectID, ruleID, c.ID); err != nil {
			return err
		}
		im.removed = append(im.removed, caseNoteOf(c))
	}
	for i := range fresh {
		im.added = append(im.added, caseNoteOf(&fresh[i]))
	}
	return im.tx.TestCases.Insert(ctx, fresh)
}

// finish counts and records what has changed.
func (im *caseImport) finish(ctx context.Context) error {
	im.changes.Added, im.changes.Removed = len(im.added), len(im.removed)
	if im.changes.Added+im.changes.Removed == 0 {
		return nil
	}
	return audit.Append(ctx, im.tx, im.projectID, audit.Record{
		Kind: audit.KindTestCase, At: im.at, Actor: im.by,
		Body: audit.JSON(map[string]any{"action": "imported", "added": im.added, "removed": im.removed}),
	})
}
