package catalog_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
	"tenet/internal/wire"
)

// each runs a test on both databases.
func each(t *testing.T, test func(t *testing.T, c *catalog.Catalog, s store.Store)) {
	t.Helper()
	open := map[string]func(t *testing.T) (store.Store, error){
		"SQLite": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenSQLite(t.Context(), litetest.Dir(t), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
		},
		"PostgreSQL": func(t *testing.T) (store.Store, error) {
			return sqlstore.OpenPostgres(t.Context(), pgtest.DSN(t), sqlstore.Options{Logger: slog.New(slog.DiscardHandler)})
		},
	}
	for name, open := range open {
		t.Run(name, func(t *testing.T) {
			s, err := open(t)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Error(err)
				}
			})
			quiet := slog.New(slog.DiscardHandler)
			live := corpus.NewLive(corpus.Config{Store: corpus.Store{Projects: s.Projects, Federation: s.Federation, Embeddings: s.Embeddings, Waivers: s.Waivers}, Logger: slog.New(slog.DiscardHandler)})
			c := catalog.New(catalog.Store{Updater: s, Projects: s.Projects, Rules: s.Rules, Revisions: s.Revisions}, live, change.New(s, live, nil, quiet, time.Now), nil, nil, time.Now)
			if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Create(t.Context(), "default", catalog.ProjectInput{}); err != nil {
				t.Fatal(err)
			}
			test(t, c, s)
		})
	}
}

func as(ctx context.Context, name string) context.Context {
	return auth.WithActor(ctx, auth.Local(name))
}

func code(t *testing.T, err error, want rule.Code, about string) {
	t.Helper()
	if got := rule.CodeOf(err); got != want {
		t.Errorf("%s: error %v of code %q, want %q", about, err, got, want)
	}
}

//go:fix inline

func TestEveryChangeMakesAVersion(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ctx := as(t.Context(), "ann")
		r, err := c.Create(ctx, "default", wire.RuleInput{Slug: new("A-1"), Statement: "Say please.", Severity: "high"})
		if err != nil {
			t.Fatal(err)
		}
		if r.Version != 1 || r.Status != rule.Draft || r.Severity != rule.High || r.CreatedBy != "ann" {
			t.Errorf("created %+v", r)
		}
		r, err = c.Revise(as(ctx, "bob"), "default", "A-1", 1, rule.Permission{Reason: "clearer"}, func(r *rule.Rule) error { r.Statement = "Always say please."; return nil })
		if err != nil {
			t.Fatal(err)
		}
		if r.Version != 2 || r.UpdatedBy != "bob" || r.AuthoredBy != "bob" || r.CreatedBy != "ann" || r.ChangeNote != "clearer" {
			t.Errorf("revised %+v", r)
		}
		if r, err = c.Transition(ctx, "default", "A-1", 0, "review", "ready"); err != nil || r.Version != 3 || r.Status != rule.Review {
			t.Errorf("moved: %+v, %v", r, err)
		}
		same, err := c.Revise(ctx, "default", "A-1", 0, rule.Permission{Reason: "nothing"}, func(*rule.Rule) error { return nil })
		if err != nil || same.Version != 3 {
			t.Errorf("an edit that changes nothing: version %d, %v; want 3", same.Version, err)
		}
		versions, total, err := c.Versions(ctx, "default", "A-1", rule.Page{Number: 1, Size: 10})
		if err != nil || total != 3 || versions[0].Version != 3 || versions[2].Statement != "Say please." {
			t.Errorf("versions: %d of %d, %v", len(versions), total, err)
		}
		old, err := c.Version(ctx, "default", "A-1", 1)
		if err != nil || old.Statement != "Say please." {
			t.Errorf("version 1: %q, %v", old.Statement, err)
		}
		report, err := audit.Verify(ctx, s.Audit, "default", wire.AuditHead{})
		if err != nil || !report.OK() || report.Entries != 4 {
			t.Errorf("audit: %+v, %v; want 4 entries (project, created, revised, moved)", report, err)
		}
	})
}

