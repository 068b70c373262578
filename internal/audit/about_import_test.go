package audit

import (
	"slices"
	"strings"
	"testing"

	"tenet/internal/store"
)

// The rules of an import are those that Read returns, however the body is written.
func TestImportedRules(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		`{"created":2,"rules":[{"rule_id":"a","version":1,"action":"create"},{"rule_id":"b","version":2,"action":"update"},{"rule_id":"a","version":2,"action":"update"}]}`: "a b",
		`{"rules": [ {"rule_id" : "a", "version": 1} ]}`:                                     "a",
		`{"rules":[{"rule_id":"\u0061","version":1}]}`:                                       "a",
		`{"rules":[{"rule_id":"a","action":"\"rule_id\":\"b\""}],"nodes":[{"rule_id":"c"}]}`: "a",
		`{"rules":[{"rule_id":"a"}],"rules":[{"rule_id":"b"}]}`:                              "b",
		`{"rules":null,"created":0}`:                                                         "",
		`{"created":3}`:                                                                      "",
		`null`:                                                                               "",
	} {
		e := &store.AuditEntry{Kind: KindImport, Body: Compress([]byte(body))}
		about, err := Read(e)
		if err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		ids, err := ImportedRules(e)
		slices.Sort(ids)
		if got := strings.Join(slices.Compact(ids), " "); err != nil || got != want || strings.Join(about.Rules, " ") != want {
			t.Errorf("%s concerns %q, %v, and by Read %q; want %q", body, got, err, about.Rules, want)
		}
	}
	for _, body := range []string{``, `[]`, `{`, `{"rules":[}`, `{"rules":[]} {}`, `{"a":1,}`} {
		e := &store.AuditEntry{Kind: KindImport, Body: Compress([]byte(body))}
		if _, err := Read(e); err == nil {
			t.Errorf("%q can be read", body)
		}
		if _, err := ImportedRules(e); err == nil {
			t.Errorf("the rules of %q can be read", body)
		}
	}
}
