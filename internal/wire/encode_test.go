package wire_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"reflect"
	"testing"
	"time"

	"pgregory.net/rapid"

	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// texts are strings with all that JSON escapes, and some that it does not.
var texts = rapid.OneOf(
	rapid.SampledFrom([]string{"", "plain", `"\/`, "<a href='x'>&amp;</a>", "\x00\x01\b\f\n\r\t\x1f\x7f", "\u2028 \u2029 \u00e9 \u4e16 \U0001f600", "\xff\xc3(\xe2\x80", "\ufffd"}), rapid.String(),
	rapid.Custom(func(t *rapid.T) string { // a long text with any byte anywhere
		b := bytes.Repeat([]byte("plain text "), 3)
		b[rapid.IntRange(0, len(b)-1).Draw(t, "place")] = rapid.Byte().Draw(t, "byte")
		return string(b)
	}),
)

// fill draws a value for everything in v that JSON shows, down to a depth.
func fill(t *rapid.T, v reflect.Value, depth int) {
	switch v.Interface().(type) {
	case time.Time:
		at := time.Unix(rapid.Int64Range(-60_000_000_000, 250_000_000_000).Draw(t, "second"), rapid.Int64Range(0, 999_999_999).Draw(t, "nanosecond"))
		v.Set(reflect.ValueOf(at.In(time.FixedZone("", 60*rapid.IntRange(-720, 720).Draw(t, "zone")))))
		return
	case json.RawMessage:
		v.SetBytes([]byte(rapid.SampledFrom([]string{`null`, `{"a":[1,"<"]}`, `"text"`}).Draw(t, "JSON")))
		return
	}
	switch v.Kind() {
	case reflect.String:
		v.SetString(texts.Draw(t, "text"))
	case reflect.Bool:
		v.SetBool(rapid.Bool().Draw(t, "truth"))
	case reflect.Int, reflect.Int64:
		v.SetInt(rapid.SampledFrom([]int64{0, 1, -1, 42, math.MaxInt64, math.MinInt64}).Draw(t, "number"))
	case reflect.Float64:
		v.SetFloat(rapid.OneOf(rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, .5, 1e-6, 9e-7, 1e21, -1e20, 1.7976931348623157e308}), rapid.Float64Range(-1e30, 1e30)).Draw(t, "float"))
	case reflect.Pointer:
		if v.SetZero(); depth > 0 && rapid.Bool().Draw(t, "present") {
			v.Set(reflect.New(v.Type().Elem()))
			fill(t, v.Elem(), depth-1)
		}
	case reflect.Slice:
		n := rapid.IntRange(-1, 2).Draw(t, "length")
		if v.SetZero(); n >= 0 && depth > 0 {
			v.Set(reflect.MakeSlice(v.Type(), n, n))
			for i := range n {
				fill(t, v.Index(i), depth-1)
			}
		}
	case reflect.Map:
		n := rapid.IntRange(-1, 3).Draw(t, "entries")
		if v.SetZero(); n >= 0 && depth > 0 {
			v.Set(reflect.MakeMap(v.Type()))
			for range n {
				key, value := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
				fill(t, key, depth-1)
				fill(t, value, depth-1)
				v.SetMapIndex(key, value)
			}
		}
	case reflect.Interface:
		kinds := []any{"", 0.0, false, []any(nil), map[string]any(nil), int64(0), json.Number("1.50")}
		if n := rapid.IntRange(-1, len(kinds)-1).Draw(t, "kind"); n >= 0 && depth > 0 {
			value := reflect.New(reflect.TypeOf(kinds[n])).Elem()
			if value.Set(reflect.ValueOf(kinds[n])); value.Type() != reflect.TypeFor[json.Number]() {
				fill(t, value, depth-1)
			}
			v.Set(value)
		}
	case reflect.Struct:
		for _, field := range v.Fields() {
			fill(t, field, depth)
		}
	default:
		t.Fatalf("a field of the kind %s", v.Kind())
	}
}

// TestEvaluationsEncodeAsEver compares the encoder with that of the standard library, on values with all fields and texts.
func TestEvaluationsEncodeAsEver(t *testing.T) {
	t.Parallel()
	proptest.Check(t, func(rt *rapid.T) {
		rec, answer := &wire.EvaluationRecord{}, &wire.SubmissionAnswer{}
		fill(rt, reflect.ValueOf(rec).Elem(), 4)
		fill(rt, reflect.ValueOf(answer).Elem(), 4)
		for _, html := range []bool{false, true} {
			same(rt, rec, html)
			same(rt, answer, html)
			same(rt, &answer.Evaluation, html)
		}
	})
	for _, html := range []bool{false, true} {
		same(t, &wire.EvaluationRecord{}, html)
		same(t, (*wire.EvaluationRecord)(nil), html)
		same(t, &rule.Evaluation{}, html)
		same(t, (*rule.Evaluation)(nil), html)
		same(t, (*wire.SubmissionAnswer)(nil), html)
	}
}