func TestStaleChangesAreRefused(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		r, err := c.Create(ctx, "default", wire.RuleInput{Statement: "One."})
		if err != nil {
			t.Fatal(err)
		}
		var won atomic.Int32
		var wg sync.WaitGroup
		for i := range 16 {
			wg.Go(func() {
				_, err := c.Revise(ctx, "default", r.ID, 1, rule.Permission{}, func(r *rule.Rule) error {
					r.Statement = fmt.Sprintf("Statement %d.", i)
					return nil
				})
				if err == nil {
					won.Add(1)
				} else if rule.CodeOf(err) != rule.CodePrecondition {
					t.Errorf("a loser got %v, want precondition_failed", err)
				}
			})
		}
		wg.Wait()
		if won.Load() != 1 {
			t.Errorf("%d of 16 changes based on version 1 won, want 1", won.Load())
		}
	})
}

func TestLifeCycleIsKept(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		r, err := c.Create(ctx, "default", wire.RuleInput{Slug: new("A-1"), Statement: "One."})
		if err != nil {
			t.Fatal(err)
		}
		_, err = c.Transition(ctx, "default", r.ID, 0, rule.Effective, "")
		code(t, err, rule.CodeConflict, "DRAFT to EFFECTIVE")
		_, err = c.Transition(ctx, "default", r.ID, 0, "LIVE", "")
		code(t, err, rule.CodeInvalid, "an unknown status")
		if err := c.Retire(ctx, "default", "A-1", 0); err != nil {
			t.Fatal(err)
		}
		code(t, c.Retire(ctx, "default", r.ID, 0), rule.CodeConflict, "retiring twice")
		_, err = c.Get(ctx, "default", "A-1")
		code(t, err, rule.CodeNotFound, "a retired rule by its slug")
		if got, err := c.Get(ctx, "default", r.ID); err != nil || got.Status != rule.Retired {
			t.Errorf("a retired rule by its id: %s, %v", got.Status, err)
		}
		if _, err := c.Create(ctx, "default", wire.RuleInput{Slug: new("A-1"), Statement: "Another."}); err != nil {
			t.Errorf("the slug of a retired rule is not free: %v", err)
		}
		_, err = c.Create(ctx, "default", wire.RuleInput{Slug: new("A-1"), Statement: "A third."})
		code(t, err, rule.CodeConflict, "a taken slug")
		_, err = c.Revise(ctx, "default", r.ID, 0, rule.Permission{}, func(r *rule.Rule) error { r.Statement = "x"; return nil })
		code(t, err, rule.CodeConflict, "revising a retired rule")
		_, err = c.Create(ctx, "nowhere", wire.RuleInput{Statement: "One."})
		code(t, err, rule.CodeNotFound, "an unknown project")
	})
}

func TestTwoPersonApproval(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ann, bob := as(t.Context(), "ann"), as(t.Context(), "bob")
		yes := true
		if _, err := catalog.NewProjects(s, s.Projects, nil, time.Now).Create(ann, "bank", catalog.ProjectInput{TwoPerson: &yes}); err != nil {
			t.Fatal(err)
		}
		_, err := c.Create(ann, "bank", wire.RuleInput{Statement: "One.", Status: rule.Effective})
		code(t, err, rule.CodeConflict, "creating an EFFECTIVE rule")
		_, err = c.Import(ann, "bank", &wire.RuleFile{Rules: []wire.RuleInput{{Statement: "One.", Status: rule.Approved}}}, catalog.ImportOptions{})
		code(t, err, rule.CodeInvalid, "importing an APPROVED rule")
		r, err := c.Create(ann, "bank", wire.RuleInput{Statement: "One."})
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Transition(bob, "bank", r.ID, 0, rule.Review, ""); err != nil {
			t.Fatal(err)
		}
		_, err = c.Transition(ann, "bank", r.ID, 0, rule.Approved, "")
		code(t, err, rule.CodeConflict, "approval by the author")
		if _, err = c.Transition(bob, "bank", r.ID, 0, rule.Approved, ""); err != nil {
			t.Errorf("approval by another: %v", err)
		}
		// Nor may one person alone let the approved rule silence another.
		if _, err := c.Create(ann, "bank", wire.RuleInput{Slug: new("B-1"), Statement: "Other."}); err != nil {
			t.Fatal(err)
		}
		_, err = c.Relate(bob, "bank", r.ID, wire.RelationshipInput{Kind: rule.Overrides, To: "B-1"})
		code(t, err, rule.CodeConflict, "relating an approved rule")
		rel, err := c.Relate(bob, "bank", "B-1", wire.RelationshipInput{Kind: rule.Refines, To: r.ID})
		if err != nil {
			t.Errorf("relating a draft: %v", err)
		}
		if err := c.Unrelate(bob, "bank", r.ID, rel.ID); err != nil {
			t.Errorf("removing a draft's relationship from its other end: %v", err)
		}
	})
}

