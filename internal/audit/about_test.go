package audit_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"
	"testing"

	"tenet/internal/audit"
	"tenet/internal/store"
)

func read(t *testing.T, kind, body string) audit.About {
	t.Helper()
	a, err := audit.Read(&store.AuditEntry{ProjectID: "p", Seq: 7, ID: "e", Kind: kind, Body: audit.Compress([]byte(body))})
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func TestReadEntries(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		kind, body string
		action     string
		object     audit.Object
		rules      string
		fields     string // of changes
		reason     string
	}{
		{
			audit.KindRule, `{"action":"revised","rule":{"id":"r1","slug":"SEC-1","statement":"New.","change_note":"typo"},"changed":[{"field":"statement","before":"Old.","after":"New."}]}`,
			"revised",
			audit.Object{Kind: "rule", ID: "r1", Label: "SEC-1"},
			"r1", "statement", "typo",
		},
		{
			audit.KindRule, `{"action":"created","rule":{"id":"r1","statement":"New.","tags":[],"severity":"HIGH"}}`,
			"created",
			audit.Object{Kind: "rule", ID: "r1", Label: "New."},
			"r1", "severity statement", "",
		},
		{
			audit.KindRule, `{"action":"revision rejected","revision":{"rule_id":"r2","slug":"A-1","changes":[{"field":"severity","before":"LOW","after":"HIGH"}],"decision_note":"no"}}`,
			"revision rejected",
			audit.Object{Kind: "rule", ID: "r2", Label: "A-1"},
			"r2", "severity", "no",
		},
		{
			audit.KindRelease, `{"action":"edge forgotten","edge":"till-7","key":"k","received":{"seq":3,"hash":"h"}}`,
			"edge forgotten",
			audit.Object{Kind: "edge", ID: "till-7", Label: "till-7"},
			"", "key received", "",
		},
		{
			audit.KindRelease, `{"action":"snapshot","snapshot_id":"s1","name":"first","in_force":{"rows":["snapshot s1 x"]}}`,
			"snapshot",
			audit.Object{Kind: "snapshot", ID: "s1", Label: "first"},
			"", "name", "",
		},
		{
			audit.KindImport, `{"created":2,"updated":0,"rules":[{"rule_id":"a","version":1,"action":"created"},{"rule_id":"b","version":1,"action":"created"}]}`,
			"imported",
			audit.Object{Kind: "rule"},
			"a b", "created", "",
		},
		{
			audit.KindRelation, `{"action":"created","relationship":{"id":"x","from_rule_id":"a","to_rule_id":"b","kind":"OVERRIDES","reason":"newer"}}`,
			"created",
			audit.Object{Kind: "relationship", ID: "x", Label: "OVERRIDES"},
			"a b", "from_rule_id kind reason to_rule_id", "newer",
		},
		{
			audit.KindFederation, `{"action":"rule attached","reason":"law","attachment":{"node_id":"n","rule_id":"a"},"rule":"SEC-1"}`,
			"rule attached",
			audit.Object{Kind: "attachment", ID: "n a", Label: "SEC-1"},
			"a", "node_id rule_id", "law",
		},
		{
			audit.KindWaiver, `{"action":"approved","waiver":{"id":"w","rule_id":"a","reason":"soon"}}`,
			"approved",
			audit.Object{Kind: "waiver", ID: "w"},
			"a", "", "soon",
		},
		{audit.KindKey, `{"action":"revoked","key_id":"k"}`, "revoked", audit.Object{Kind: "key", ID: "k"}, "", "", ""},
		{
			audit.KindRelease, `{"action":"deploy","environment":"production","snapshot_id":"s","seq":3}`,
			"deploy",
			audit.Object{Kind: "environment", ID: "production", Label: "production"},
			"", "", "",
		},
		{
			audit.KindAlert, `{"id":"l","type":"dormant_rule","status":"resolved","rule_id":"a","acknowledged_by":"ann","resolution_note":"fixed"}`,
			"resolved",
			audit.Object{Kind: "alert", ID: "l", Label: "dormant rule"},
			"a", "status", "fixed",
		},
		{
			audit.KindTestCase, `{"action":"deleted","test_cases":[{"id":"c","rule_id":"a","name":"one"}]}`,
			"deleted",
			audit.Object{Kind: "test_case", ID: "c", Label: "one"},
			"a", "test case", "",
		},
		{audit.KindQueue, `{"action":"settle","evaluation_id":"v","reason":"asked"}`, "settle", audit.Object{Kind: "evaluation", ID: "v"}, "", "", "asked"},
		{"new kind", `{"action":"x"}`, "x", audit.Object{Kind: "new kind"}, "", "", ""},
		{audit.KindRule, `{"action":7,"rule":"x","changed":3}`, "", audit.Object{Kind: "rule"}, "", "", ""},
	} {
		a := read(t, tt.kind, tt.body)
		fields := make([]string, len(a.Changes))
		for i, c := range a.Changes {
			fields[i] = c.Field
		}
		if a.Action != tt.action || a.Object != tt.object || strings.Join(a.Rules, " ") != tt.rules || strings.Join(fields, " ") != tt.fields || a.Reason != tt.reason {
			t.Errorf("%s: action %q, object %+v, rules %q, fields %q, reason %q", tt.body, a.Action, a.Object, a.Rules, fields, a.Reason)
		}
	}
	if _, err := audit.Read(&store.AuditEntry{Kind: audit.KindRule, Body: audit.Compress([]byte("[1]"))}); err == nil {
		t.Error("an entry whose body is no object is read")
	}
}

func TestCompare(t *testing.T) {
	t.Parallel()
	state := func(s string) (m map[string]json.RawMessage) {
		if err := json.Unmarshal([]byte(s), &m); err != nil {
			t.Fatal(err)
		}
		return m
	}
	got := audit.Compare(state(`{"a": [1, 2], "b": "x", "c": null, "d": 1}`), state(`{"a":[1,2],"b":"y","c":"","e":true}`))
	if b := string(audit.JSON(got)); b != `[{"field":"b","before":"x","after":"y"},{"field":"d","before":1},{"field":"e","after":true}]` {
		t.Errorf("changes %s", b)
	}
}

// TestKindsAreListed fails for a kind of entries that the list of all kinds lacks.
func TestKindsAreListed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"chain.go", "retention.go"} {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(f, func(n ast.Node) bool {
			v, ok := n.(*ast.ValueSpec)
			if !ok || len(v.Values) == 0 || !strings.HasPrefix(v.Names[0].Name, "Kind") || v.Names[0].Name == "Kinds" {
				return true
			}
			if kind := strings.Trim(v.Values[0].(*ast.BasicLit).Value, `"`); !slices.Contains(audit.Kinds, kind) {
				t.Errorf("Kinds lacks %q", kind)
			}
			return true
		})
	}
}

func FuzzRead(f *testing.F) {
	for i, body := range []string{
		`{}`, `{"action":"revised","rule":{"id":"r"},"changed":[{"field":"a"}]}`, `{"rules":[{"rule_id":1}]}`, `{"test_cases":[{},null]}`, `{"relationship":[]}`, `null`,
	} {
		f.Add(i, []byte(body))
	}
	f.Fuzz(func(t *testing.T, kind int, body []byte) {
		e := store.AuditEntry{Kind: audit.Kinds[uint(kind)%uint(len(audit.Kinds))], Body: audit.Compress(body)}
		a, err := audit.Read(&e)
		if err == nil && a.Object.Kind == "" {
			t.Errorf("%s: no object", body)
		}
	})
}
