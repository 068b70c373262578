package hierarchy_test

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/audit"
	"tenet/internal/catalog"
	"tenet/internal/hierarchy"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

const acme = `
defaults: {status: EFFECTIVE}
rules:
  - {slug: A, statement: A., severity: CRITICAL}
  - {slug: B, statement: B.}
  - {slug: C, statement: C., severity: CRITICAL}
  - {slug: D, statement: D.}
federation:
  - name: org
    repositories: [acme/**]
    description: All.
    rules: [A, B]
    children:
      - name: pay
        default_scope: pay
        rules: [D]
        overrides: [{rule: C, instead_of: A}]
        children: [{name: api, repositories: [acme/pay-api]}]
      - {name: web}
`

// told writes the changes of nodes in short: action path +gains -loses ~rule>overridden.
func told(r *rule.ImportResult) []string {
	var list []string
	for _, ch := range r.Federation {
		s := ch.Action + " " + ch.Path
		for _, g := range ch.Gains {
			s += " +" + g
		}
		for _, l := range ch.Loses {
			s += " -" + l
		}
		for _, o := range ch.Overridden {
			s += " ~" + o.By + ">" + o.Rule
		}
		for _, f := range ch.Fields {
			s += " " + f.Field
		}
		list = append(list, s)
	}
	return list
}

func TestImportOfAFederation(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, h *hierarchy.Hierarchy, s store.Store) {
		ctx := as(t.Context(), "ann")
		run := func(text string, o catalog.ImportOptions) *rule.ImportResult {
			t.Helper()
			res, err := c.Import(ctx, "default", parse(t, text), o)
			if err != nil {
				t.Fatal(err)
			}
			return res
		}
		expect := func(about string, r *rule.ImportResult, want ...string) {
			t.Helper()
			if diff := cmp.Diff(want, told(r)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", about, diff)
			}
		}
		expect("the plan", run(acme, catalog.ImportOptions{DryRun: true}),
			"create org +A +B", "create org/pay +C +D ~C>A", "create org/pay/api", "create org/web")
		if tree, err := h.Tree(ctx, "default"); err != nil || len(tree) != 0 {
			t.Errorf("a plan has made nodes: %v, %v", tree, err)
		}
		run(acme, catalog.ImportOptions{})
		again := run(acme, catalog.ImportOptions{Prune: true})
		expect("the same again", again)
		if len(again.Changes) != 0 {
			t.Errorf("the same again changes rules: %+v", again.Changes)
		}

		// A node named twice is one node, which keeps what was said of it first.
		expect("named twice", run("federation: [{name: org, children: [{name: lab, level: project, rules: [B]}]}, {name: org, children: [{name: lab, rules: [D]}]}]",
			catalog.ImportOptions{DryRun: true}), "create org/lab +B +D")

		// What is exported is stable and changes nothing when it is applied.
		one, err := c.Export(ctx, "default", nil)
		if err != nil {
			t.Fatal(err)
		}
		text, err := catalog.YAML(one)
		if err != nil {
			t.Fatal(err)
		}
		expect("an export applied", run(string(text), catalog.ImportOptions{Prune: true}))
		if strings.Contains(string(text), "created_at") || strings.Contains(string(text), "parent_id") {
			t.Errorf("the export has bookkeeping in it:\n%s", text)
		}
		if selected, err := c.Export(ctx, "default", func(*rule.Rule) bool { return true }); err != nil || selected.Federation != nil {
			t.Errorf("a selection of rules has a federation: %v", err)
		}

		// Without prune only what the file names changes, and the plan tells what each node gains, loses and has overridden.
		expect("a change", run(`
rules: []
federation:
  - name: org
    rules: [D]
    children:
      - {name: web, rules: [C], overrides: [{rule: D, instead_of: B}]}
`, catalog.ImportOptions{}), "update org +D", "update org/web +C +D ~D>B")
		expect("removing", run(strings.Replace(acme, "rules: [A, B]", "rules: [A]", 1), catalog.ImportOptions{Prune: true}),
			"update org -B -D", "update org/web -C -D")
		expect("a description", run(strings.Replace(acme, "All.", "Everything.", 1), catalog.ImportOptions{DryRun: true}), "update org +B description")

		// A file without a federation leaves it alone, also with prune.
		expect("rules only", run("rules: [{slug: A, statement: A.}, {slug: B, statement: B.}, {slug: C, statement: C.}, {slug: D, statement: D.}]",
			catalog.ImportOptions{Prune: true}))
		if tree, _ := h.Tree(ctx, "default"); len(tree) != 1 {
			t.Errorf("a file without a federation has removed it: %+v", tree)
		}

		// By its id a node moves, with what is below it.
		tree, err := h.Tree(ctx, "default")
		if err != nil {
			t.Fatal(err)
		}
		pay := tree[0].Children[0].ID
		move := fmt.Sprintf("federation: [{name: second, rules: [B], children: [{id: %s, name: pay}]}]", strings.ToUpper(pay))
		_, err = c.Import(ctx, "default", parse(t, move), catalog.ImportOptions{})
		code(t, err, rule.CodeConflict, "a move by which C holds for acme/pay-api in a scope only")
		expect("a move", run(move, catalog.ImportOptions{Permission: rule.Permission{AllowWeakening: true, Reason: "agreed"}}),
			"create second +B", "move second/pay +B parent_id")
		detail, err := h.NodeDetail(ctx, "default", pay, false)
		if err != nil || detail.Ancestors[0].Name != "second" || detail.DefaultScope != "pay" || len(detail.Rules) != 2 {
			t.Errorf("moved: %+v, %v", detail, err)
		}

		// All that the file does not name is gone with prune, deepest first.
		gone := run("rules: [{slug: A, statement: A.}]\nfederation: [{name: org, rules: [A]}]", catalog.ImportOptions{Prune: true})
		if got := told(gone); len(got) != 4 || got[0] != "delete second/pay/api" || got[3] != "delete second -B" {
			t.Errorf("pruned %v", got)
		}
		expect("an empty federation", run("federation: []", catalog.ImportOptions{Prune: true}), "delete org -A")
		if a, err := c.Get(ctx, "default", "A"); err != nil || a.Status != rule.Effective {
			t.Errorf("a file without rules has retired them: %v, %v", a.Status, err)
		}
		for _, o := range []catalog.ImportOptions{{}, {Prune: true}} {
			_, err := c.Import(ctx, "default", parse(t, "pack: x"), o)
			code(t, err, rule.CodeInvalid, "a file that says nothing")
		}

		// Each import is one record, which holds what was attached.
		entries, total, err := s.Audit.Find(ctx, store.AuditFilter{ProjectID: "default", Kind: audit.KindImport, Limit: 100})
		if err != nil || total != 6 {
			t.Fatalf("%d imports are recorded, %v", total, err)
		}
		body, err := audit.Body(entries[total-1])
		if err != nil || !strings.Contains(string(body), `"override_parent_rule_id"`) || !strings.Contains(string(body), `"path":"org/pay/api"`) {
			t.Errorf("the record of the first import: %s, %v", body, err)
		}
	})
}

