package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/audit"
	"tenet/internal/catalog"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// bank is a project that demands two people, with a rule B-1 in force that ann wrote and bob approved.
func bank(t *testing.T, c *catalog.Catalog, s store.Store) rule.Rule {
	t.Helper()
	ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
	if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Create(ann, "bank", catalog.ProjectInput{TwoPerson: new(true)}); err != nil {
		t.Fatal(err)
	}
	return enforced(t, c, ann, bob, wire.RuleInput{Slug: new("B-1"), Statement: "Pay on time.", Severity: rule.High})
}

// enforced makes a rule that one person writes and another approves and puts into force.
func enforced(t *testing.T, c *catalog.Catalog, author, approver context.Context, in wire.RuleInput) rule.Rule {
	t.Helper()
	r, err := c.Create(author, "bank", in)
	for _, to := range []rule.Status{rule.Review, rule.Approved, rule.Effective} {
		if err == nil {
			r, err = c.Transition(approver, "bank", r.ID, 0, to, "")
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func says(statement string) func(*rule.Rule) error {
	return func(r *rule.Rule) error { r.Statement = statement; return nil }
}

func waiting(t *testing.T, c *catalog.Catalog, ref string) []wire.RevisionDetail {
	t.Helper()
	list, _, err := catalog.NewRevisions(c, catalog.Reviewing{}).List(t.Context(), "bank", ref, rule.RevisionPending, rule.Page{Number: 1, Size: 50})
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// actions lists the actions in the audit chain of project bank that concern revisions.
func actions(t *testing.T, s store.Store) string {
	t.Helper()
	entries, err := s.Audit.Entries(t.Context(), "bank", 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	var list []string
	for _, e := range entries {
		var body struct{ Action, Name string }
		b, err := audit.Body(e)
		if err != nil || json.Unmarshal(b, &body) != nil {
			t.Fatal(err)
		}
		if action, ok := strings.CutPrefix(body.Action, "revision "); ok {
			list = append(list, action)
		}
	}
	return strings.Join(list, " ")
}

func TestARevisionOfARuleInForceWaitsForASecondPerson(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		inForce := bank(t, c, s)
		got, err := c.Revise(bob, "bank", "B-1", inForce.Version, rule.Permission{Reason: "sooner"}, says("Pay early."))
		if err != nil || got.Statement != "Pay on time." || got.Version != inForce.Version {
			t.Fatalf("the rule in force is %+v, %v", got, err)
		}
		p := got.Pending
		if p == nil || p.Number != 1 || p.Author != "bob" || p.Note != "sooner" || p.BaseVersion != inForce.Version || len(p.Changes) != 1 ||
			p.Changes[0].Field != "statement" || string(p.Changes[0].After) != `"Pay early."` || p.Severity != rule.High || p.At.IsZero() {
			t.Fatalf("pending: %+v", p)
		}
		if r, err := c.Get(t.Context(), "bank", "B-1"); err != nil || r.Statement != "Pay on time." {
			t.Errorf("evaluations read %q, %v", r.Statement, err)
		}
		if _, total, err := c.Versions(t.Context(), "bank", "B-1", rule.Page{Number: 1, Size: 9}); err != nil || total != inForce.Version {
			t.Errorf("%d versions, %v", total, err)
		}
		if list := waiting(t, c, "B-1"); len(list) != 1 || list[0].Rule.Statement != "Pay early." || list[0].Stale {
			t.Errorf("waiting: %+v", list)
		}

		_, err = catalog.NewRevisions(c, catalog.Reviewing{}).Approve(bob, "bank", "B-1", 1, "")
		code(t, err, rule.CodeConflict, "approval by its author")
		_, err = catalog.NewRevisions(c, catalog.Reviewing{}).Approve(ann, "bank", "B-1", 2, "")
		code(t, err, rule.CodeNotFound, "another number")
		approved, err := catalog.NewRevisions(c, catalog.Reviewing{}).Approve(ann, "bank", "B-1", 1, "fine")
		if err != nil || approved.Statement != "Pay early." || approved.Version != inForce.Version+1 || approved.Status != rule.Effective ||
			approved.AuthoredBy != "bob" || approved.UpdatedBy != "ann" || approved.ChangeNote != "sooner" {
			t.Fatalf("approved: %+v, %v", approved, err)
		}
		if r, err := c.Get(t.Context(), "bank", "B-1"); err != nil || r.Statement != "Pay early." {
			t.Errorf("in force: %q, %v", r.Statement, err)
		}
		_, err = catalog.NewRevisions(c, catalog.Reviewing{}).Approve(ann, "bank", "B-1", 1, "")
		code(t, err, rule.CodeConflict, "approving again")
		list, _, err := catalog.NewRevisions(c, catalog.Reviewing{}).List(t.Context(), "bank", "", "", rule.Page{Number: 1, Size: 9})
		if err != nil || len(list) != 1 || list[0].State != rule.RevisionApproved || list[0].DecidedBy != "ann" || list[0].Decision != "fine" || list[0].Version != approved.Version {
			t.Errorf("decided: %+v, %v", list, err)
		}
		if got := actions(t, s); got != "proposed approved" {
			t.Errorf("audit chain: %s", got)
		}
	})
}

func TestRevisionsAreRejectedWithdrawnReplacedAndDropped(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		bank(t, c, s)
		propose := func(who context.Context, words string) int {
			t.Helper()
			r, err := c.Revise(who, "bank", "B-1", 0, rule.Permission{}, says(words))
			if err != nil {
				t.Fatal(err)
			}
			return r.Pending.Number
		}
		first := propose(ann, "One.")
		if again := propose(ann, "One."); again != first {
			t.Errorf("the same proposal again is number %d, not %d", again, first)
		}
		second, other := propose(ann, "Two."), propose(bob, "Three.")
		if list := waiting(t, c, "B-1"); len(list) != 2 || list[0].Number != second || list[1].Number != other {
			t.Errorf("one revision waits per author: %+v", list)
		}
		_, err := catalog.NewRevisions(c, catalog.Reviewing{}).Reject(bob, "bank", "B-1", second, " ")
		code(t, err, rule.CodeInvalid, "rejecting without a word")
		_, err = catalog.NewRevisions(c, catalog.Reviewing{}).Reject(ann, "bank", "B-1", second, "no")
		code(t, err, rule.CodeConflict, "rejecting one's own")
		_, err = catalog.NewRevisions(c, catalog.Reviewing{}).Withdraw(bob, "bank", "B-1", second, "")
		code(t, err, rule.CodeConflict, "withdrawing somebody else's")
		if r, err := catalog.NewRevisions(c, catalog.Reviewing{}).Reject(bob, "bank", "B-1", second, "no"); err != nil || r.State != rule.RevisionRejected || r.Decision != "no" {
			t.Errorf("rejected: %+v, %v", r, err)
		}
		if r, err := catalog.NewRevisions(c, catalog.Reviewing{}).Withdraw(bob, "bank", "B-1", other, ""); err != nil || r.State != rule.RevisionWithdrawn {
			t.Errorf("withdrawn: %+v, %v", r, err)
		}
		last := propose(bob, "Four.")
		if err := c.Retire(ann, "bank", "B-1", 0); err != nil {
			t.Fatal(err)
		}
		if got := waiting(t, c, ""); len(got) != 0 {
			t.Errorf("a retired rule has revisions that wait: %+v", got)
		}
		_, err = catalog.NewRevisions(c, catalog.Reviewing{}).Approve(ann, "bank", newest(t, c), last, "")
		code(t, err, rule.CodeConflict, "approving what was dropped")
		if got := actions(t, s); got != "proposed replaced proposed proposed rejected withdrawn proposed dropped" {
			t.Errorf("audit chain: %s", got)
		}
	})
}

// newest returns the id of the rule of the newest revision: a retired rule has no slug any more.
func newest(t *testing.T, c *catalog.Catalog) string {
	t.Helper()
	list, _, err := catalog.NewRevisions(c, catalog.Reviewing{}).List(t.Context(), "bank", "", "", rule.Page{Number: 1, Size: 50})
	if err != nil {
		t.Fatal(err)
	}
	return list[len(list)-1].RuleID
}

func TestAStaleRevisionIsRefused(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		bank(t, c, s)
		for who, words := range map[context.Context]string{ann: "Ann.", bob: "Bob."} {
			if _, err := c.Revise(who, "bank", "B-1", 0, rule.Permission{}, says(words)); err != nil {
				t.Fatal(err)
			}
		}
		list := waiting(t, c, "B-1")
		author := map[string]context.Context{"ann": ann, "bob": bob}
		other := map[string]context.Context{"ann": bob, "bob": ann}
		if _, err := catalog.NewRevisions(c, catalog.Reviewing{}).Approve(other[list[0].Author], "bank", "B-1", list[0].Number, ""); err != nil {
			t.Fatal(err)
		}
		if now := waiting(t, c, "B-1"); len(now) != 1 || !now[0].Stale {
			t.Errorf("the other is not stale: %+v", now)
		}
		_, err := catalog.NewRevisions(c, catalog.Reviewing{}).Approve(other[list[1].Author], "bank", "B-1", list[1].Number, "")
		code(t, err, rule.CodeConflict, "approving a stale revision")
		if err == nil || !strings.Contains(err.Error(), "rebase") {
			t.Errorf("no word of what to do: %v", err)
		}
		// The author proposes it again, on the version in force.
		again, err := c.Revise(author[list[1].Author], "bank", "B-1", 0, rule.Permission{}, says(list[1].Rule.Statement))
		if err != nil || again.Pending.Number != 3 {
			t.Fatalf("%+v, %v", again.Pending, err)
		}
		if _, err := catalog.NewRevisions(c, catalog.Reviewing{}).Approve(other[list[1].Author], "bank", "B-1", 3, ""); err != nil {
			t.Error(err)
		}
	})
}

