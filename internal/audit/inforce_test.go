package audit

import (
	"strings"
	"testing"

	"tenet/internal/store"
)

// InForceOf reads the last field of the body, and takes nothing else for it.
func TestInForceOfReadsTheFieldOfTheEntry(t *testing.T) {
	t.Parallel()
	recorded := func(body string) store.AuditEntry {
		e := entry(Record{ProjectID: "p", Kind: KindRule, Body: []byte(body)})
		e.Seq = 1
		e.Hash = Hash(e)
		return e
	}
	field, err := (&InForce{Rows: []string{"rule r1 "}}).into([]byte(`{"rule":{"statement":"say \"in_force\":{\"rows\":[\"rule x \"]}"}}`))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		about, body string
		rows        string // joined by commas; empty for none
		whole       bool
	}{
		{"as entries are made", string(field), "rule r1 ", false},
		{"whole", `{"a":1,"in_force":{"whole":true,"rows":["rule r1 h","key k "]}}` + "\n", "rule r1 h,key k ", true},
		{"nothing else in the body", `{"in_force":{"rows":["rule r1 "]}}`, "rule r1 ", false},
		{"not the last field", `{"in_force":{"rows":["rule r1 "]},"a":{"b":[{}]}}`, "rule r1 ", false},
		{"no field", `{"a":1}`, "", false},
		{"in a text", `{"a":"\"in_force\":{\"rows\":[\"rule x \"]}}"}`, "", false},
		{"deeper", `{"a":{"in_force":{"rows":["rule x "]}}}`, "", false},
		{"deeper, after a list", `{"b":[{"in_force":{"rows":["rule x "]}}]}`, "", false},
		{"deeper and the last field", `{"a":{"in_force":{"rows":["rule x "]}},"in_force":{"rows":["rule r1 "]}}`, "rule r1 ", false},
		{"the last field, and deeper behind it in another", `{"in_force":{"rows":["rule r1 "]},"z":{"in_force":{"rows":["rule x "]}}}`, "rule r1 ", false},
	} {
		f, err := InForceOf(recorded(tt.body))
		got, whole := "", false
		if f != nil {
			got, whole = strings.Join(f.Rows, ","), f.Whole
		}
		if err != nil || got != tt.rows || whole != tt.whole {
			t.Errorf("%s: %q, %v (%v), want %q, %v", tt.about, got, whole, err, tt.rows, tt.whole)
		}
	}
	changed := recorded(string(field))
	changed.Actor = "somebody else"
	if _, err := InForceOf(changed); err == nil {
		t.Error("an entry that was changed is read")
	}
}
