package cli

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// A file of more rules than an import takes is imported in parts; the same again changes nothing, and after a fault it goes on.
func TestImportInParts(t *testing.T) {
	var b strings.Builder
	b.WriteString("defaults: {severity: HIGH}\nrules:\n")
	for i := range 25 {
		fmt.Fprintf(&b, "  - slug: P-%d\n    statement: Payment %d must be approved.\n    relationships: [{kind: REFINES, to: P-%d}]\n    check: {cel: \"facts.amount < %d\"}\n", i, i, (i+7)%25, i+1)
	}
	b.WriteString("cases:\n")
	for i := range 25 {
		fmt.Fprintf(&b, "  - {rule: P-%d, name: a, facts: {amount: 0}, expect: ALLOW}\n  - {rule: P-%d, name: b, facts: {amount: 99}, expect: DENY}\n", i, i)
	}
	text := b.String()
	// Groups of three rules that silence one another in turn, of which one group is a circle.
	var circle strings.Builder
	circle.WriteString("rules:\n")
	for i := range 24 {
		to := ""
		if i%3 < 2 || i == 20 {
			to = fmt.Sprintf(", relationships: [{kind: OVERRIDES, to: C-%d}]", i-i%3+(i+1)%3)
		}
		fmt.Fprintf(&circle, "  - {slug: C-%d, statement: Claim %d must be checked.%s}\n", i, i, to)
	}
	// Nodes name rules of several parts, some of them new.
	const nodes = "federation:\n  - name: acme\n    level: organization\n    rules: [P-0, P-20, P-3, N-1]\n    children: [{name: payments, overrides: [{rule: N-2, instead_of: P-20}]}]\n"
	federated := strings.Replace(text, "cases:\n", "  - {slug: N-1, statement: Refunds must be approved.}\n  - {slug: N-2, statement: Refunds below 5 must be approved., severity: HIGH}\ncases:\n", 1) + nodes
	var many []string
	for i := range 15 {
		many = append(many, fmt.Sprintf("P-%d", i))
	}
	crowded := strings.Replace(federated, "P-0, P-20, P-3", strings.Join(many, ", ")+", P-20", 1)
	other := strings.ReplaceAll(strings.Replace(text, "Payment 3 must", "Payment 3 has to", 1), "amount: 0", "amount: -1")
	dir := folder(t, map[string]string{
		"rules.yaml": text, "bad.yaml": strings.Replace(text, "to: P-3}", "to: P-99}", 1), "unnamed.yaml": strings.Replace(text, "slug: P-4\n    ", "", 1),
		"nocase.yaml": strings.Replace(text, "rule: P-7, name: b", "rule: Q-7, name: b", 1), "circle.yaml": circle.String(), "other.yaml": other,
		"federated.yaml": federated, "crowded.yaml": crowded, "nonode.yaml": strings.Replace(federated, "P-3, N-1", "P-3, N-9", 1),
	})
	var said strings.Builder
	s := &session{out: io.Discard, err: &said, env: lookup(nil), globals: &globals{Data: t.TempDir()}}
	try := func(name string, q wire.ImportQuery) (result rule.ImportResult, err error) {
		files, err := loadRules(t.Context(), dir+"/"+name, nil)
		if err != nil {
			t.Fatal(err)
		}
		joined, err := files.join()
		if err != nil {
			t.Fatal(err)
		}
		err = s.with(t.Context(), needsData, func(c *client.Client) error {
			result, err = importAll(t.Context(), s, c, files, joined, q, 10, 10)
			return files.locate(err)
		})
		return result, err
	}
	if got, err := try("rules.yaml", wire.ImportQuery{DryRun: true}); err != nil || got.Created != 25 || !got.DryRun || got.Cases.Added != 50 || len(got.Changes) != 25 || got.Changes[24].Slug != "P-24" {
		t.Fatalf("a dry run: %+v, %v", got, err)
	}
	for name, want := range map[string]string{"bad.yaml": "P-99", "nocase.yaml": fmt.Sprintf("nocase.yaml:%d:", 1+strings.Count(text[:strings.Index(text, "rule: P-7, name: b")], "\n"))} {
		if _, err := try(name, wire.ImportQuery{DryRun: true}); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), name+":") {
			t.Errorf("a dry run of %s: %v", name, err)
		}
	}
	if got, err := try("crowded.yaml", wire.ImportQuery{DryRun: true}); err != nil || got.Created != 27 || got.Federation != nil || !strings.Contains(said.String(), "18 of the rules that change are named by federation nodes") {
		t.Errorf("more rules of nodes than a part takes: %d created, %+v, %v, %q", got.Created, got.Federation, err, said.String())
	}
	if _, err := try("bad.yaml", wire.ImportQuery{}); rule.CodeOf(err) == "" || !strings.Contains(err.Error(), "P-99") || !strings.Contains(err.Error(), "run it again") ||
		!strings.Contains(err.Error(), "bad.yaml:") {
		t.Fatalf("a fault: %v", err)
	}
	got, err := try("rules.yaml", wire.ImportQuery{})
	if err != nil || got.Created != 0 || got.Unchanged != 25 || got.Cases.Added != 50 {
		t.Fatalf("going on: %d created, %d unchanged, %+v, %v", got.Created, got.Unchanged, got.Cases, err)
	}
	again, err := try("rules.yaml", wire.ImportQuery{})
	if err != nil || again.Created+again.Updated != 0 || again.Unchanged != 25 || again.Cases.Added != 0 || again.Cases.Unchanged != 50 {
		t.Errorf("again: %+v, %v", again, err)
	}
	// A plan says what the import then does, also of what relationships and cases change.
	if _, err := try("circle.yaml", wire.ImportQuery{DryRun: true}); rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), "circle") {
		t.Errorf("a circle: %v", err)
	}
	planned, err := try("other.yaml", wire.ImportQuery{DryRun: true})
	if err != nil || planned.Updated != 1 || planned.Unchanged != 24 || planned.Cases.Added == 0 {
		t.Fatalf("a plan of changes: %+v, %v", planned, err)
	}
	done, err := try("other.yaml", wire.ImportQuery{})
	if err != nil || done.Cases != planned.Cases || done.Updated != planned.Updated {
		t.Errorf("planned %+v, done %+v, %v", planned.Cases, done.Cases, err)
	}
	if _, err := try("rules.yaml", wire.ImportQuery{}); err != nil {
		t.Fatal(err)
	}
	if _, err := try("unnamed.yaml", wire.ImportQuery{}); err == nil || !strings.Contains(err.Error(), "slug or an id") {
		t.Errorf("a rule without a name: %v", err)
	}
	if _, err := try("rules.yaml", wire.ImportQuery{Mode: "create"}); err == nil {
		t.Error("--create-only is taken")
	}
	if _, err := try("nonode.yaml", wire.ImportQuery{DryRun: true}); err == nil || !strings.Contains(err.Error(), "N-9") {
		t.Errorf("a node with a rule that is nowhere: %v", err)
	}
	plan, err := try("federated.yaml", wire.ImportQuery{DryRun: true})
	if err != nil || plan.Created != 2 || len(plan.Federation) != 2 || plan.Federation[0].Action != "create" || plan.Federation[1].Path != "acme/payments" {
		t.Fatalf("a plan with nodes: %d created, %+v, %v", plan.Created, plan.Federation, err)
	}
	if did, err := try("federated.yaml", wire.ImportQuery{}); err != nil || fmt.Sprint(did.Federation[1].Attached) != fmt.Sprint(plan.Federation[1].Attached) || (did.Silenced == nil) != (plan.Silenced == nil) {
		t.Errorf("nodes: planned %+v, done %+v, %v", plan.Federation, did.Federation, err)
	}
	if plan, err := try("federated.yaml", wire.ImportQuery{DryRun: true}); err != nil || plan.Created+plan.Updated+len(plan.Federation) != 0 {
		t.Errorf("nodes as they are: %+v, %v", plan, err)
	}
	// A part names only some of the rules, so it must not retire the others.
	for _, q := range []wire.ImportQuery{{Prune: true}, {Prune: true, DryRun: true}} {
		if _, err := try("rules.yaml", q); err == nil || !strings.Contains(err.Error(), "--prune takes at most 10 rules") {
			t.Errorf("--prune: %v", err)
		}
	}
	if got, err := try("rules.yaml", wire.ImportQuery{}); err != nil || got.Unchanged != 25 || got.Retired != 0 {
		t.Errorf("after --prune was refused: %+v, %v", got, err)
	}
}