func TestCreateNamesEveryWrongField(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		_, err := c.Create(as(t.Context(), "ann"), "default", wire.RuleInput{
			Statement: "x", AppliesTo: &rule.AppliesTo{Paths: []string{"[a"}, Kinds: []string{"Code_Change"}},
		})
		if got := fields(err); got != "applies_to.paths[0] applies_to.kinds[0]" {
			t.Errorf("wrong fields: %q (%v)", got, err)
		}
		_, err = c.Create(as(t.Context(), "ann"), "default", wire.RuleInput{Statement: "x", Check: &rule.Check{CEL: "facts.amount <="}})
		if got := fields(err); got != "check.cel" {
			t.Errorf("wrong fields: %q (%v)", got, err)
		}
		_, err = c.Create(as(t.Context(), "ann"), "default", wire.RuleInput{ID: "7", Statement: "x"})
		if got := fields(err); got != "id" {
			t.Errorf("wrong fields: %q (%v)", got, err)
		}
	})
}

func fields(err error) string {
	e, ok := errors.AsType[*rule.Error](err)
	if !ok {
		return fmt.Sprint(err)
	}
	var names []string
	for _, f := range e.Fields {
		names = append(names, f.Field)
	}
	return strings.Join(names, " ")
}

const file = `
pack: demo
defaults: {status: EFFECTIVE, tags: [demo]}
rules:
  - slug: D-1
    statement: Payments must be approved.
    severity: HIGH
    tags: [money]
    effective_period: {from: 2026-01-01T00:00:00Z}
    check: {cel: "facts.amount <= 100", message: too much}
  - slug: D-2
    statement: Gifts should be reported.
    modality: SHOULD
    status: DRAFT
    exceptions: [Gifts below 10 euros.]
    examples:
      - input: |-
          gift: watch
          value: 900
        verdict: allow
        note: It was reported.
    relationships: [{kind: REFINES, to: D-1, reason: narrower}]
`