func TestARevisionThatDemandsLessSaysWhy(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		bob := as(t.Context(), "bob")
		bank(t, c, s)
		milder := func(r *rule.Rule) error { r.Severity, r.Scope = rule.Low, []string{"eu"}; return nil }
		_, err := c.Revise(bob, "bank", "B-1", 0, rule.Permission{}, milder)
		if got := fields(err); got != "change_note" {
			t.Errorf("without a reason: %q, %v", got, err)
		}
		r, err := c.Revise(bob, "bank", "B-1", 0, rule.Permission{Reason: "the law has changed"}, milder)
		if err != nil || len(r.Pending.Weakens) != 2 || r.Pending.Severity != rule.High {
			t.Errorf("%+v, %v", r.Pending, err)
		}
	})
}

// A rule in force that the weakening guard protects demands less only if its reviewer means it; every other change needs no permission.
func TestARuleInForceDemandsLessOnlyIfThatIsMeant(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ann := as(t.Context(), "ann")
		for i, tt := range []struct {
			name       string
			severity   rule.Severity
			status     rule.Status
			permission rule.Permission
			edit       func(r *rule.Rule)
			code       rule.Code
		}{
			{"lower severity", rule.Critical, rule.Effective, rule.Permission{}, func(r *rule.Rule) { r.Severity = rule.High }, rule.CodeConflict},
			{"with a reason alone", rule.High, rule.Effective, rule.Permission{Reason: "because"}, func(r *rule.Rule) { r.Modality = rule.Should }, rule.CodeConflict},
			{"with permission alone", rule.High, rule.Approved, rule.Permission{AllowWeakening: true}, func(r *rule.Rule) { r.Enforcement = rule.Shadow }, rule.CodeInvalid},
			{"with both", rule.High, rule.Effective, rule.Permission{AllowWeakening: true, Reason: "because"}, func(r *rule.Rule) { r.Scope = []string{"eu"} }, ""},
			{"a draft", rule.High, rule.Draft, rule.Permission{}, func(r *rule.Rule) { r.Severity = rule.Low }, ""},
			{"one that is not guarded", rule.Medium, rule.Effective, rule.Permission{}, func(r *rule.Rule) { r.Severity = rule.Low }, ""},
			{"demanding more", rule.High, rule.Effective, rule.Permission{}, func(r *rule.Rule) { r.Severity = rule.Critical }, ""},
			{"other words", rule.Critical, rule.Effective, rule.Permission{}, func(r *rule.Rule) { r.Statement = "Pay in time." }, ""},
		} {
			made, err := c.Create(ann, "default", wire.RuleInput{Statement: fmt.Sprintf("Pay %d times.", i), Severity: tt.severity, Status: tt.status})
			if err != nil {
				t.Fatal(err)
			}
			got, err := c.Revise(ann, "default", made.ID, 0, tt.permission, func(r *rule.Rule) error { tt.edit(r); return nil })
			switch {
			case rule.CodeOf(err) != tt.code:
				t.Errorf("%s: %v, want %q", tt.name, err, tt.code)
			case err == nil && (got.Version != 2 || got.ChangeNote != tt.permission.Reason):
				t.Errorf("%s: version %d with the note %q", tt.name, got.Version, got.ChangeNote)
			}
		}
	})
}