func TestImportRefusesABrokenFederation(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, h *hierarchy.Hierarchy, _ store.Store) {
		ctx := as(t.Context(), "ann")
		if _, err := c.Import(ctx, "default", parse(t, acme), catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		for _, twin := range []string{"twin", "twin"} {
			level := rule.LevelOrganization
			if _, err := h.CreateNode(ctx, "default", hierarchy.NodeInput{Name: &twin, Level: &level}); err != nil {
				t.Fatal(err)
			}
		}
		before, err := c.Export(ctx, "default", nil)
		if err != nil {
			t.Fatal(err)
		}
		for text, want := range map[string]string{
			"[{name: ''}]":              "federation[0].name: must not be empty",
			"[{name: x, level: squad}]": "federation[0].level: x: is \"squad\"",
			"[{name: x, level: team}]":  "federation[0].parent_id: x: is missing",
			"[{name: x, children: [{name: y, level: organization}]}]":                             "federation[0].children[0].parent_id: x/y: must be absent",
			"[{name: x, children: [{name: y, children: [{name: z, children: [{name: deep}]}]}]}]": "level",
			"[{name: x, id: nonsense}]":                                                     "federation[0].id",
			"[{name: twin}]":                                                                "several nodes of this name",
			"[{name: x, rules: [NOPE]}]":                                                    "federation[0].rules[0]: x: there is no rule \"NOPE\"",
			"[{name: x, rules: ['']}]":                                                      "federation[0].rules[0].rule_id",
			"[{name: x, repositories: ['a[']}]":                                             "federation[0].repositories[0]",
			"[{name: x, repositories: [acme/**]}]":                                          "x: the repositories",
			"[{name: x, overrides: [{rule: B, instead_of: A}]}]":                            "override_parent_rule_id: x: ",
			"[{name: x, overrides: [{rule: B, instead_of: ''}]}]":                           "instead_of is missing",
			"[{name: x, overrides: [{rule: B, instead_of: NOPE}]}]":                         "there is no rule \"NOPE\"",
			"[{name: org, children: [{name: web, overrides: [{rule: B, instead_of: A}]}]}]": "org/web: the override loosens a CRITICAL rule",
			"[{name: org, children: [{name: web, overrides: [{rule: B, instead_of: A, allow_weakening: true}]}]}]":  "overrides[0].reason",
			"[{name: org, rules: [A], children: [{name: web, rules: [C], overrides: [{rule: C, instead_of: A}]}]}]": "attached in two ways",
			"[{name: org, level: team}]": "parent_id",
			"[{name: x, children: [{id: 00000000-0000-7000-8000-0000000000aa, name: y}]}, {name: z, children: [{id: 00000000-0000-7000-8000-0000000000aa, name: y}]}]": "in two places",
		} {
			_, err := c.Import(ctx, "default", parse(t, "rules: [{slug: NEW, statement: New.}]\nfederation: "+text), catalog.ImportOptions{})
			if got := rule.CodeOf(err); (got != rule.CodeInvalid && got != rule.CodeConflict) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: error %v, want %q", text, err, want)
			}
		}
		after, err := c.Export(ctx, "default", nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(before, after); diff != "" {
			t.Errorf("refused imports have changed something:\n%s", diff)
		}
	})
}