func parse(t *testing.T, text string) *wire.RuleFile {
	t.Helper()
	f, err := catalog.ParseYAML([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// An empty list in a file takes away what the rule has, whether the file has defaults for other fields or not.
func TestImportOfAnEmptyListClears(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		const with, without = "rules: [{slug: E-1, statement: Be kind., tags: [a], scope: [s]}]", "rules: [{slug: E-1, statement: Be kind., tags: [], scope: []}]"
		for _, defaults := range []string{"", "defaults: {severity: HIGH}\n"} {
			for _, text := range []string{with, without} {
				if _, err := c.Import(ctx, "default", parse(t, defaults+text), catalog.ImportOptions{}); err != nil {
					t.Fatal(err)
				}
			}
			if r, err := c.Get(ctx, "default", "E-1"); err != nil || len(r.Tags)+len(r.Scope) != 0 {
				t.Errorf("with %q the rule keeps the tags %v and the scope %v; %v", defaults, r.Tags, r.Scope, err)
			}
		}
	})
}

func TestImportThenExportThenImportChangesNothing(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		got, err := c.Import(ctx, "default", parse(t, file), catalog.ImportOptions{})
		if err != nil || got.Created != 2 {
			t.Fatalf("first import: %+v, %v", got, err)
		}
		r, err := c.Get(ctx, "default", "D-1")
		if err != nil || r.Status != rule.Effective || cmp.Diff([]string{"demo", "money"}, r.Tags) != "" || r.EffectivePeriod.From == nil {
			t.Errorf("D-1 after import: %+v, %v", r, err)
		}
		r, err = c.Get(ctx, "default", "D-2")
		want := []rule.Example{{Input: "gift: watch\nvalue: 900", Verdict: rule.Allow, Note: "It was reported."}}
		if err != nil || cmp.Diff(want, r.Examples) != "" || cmp.Diff([]string{"Gifts below 10 euros."}, r.Exceptions) != "" {
			t.Errorf("D-2 after import: %+v, %v", r, err)
		}
		exported, err := c.Export(ctx, "default", func(*rule.Rule) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		text, err := catalog.YAML(exported)
		if err != nil {
			t.Fatal(err)
		}
		got, err = c.Import(ctx, "default", parse(t, string(text)), catalog.ImportOptions{Prune: true})
		if err != nil || got.Unchanged != 2 || len(got.Changes) != 0 {
			t.Errorf("importing the export: %+v, %v\n%s", got, err, text)
		}
		again, err := c.Export(ctx, "default", func(*rule.Rule) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := catalog.YAML(again); string(b) != string(text) {
			t.Errorf("the second export differs:\n%s\nfrom\n%s", b, text)
		}
	})
}

func TestImportIsAllOrNothing(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ctx := as(t.Context(), "ann")
		if _, err := c.Import(ctx, "default", parse(t, file), catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		before, err := s.Projects.CorpusVersions(ctx)
		if err != nil {
			t.Fatal(err)
		}
		bad := parse(t, `
rules:
  - {slug: D-1, statement: Changed.}
  - {slug: D-3, statement: New.}
  - {slug: D-4, statement: Wrong., check: {cel: "1 +"}}
  - {slug: D-5, statement: Wrong too., check: {pattern: {regex: "("}}}
`)
		bad.Rules[2].Severity = "AWFUL" // as a request in JSON may have it
		_, err = c.Import(ctx, "default", bad, catalog.ImportOptions{})
		if got := fields(err); got != "rules[2].severity rules[2].check.cel rules[3].check.pattern.regex" {
			t.Errorf("wrong fields: %q (%v)", got, err)
		}
		if !strings.Contains(err.Error(), "D-4") {
			t.Errorf("the error does not name the rule: %v", err)
		}
		for _, unrelated := range []string{
			"rules: [{slug: D-6, statement: x, relationships: [{kind: REFINES, to: D-99}]}]",
			"rules: [{slug: D-7, statement: x}, {slug: D-7, statement: y}]",
		} {
			_, err = c.Import(ctx, "default", parse(t, unrelated), catalog.ImportOptions{})
			code(t, err, rule.CodeInvalid, unrelated)
		}
		after, err := s.Projects.CorpusVersions(ctx)
		if err != nil || after["default"] != before["default"] {
			t.Errorf("refused imports raised the corpus version from %d to %d (%v)", before["default"], after["default"], err)
		}
		if r, _ := c.Get(ctx, "default", "D-1"); r.Statement != "Payments must be approved." {
			t.Errorf("a refused import changed D-1 to %q", r.Statement)
		}
	})
}

func TestPlanApplyAndPrune(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		if _, err := c.Import(ctx, "default", parse(t, file), catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		next := parse(t, "rules: [{slug: D-1, statement: Payments must be approved by two., severity: HIGH}, {slug: D-9, statement: New.}]")
		for _, dry := range []bool{true, false} {
			got, err := c.Import(ctx, "default", next, catalog.ImportOptions{Prune: true, DryRun: dry})
			if err != nil {
				t.Fatal(err)
			}
			var lines []string
			for _, ch := range got.Changes {
				line := ch.Action + " " + ch.Slug
				for _, f := range ch.Fields {
					line += " " + f.Field
				}
				lines = append(lines, line)
			}
			if diff := cmp.Diff([]string{"update D-1 statement", "create D-9", "retire D-2"}, lines); diff != "" || got.DryRun != dry {
				t.Errorf("dry run %v (-want +got):\n%s", dry, diff)
			}
			if _, err := c.Get(ctx, "default", "D-9"); (err == nil) == dry {
				t.Errorf("dry run %v: D-9 exists: %v", dry, err == nil)
			}
		}
	})
}