// A change of a label is no change of what verdicts depend on.
func TestALabelChangesAtOnce(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		before := bank(t, c, s)
		owned := func(r *rule.Rule) error { r.Owner = "treasury"; return nil }
		if r, err := c.Revise(as(t.Context(), "bob"), "bank", "B-1", 0, rule.Permission{}, owned); err != nil || r.Pending != nil || r.Owner != "treasury" || r.Version != before.Version+1 {
			t.Errorf("%+v, %v", r, err)
		}
	})
}

func TestAnImportProposes(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		bank(t, c, s)
		enforced(t, c, ann, bob, wire.RuleInput{Slug: new("B-2"), Statement: "Count twice.", Severity: rule.High})
		file := &wire.RuleFile{Rules: []wire.RuleInput{
			{Slug: new("B-1"), Statement: "Pay early.", ChangeNote: "sooner"},
			{Slug: new("B-2"), Statement: "Count twice.", Relationships: []wire.RelationshipInput{{Kind: rule.Refines, To: "B-3", Reason: "it says how"}}},
			{Slug: new("B-3"), Statement: "Count."},
		}}
		plan, err := c.Import(bob, "bank", file, catalog.ImportOptions{DryRun: true})
		if err != nil || plan.Proposed != 2 || plan.Created != 1 || plan.Updated != 0 || len(waiting(t, c, "")) != 0 {
			t.Fatalf("plan: %+v, %v", plan, err)
		}
		done, err := c.Import(bob, "bank", file, catalog.ImportOptions{})
		if err != nil || done.Proposed != 2 || done.Created != 1 || done.Unchanged != 0 || len(done.Changes) != 3 ||
			done.Changes[1].Action != "propose" || done.Changes[1].Slug != "B-1" || done.Changes[1].Revision != 1 {
			t.Fatalf("import: %+v, %v", done, err)
		}
		if r, _ := c.Get(t.Context(), "bank", "B-1"); r.Statement != "Pay on time." {
			t.Errorf("the import changed the rule in force: %q", r.Statement)
		}
		if rels, _ := c.Relationships(t.Context(), "bank", "B-2"); len(rels) != 0 {
			t.Errorf("the import related the rule in force: %+v", rels)
		}
		again, err := c.Import(bob, "bank", file, catalog.ImportOptions{Prune: true})
		if err != nil || again.Proposed != 0 || len(again.Changes) != 0 || len(again.Waiting) != 2 || len(waiting(t, c, "")) != 2 {
			t.Errorf("import again: %+v, %v", again, err)
		}
		for _, slug := range []string{"B-1", "B-2"} {
			if _, err := catalog.NewRevisions(c, catalog.Reviewing{}).Approve(ann, "bank", slug, 1, ""); err != nil {
				t.Error(err)
			}
		}
		if r, _ := c.Get(t.Context(), "bank", "B-1"); r.Statement != "Pay early." {
			t.Errorf("approved: %q", r.Statement)
		}
		if rels, _ := c.Relationships(t.Context(), "bank", "B-2"); len(rels) != 1 || rels[0].Kind != rule.Refines {
			t.Errorf("approved: %+v", rels)
		}
		if last, err := c.Import(bob, "bank", file, catalog.ImportOptions{Prune: true}); err != nil || len(last.Changes)+len(last.Waiting) != 0 || last.Unchanged != 3 {
			t.Errorf("the file is applied, but: %+v, %v", last, err)
		}
		// What a file no longer names is retired, and what waits for it is dropped.
		if _, err := c.Revise(bob, "bank", "B-1", 0, rule.Permission{}, says("Pay now.")); err != nil {
			t.Fatal(err)
		}
		file.Rules = file.Rules[1:]
		if last, err := c.Import(bob, "bank", file, catalog.ImportOptions{Prune: true}); err != nil || last.Retired != 1 || len(waiting(t, c, "")) != 0 {
			t.Errorf("pruned: %+v, %v", last, err)
		}
	})
}