// The example is what the documentation says it is, and seeds a project like any pack.
func TestExampleFederation(t *testing.T) {
	data, err := os.ReadFile("../../examples/federation/acme.yaml")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, c *catalog.Catalog, h *hierarchy.Hierarchy, _ store.Store) {
		ctx := as(t.Context(), "ann")
		if _, err := c.Seed(ctx, "seeded", []*wire.RuleFile{parse(t, string(data))}, false); err != nil {
			t.Fatal(err)
		}
		tree, err := h.Tree(ctx, "seeded")
		if err != nil || len(tree) != 1 || len(tree[0].Children) != 2 || len(tree[0].Children[0].Children) != 2 || len(tree[0].Children[1].Children) != 2 {
			t.Fatalf("the tree: %+v, %v", tree, err)
		}
		for _, n := range tree[0].Children[0].Children {
			d, err := h.NodeDetail(ctx, "seeded", n.ID, false)
			if err != nil {
				t.Fatal(err)
			}
			if n.Name == "pay-sandbox" && (len(d.Rules) != 1 || !d.Rules[0].Acts || d.Rules[0].Reason == "") {
				t.Errorf("the sandbox: %+v", d.Rules)
			}
		}
	})
}

// Many attach at once: all that may be is attached, each with an entry of its own in the chain.
func TestAttachingTogether(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, h *hierarchy.Hierarchy, s store.Store) {
		ctx := as(t.Context(), "ann")
		level, name := rule.LevelOrganization, "org"
		org, err := h.CreateNode(ctx, "default", hierarchy.NodeInput{Name: &name, Level: &level})
		if err != nil {
			t.Fatal(err)
		}
		f := &wire.RuleFile{}
		for i := range 20 {
			f.Rules = append(f.Rules, wire.RuleInput{Slug: new(fmt.Sprint("R-", i)), Statement: "Rule."})
		}
		if _, err := c.Import(ctx, "default", f, catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		codes := make([]rule.Code, 60)
		var wg sync.WaitGroup
		for i := range codes {
			wg.Go(func() {
				who := as(t.Context(), fmt.Sprint("user ", i))
				_, err := h.Attach(who, "default", org.ID, hierarchy.AttachInput{Rule: fmt.Sprint("R-", i%30)}) // 10 of them do not exist
				codes[i] = rule.CodeOf(err)
			})
		}
		wg.Wait()
		counts := map[rule.Code]int{}
		for _, code := range codes {
			counts[code]++
		}
		if counts[""] != 20 || counts[rule.CodeConflict] != 20 || counts[rule.CodeNotFound] != 20 {
			t.Errorf("outcomes %v", counts)
		}
		d, err := h.NodeDetail(ctx, "default", org.ID, false)
		if err != nil || len(d.Rules) != 20 {
			t.Errorf("%d rules are attached, %v", len(d.Rules), err)
		}
		entries, total, err := s.Audit.Find(ctx, store.AuditFilter{ProjectID: "default", Kind: audit.KindFederation, Limit: 100})
		if err != nil || total != 21 {
			t.Fatalf("%d changes are recorded, %v", total, err)
		}
		actors := map[string]bool{}
		for _, e := range entries {
			actors[e.Actor] = true
		}
		if len(actors) != 21 {
			t.Errorf("%d actors for 21 changes", len(actors))
		}
		if _, err := h.Attach(ctx, "nowhere", org.ID, hierarchy.AttachInput{Rule: "R-1"}); rule.CodeOf(err) != rule.CodeNotFound {
			t.Errorf("attaching in a project that is not there: %v", err)
		}
	})
}

// A revision that waits for a second person is not in force: it does not change what the guard protects.
func TestImportGuardsTheVersionInForce(t *testing.T) {
	each(t, func(t *testing.T, c *catalog.Catalog, _ *hierarchy.Hierarchy, s store.Store) {
		ctx := as(t.Context(), "ann")
		start := parse(t, "rules: [{slug: A, statement: A., severity: CRITICAL, status: EFFECTIVE}]\nfederation: [{name: org, repositories: [acme/**], children: [{name: pay}]}]")
		if _, err := c.Import(ctx, "default", start, catalog.ImportOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := s.Update(ctx, func(tx store.Tx) error {
			p, err := tx.Projects.Get(ctx, "default")
			if err != nil {
				return err
			}
			p.TwoPerson = true
			return tx.Projects.Update(ctx, p)
		}); err != nil {
			t.Fatal(err)
		}
		lower := parse(t, "rules: [{slug: A, statement: A., severity: LOW, status: EFFECTIVE, change_note: less}]\nfederation: [{name: org, children: [{name: pay, rules: [A]}]}]")
		_, err := c.Import(ctx, "default", lower, catalog.ImportOptions{})
		code(t, err, rule.CodeConflict, "a CRITICAL rule, whose revision waits, attached to a leaf")
	})
}
