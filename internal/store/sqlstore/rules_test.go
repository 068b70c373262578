package sqlstore

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

// FuzzStoredRule stores rules and reads them with both decoders: the fast one must give what encoding/json gives.
func FuzzStoredRule(f *testing.F) {
	f.Add("Keep <it> & \u2028 simple.", "SEC-003", "a/b", `\bx\b`, int64(1_760_000_000_123_456_789), uint8(255))
	f.Add("", "", "", "", int64(0), uint8(0))
	f.Add("\xff\x00\"\\", `\ud800`, "\x7f", "日本 🎉", int64(-1), uint8(85))
	f.Fuzz(func(t *testing.T, statement, slug, label, expression string, nanos int64, parts uint8) {
		at := time.Unix(0, nanos)
		r := rule.Rule{ID: "id", ProjectID: "p", Version: int(parts), Statement: statement, Slug: slug, CreatedAt: at, UpdatedAt: at.UTC()}
		has := func(bit int) bool { return parts&(1<<bit) != 0 }
		if has(0) {
			r.Scope, r.Tags = []string{label}, []string{}
		}
		if has(1) {
			r.SourceRefs = []rule.SourceRef{{Kind: label, URI: expression, Quote: statement}, {}}
		}
		if has(2) {
			r.EffectivePeriod.From = &at
		}
		if has(3) {
			r.EffectivePeriod.Until = &at
		}
		if has(4) {
			r.AppliesTo = &rule.AppliesTo{Paths: []string{expression, label}}
		}
		if has(5) {
			r.Check = &rule.Check{CEL: expression, When: label}
		}
		if has(6) {
			r.Check = &rule.Check{Pattern: &rule.Pattern{Regex: expression, Paths: []string{label}, Multiline: has(0)}}
		}
		body, err := encodeRule(r)
		if err != nil {
			t.Fatal(err) // the years of 64 bits of nanoseconds have four digits
		}
		var want rule.Rule
		if err := json.Unmarshal([]byte(body), &want); err != nil {
			t.Fatal(err)
		}
		got, err := decodeRule([]byte(body))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Fatalf("%v (-encoding/json +decodeRule):\n%s", err, diff)
		}
		if !got.CreatedAt.Equal(at.Truncate(time.Microsecond)) || got.CreatedAt.Location() != time.UTC {
			t.Fatalf("time %v was stored as %v", at, got.CreatedAt)
		}
	})
}