func TestCreateOnlyImportRefusesWhatExists(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		for i, want := range []rule.Code{"", rule.CodeInvalid} {
			_, err := c.Import(ctx, "default", parse(t, file), catalog.ImportOptions{CreateOnly: true})
			code(t, err, want, fmt.Sprintf("import %d", i+1))
		}
	})
}

func TestThousandsOfRulesInOneImport(t *testing.T) {
	const n = 3000 // more than one statement holds
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		f := &wire.RuleFile{}
		for i := range n {
			f.Rules = append(f.Rules, wire.RuleInput{Slug: new(fmt.Sprintf("N-%d", i)), Statement: fmt.Sprintf("Statement %d.", i)})
		}
		got, err := c.Import(ctx, "default", f, catalog.ImportOptions{})
		if err != nil || got.Created != n {
			t.Fatalf("created %v, %v", got, err)
		}
		if _, total, err := c.List(ctx, "default", corpus.Filter{}, "", rule.Page{Number: 1, Size: 1}); err != nil || total != n {
			t.Errorf("%d rules are listed, %v", total, err)
		}
		got, err = c.Import(ctx, "default", f, catalog.ImportOptions{})
		if err != nil || got.Unchanged != n {
			t.Errorf("the same again: %+v, %v", got, err)
		}
	})
}

// A relationship that would let a weaker rule silence another needs allow_weakening and a reason, in a request and in a file.
func TestOverridesThatWeakenNeedPermission(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		for slug, severity := range map[string]rule.Severity{"STRICT": rule.Critical, "LAX": rule.Low, "OTHER": rule.Critical} {
			if _, err := c.Create(ctx, "default", wire.RuleInput{Slug: new(slug), Statement: slug + " holds.", Severity: severity}); err != nil {
				t.Fatal(err)
			}
		}
		in := wire.RelationshipInput{Kind: rule.Overrides, To: "STRICT"}
		_, err := c.Relate(ctx, "default", "LAX", in)
		code(t, err, rule.CodeConflict, "a weaker rule")
		if err == nil || !strings.Contains(err.Error(), "severity LOW instead of CRITICAL") || !strings.Contains(err.Error(), "allow_weakening") {
			t.Errorf("the refusal does not say why: %v", err)
		}
		_, err = c.Create(ctx, "default", wire.RuleInput{Slug: new("NEW"), Statement: "New.", Severity: rule.High, Relationships: []wire.RelationshipInput{in}})
		code(t, err, rule.CodeConflict, "a new rule that is weaker")
		in.AllowWeakening = true
		_, err = c.Relate(ctx, "default", "LAX", in)
		if got := fields(err); got != "reason" {
			t.Errorf("without a reason: %q (%v)", got, err)
		}
		_, err = c.Relate(ctx, "default", "LAX", wire.RelationshipInput{Kind: rule.Refines, To: "STRICT", AllowWeakening: true, Reason: "so"})
		if got := fields(err); got != "allow_weakening" {
			t.Errorf("of another kind: %q (%v)", got, err)
		}
		in.Reason = "The lab moves no money."
		made, err := c.Relate(ctx, "default", "LAX", in)
		if err != nil || !made.AllowWeakening {
			t.Fatalf("allowed: %+v, %v", made, err)
		}
		if _, err := c.Relate(ctx, "default", "OTHER", wire.RelationshipInput{Kind: rule.Overrides, To: "STRICT"}); err != nil {
			t.Errorf("a rule as strong: %v", err)
		}
		file, err := c.Export(ctx, "default", func(*rule.Rule) bool { return true })
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range file.Rules {
			if *r.Slug == "LAX" && (len(r.Relationships) != 1 || !r.Relationships[0].AllowWeakening || r.Relationships[0].Reason != in.Reason) {
				t.Errorf("exported as %+v", r.Relationships)
			}
		}
	})
}