// TestTextsEncodeAsEver is the same for each byte at each place of a word of the processor.
func TestTextsEncodeAsEver(t *testing.T) {
	t.Parallel()
	for place := range 20 {
		for c := range 256 {
			text := []byte("a text of 20 letters")
			text[place] = byte(c)
			same(t, &wire.EdgeBatch{Note: string(text)}, false)
			same(t, &wire.EdgeBatch{Note: string(text)}, true)
		}
	}
}

// TestBatchesEncodeAsEver is the same for the records that an edge sends.
func TestBatchesEncodeAsEver(t *testing.T) {
	t.Parallel()
	proptest.Check(t, func(rt *rapid.T) {
		batch := &wire.EdgeBatch{}
		for range rapid.IntRange(0, 3).Draw(rt, "entries") {
			one := wire.EdgeBatchRecord{Body: rapid.SliceOf(rapid.Byte()).Draw(rt, "body")}
			fill(rt, reflect.ValueOf(&one.EdgeRecord).Elem(), 4)
			batch.Entries = append(batch.Entries, one)
		}
		batch.Note = texts.Draw(rt, "note")
		same(rt, batch, false)
	})
}

// TestRulesEncodeAsEver is the same for rules and their lists.
func TestRulesEncodeAsEver(t *testing.T) {
	t.Parallel()
	proptest.Check(t, func(rt *rapid.T) {
		rules, page, found := []rule.Rule{}, &wire.Page[rule.Rule]{}, &wire.RuleSearchPage{}
		fill(rt, reflect.ValueOf(&rules).Elem(), 4)
		fill(rt, reflect.ValueOf(page).Elem(), 4)
		fill(rt, reflect.ValueOf(found).Elem(), 4)
		for _, html := range []bool{false, true} {
			same(rt, page, html)
			same(rt, found, html)
			for i := range rules {
				same(rt, &rules[i], html)
				if got, want := wire.ContentHash(&rules[i]), rules[i].ContentHash(); got != want {
					rt.Fatalf("content hash %s, want %s, of %+v", got, want, rules[i])
				}
			}
		}
	})
	same(t, &rule.Rule{}, false)
	same(t, (*rule.Rule)(nil), false)
	same(t, &wire.Page[rule.Rule]{}, false)
	same(t, &wire.RuleSearchPage{}, false)
}

func same[T wire.Encoded](t interface {
	Helper()
	Fatalf(format string, args ...any)
}, v T, html bool,
) {
	t.Helper()
	var want bytes.Buffer
	enc := json.NewEncoder(&want)
	enc.SetEscapeHTML(html)
	if err := enc.Encode(v); err != nil {
		t.Fatalf("%v", err)
	}
	if got := append(wire.AppendJSON([]byte("before"), v, html), '\n'); string(got) != "before"+want.String() {
		t.Fatalf("escaped for HTML %t: got\n%s\nwant\n%s", html, got[len("before"):], want.String())
	}
}

// BenchmarkEncodeRules encodes a list of 5,000 rules, with the encoder of the standard library and with ours.
func BenchmarkEncodeRules(b *testing.B) {
	rules := make([]rule.Rule, 5_000)
	for i := range rules {
		rules[i] = rule.Rule{
			ID: "01a220a6-492d-7733-a282-8493a8e5f5f3", ProjectID: "default", Slug: fmt.Sprintf("B-%06d", i), Version: 1, Modality: rule.Must, Severity: rule.High, Scope: []string{"unit0", "broad"},
			Statement: fmt.Sprintf("In unit 0, a payment above %d must be approved by a second person before it is carried out (rule %d).", 1000+i, i), Tags: []string{"bench", "a payment"},
			Rationale: "Two people see more than one, and what is approved can be traced to those who answer for it.", SourceRefs: []rule.SourceRef{}, Status: rule.Effective,
			AppliesTo: &rule.AppliesTo{Kinds: []string{"facts"}}, Check: &rule.Check{CEL: "facts.amount <= 1000 || facts.approvals >= 2", Message: "approval is missing"},
			Enforcement: rule.Enforce, CreatedAt: time.Now(), CreatedBy: "key:bench", AuthoredBy: "key:bench", UpdatedAt: time.Now(), UpdatedBy: "key:bench",
		}
	}
	page := &wire.Page[rule.Rule]{Items: rules, Total: len(rules)}
	b.Run("standard", func(b *testing.B) {
		var to bytes.Buffer
		for b.Loop() {
			to.Reset()
			enc := json.NewEncoder(&to)
			enc.SetEscapeHTML(false)
			if err := enc.Encode(page); err != nil {
				b.Fatal(err)
			}
		}
		b.SetBytes(int64(to.Len()))
	})
	b.Run("ours", func(b *testing.B) {
		var to []byte
		for b.Loop() {
			to = wire.AppendJSON(to[:0], page, false)
		}
		b.SetBytes(int64(len(to)))
	})
}