// A wrong relationship of a rule in force is refused when it is proposed.
func TestAProposedRelationshipIsChecked(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		bank(t, c, s)
		file := &wire.RuleFile{Rules: []wire.RuleInput{{Slug: new("B-1"), Relationships: []wire.RelationshipInput{{Kind: rule.Refines, To: "B-9"}}}}}
		_, err := c.Import(as(t.Context(), "bob"), "bank", file, catalog.ImportOptions{})
		if got := fields(err); got != "rules[0].relationships[0].to" {
			t.Errorf("%q, %v", got, err)
		}
	})
}

type tester struct{ total, passing int }

func (x *tester) TryConfirmed(context.Context, rule.Rule) (int, int, error) {
	return x.total, x.passing, nil
}

func TestTestsRunBeforeAnApproval(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		bank(t, c, s)
		if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Update(ann, "bank", catalog.ProjectInput{TestsRequired: new(true)}); err != nil {
			t.Fatal(err)
		}
		if _, err := c.Revise(bob, "bank", "B-1", 0, rule.Permission{}, says("Pay early.")); err != nil {
			t.Fatal(err)
		}
		cases := &tester{total: 2, passing: 1}
		revisions := catalog.NewRevisions(c, catalog.Reviewing{Tester: cases})
		_, err := revisions.Approve(ann, "bank", "B-1", 1, "")
		code(t, err, rule.CodeConflict, "one of two test cases fails")
		cases.total, cases.passing = 0, 0
		_, err = revisions.Approve(ann, "bank", "B-1", 1, "")
		code(t, err, rule.CodeConflict, "no test cases")
		cases.total, cases.passing = 2, 2
		if _, err := revisions.Approve(ann, "bank", "B-1", 1, ""); err != nil {
			t.Error(err)
		}
	})
}