func TestRelationships(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		for _, s := range []string{"A-1", "A-2", "A-3"} {
			if _, err := c.Create(ctx, "default", wire.RuleInput{Slug: new(s), Statement: s + "."}); err != nil {
				t.Fatal(err)
			}
		}
		rel, err := c.Relate(ctx, "default", "A-1", wire.RelationshipInput{Kind: "overrides", To: "A-2", Reason: "newer"})
		if err != nil || rel.Kind != rule.Overrides {
			t.Fatalf("%+v, %v", rel, err)
		}
		_, err = c.Relate(ctx, "default", "A-1", wire.RelationshipInput{Kind: "OVERRIDES", To: "A-2"})
		code(t, err, rule.CodeConflict, "the same relationship twice")
		if _, err = c.Relate(ctx, "default", "A-2", wire.RelationshipInput{Kind: "OVERRIDES", To: "A-3"}); err != nil {
			t.Fatal(err)
		}
		_, err = c.Relate(ctx, "default", "A-3", wire.RelationshipInput{Kind: "OVERRIDES", To: "A-1"})
		code(t, err, rule.CodeConflict, "a circle")
		_, err = c.Relate(ctx, "default", "A-1", wire.RelationshipInput{Kind: "LIKES", To: "A-1"})
		if got := fields(err); got != "kind to" {
			t.Errorf("wrong fields %q (%v)", got, err)
		}
		list, err := c.Relationships(ctx, "default", "A-2")
		if err != nil || len(list) != 2 {
			t.Errorf("A-2 has %d relationships, %v; want one from and one to it", len(list), err)
		}
		if err := c.Unrelate(ctx, "default", "A-2", rel.ID); err != nil {
			t.Fatal(err)
		}
		code(t, c.Unrelate(ctx, "default", "A-2", rel.ID), rule.CodeNotFound, "removing twice")
	})
}

func TestEveryChangeOfARelationshipIsRecorded(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ctx := as(t.Context(), "ann")
		for _, text := range []string{file, "rules: [{slug: D-2, statement: Gifts should be reported., relationships: []}]"} {
			if _, err := c.Import(ctx, "default", parse(t, text), catalog.ImportOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		entries, total, err := s.Audit.Find(ctx, store.AuditFilter{ProjectID: "default", Kind: audit.KindRelation, Limit: 10})
		if err != nil || total != 2 {
			t.Fatalf("%d entries, %v; want that it was made and that it was removed", total, err)
		}
		for i, action := range []string{"removed", "created"} {
			body, err := audit.Body(entries[i])
			if err != nil || !strings.Contains(string(body), action) || !strings.Contains(string(body), `"kind":"REFINES"`) || !strings.Contains(string(body), "narrower") {
				t.Errorf("entry %s: %s, %v", action, body, err)
			}
		}
	})
}

func TestSeedHappensOnce(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, s store.Store) {
		ctx := as(t.Context(), "ann")
		var made atomic.Int32
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				ok, err := c.Seed(ctx, "fresh", []*wire.RuleFile{parse(t, file)}, false)
				if err != nil {
					t.Error(err)
				}
				if ok {
					made.Add(1)
				}
			})
		}
		wg.Wait()
		if made.Load() != 1 {
			t.Errorf("seeded %d times, want once", made.Load())
		}
		if _, err := s.Rules.Get(ctx, "fresh", "D-2"); err != nil {
			t.Errorf("a seeded rule: %v", err)
		}
	})
}

func TestParseYAMLRefusesWhatItDoesNotKnow(t *testing.T) {
	for name, text := range map[string]string{
		"unknown key":         "rules: [{statement: x, priority: 1}]",
		"unknown top key":     "ruels: []",
		"repeated key":        "rules: [{statement: x, statement: y}]",
		"wrong type":          "rules: [{statement: [x]}]",
		"alias":               "rules: [&a {statement: x}, *a]",
		"two documents":       "rules: []\n---\nrules: []",
		"NUL":                 "rules: [{statement: \"a\x00b\"}]",
		"invalid UTF-8":       "rules: [{statement: \"\xff\"}]",
		"not YAML":            "rules: [",
		"a date that is none": "rules: [{statement: x, effective_period: {until: 2026-02-30}}]",
		"a time that is none": "rules: [{statement: x, effective_period: {from: nope}}]",
		"deep":                strings.Repeat("[", 10_000),
		"JSON, unknown key":   `{"rules": [{"statement": "x", "priority": 1}]}`,
	} {
		_, err := catalog.ParseYAML([]byte(text))
		if rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v, want an invalid error", name, err)
		}
	}
}