func TestARevisionShowsContradictionsAndLint(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		bank(t, c, s)
		enforced(t, c, ann, bob, wire.RuleInput{Slug: new("B-2"), Statement: "Invoices are paid late."})
		revisions := catalog.NewRevisions(c, catalog.Reviewing{Contradicts: func(a, b rule.Rule) (string, float64, bool) {
			return "early is not late", 1, strings.Contains(a.Statement, "early") && strings.Contains(b.Statement, "late")
		}})
		r, err := c.Revise(bob, "bank", "B-1", 0, rule.Permission{}, says("Invoices are appropriately paid early, if possible, etc."))
		if err != nil {
			t.Fatal(err)
		}
		list, _, err := revisions.List(t.Context(), "bank", "B-1", "", rule.Page{Number: 1, Size: 1})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range []*rule.Revision{r.Pending, &list[0].Revision} {
			if len(p.Conflicts) != 1 || p.Conflicts[0].Slug != "B-2" || p.Conflicts[0].Reason != "early is not late" {
				t.Errorf("conflicts: %+v", p.Conflicts)
			}
			if len(p.Findings) == 0 {
				t.Error("no lint")
			}
		}
	})
}

func TestRaceToDecideOnARevision(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		bank(t, c, s)
		if _, err := c.Revise(as(t.Context(), "ann"), "bank", "B-1", 0, rule.Permission{}, says("Pay early.")); err != nil {
			t.Fatal(err)
		}
		revisions := catalog.NewRevisions(c, catalog.Reviewing{})
		var running sync.WaitGroup
		var won, lost atomic.Int32
		for i := range 8 {
			running.Go(func() {
				var err error
				if i%2 == 0 {
					_, err = revisions.Approve(as(t.Context(), "bob"), "bank", "B-1", 1, "")
				} else {
					_, err = revisions.Reject(as(t.Context(), "cy"), "bank", "B-1", 1, "no")
				}
				switch rule.CodeOf(err) {
				case "":
					won.Add(1)
				case rule.CodeConflict:
					lost.Add(1)
				default:
					t.Error(err)
				}
			})
		}
		running.Wait()
		if won.Load() != 1 || lost.Load() != 7 {
			t.Errorf("%d decisions stand, %d were refused", won.Load(), lost.Load())
		}
	})
}