func TestTimesInYAML(t *testing.T) {
	f := parse(t, `
rules:
  - {statement: x, effective_period: {from: 2026-01-31, until: "2026-03-01T12:00:00+02:00"}}
  - {statement: y, effective_period: {until: 9999-12-31T23:59:59-23:59}}`)
	p := f.Rules[0].EffectivePeriod
	if !p.From.Equal(time.Date(2026, 1, 31, 0, 0, 0, 0, time.UTC)) || !p.Until.Equal(time.Date(2026, 3, 1, 10, 0, 0, 0, time.UTC)) {
		t.Errorf("period %v to %v", p.From, p.Until)
	}
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		_, err := c.Import(as(t.Context(), "ann"), "default", f, catalog.ImportOptions{})
		if got := fields(err); got != "rules[1].effective_period.until" {
			t.Errorf("wrong fields %q (%v)", got, err)
		}
	})
}

func TestIDsAreOneWhateverTheirLetterCase(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ store.Store) {
		ctx := as(t.Context(), "ann")
		id := "01A1FCCC-048E-71A1-935D-9175D906E223"
		r, err := c.Create(ctx, "default", wire.RuleInput{ID: id, Statement: "One."})
		if err != nil || r.ID != strings.ToLower(id) {
			t.Fatalf("%s, %v", r.ID, err)
		}
		if _, err := c.Get(ctx, "default", id); err != nil {
			t.Errorf("by the id in upper case: %v", err)
		}
		_, err = c.Create(ctx, "default", wire.RuleInput{ID: strings.ToLower(id), Statement: "Two."})
		code(t, err, rule.CodeConflict, "the same id in lower case")
		got, err := c.Import(ctx, "default", &wire.RuleFile{Rules: []wire.RuleInput{{ID: id, Statement: "Three."}}}, catalog.ImportOptions{})
		if err != nil || got.Updated != 1 {
			t.Errorf("importing under the id in upper case: %+v, %v", got, err)
		}
	})
}

func FuzzParseYAML(f *testing.F) {
	f.Add([]byte(file))
	f.Add([]byte(`{"rules": [{"statement": "x"}]}`))
	f.Add([]byte("rules:\n- statement: |\n    a\n  tags: [a, 'b', \"c\"]\n"))
	f.Add([]byte("defaults: {status: !!binary x}\nrules: ~"))
	f.Add([]byte("defaults: {status: EFFECTIVE}\nrules: [{slug: A, statement: A.}]\nfederation: [{name: org, rules: [A], overrides: [{rule: B, instead_of: A}]}]\n"))
	f.Add([]byte("federation:\n  - {name: a, children: [{name: b, children: [{name: c}]}]}\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		parsed, err := catalog.ParseYAML(data)
		if err != nil {
			if rule.CodeOf(err) != rule.CodeInvalid {
				t.Errorf("%v is not an invalid error", err)
			}
			return
		}
		if _, err := catalog.YAML(parsed); err != nil {
			t.Errorf("what was read cannot be written: %v", err)
		}
	})
}

// Files that say nothing of rules or nodes stay such when they are joined.
func TestJoinTellsNothingFromNone(t *testing.T) {
	for _, c := range []struct {
		files        []string
		rules, nodes bool
	}{
		{[]string{"pack: a", "pack: b"}, false, false},
		{[]string{"rules: []", "pack: b"}, true, false},
		{[]string{"pack: a", "federation: []"}, false, true},
		{[]string{"rules: [{statement: x}]", "federation: [{name: y}]"}, true, true},
	} {
		var files []*wire.RuleFile
		for _, text := range c.files {
			files = append(files, parse(t, text))
		}
		joined, err := catalog.Join(files)
		if err != nil || (joined.Rules != nil) != c.rules || (joined.Federation != nil) != c.nodes {
			t.Errorf("%v: %+v, %v", c.files, joined, err)
		}
	}
}
