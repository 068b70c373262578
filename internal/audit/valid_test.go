package audit

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// FuzzValid compares the check of bodies with the decoder of JSON: of two, one after the other, and then of the first one again.
func FuzzValid(f *testing.F) {
	object := `{"rule_id":"0197f3c2-7d8e-7abc-9def-000000000000","verdict":"ALLOW","locations":[{"path":"a"}]}`
	list := `{"rules":[` + object + `,` + object + `]}`
	for _, s := range []string{
		``, ` `, `null`, `true`, `false`, `tru`, `nulll`, `"`, `""`, `"a`, `"a"`, `"a" "b"`, `"abcdefgh"`, `"abcdefg\"h"`, `"\u00e9\ud800"`, `"\u12x4"`, `"\u123"`, `"\x"`, `"\`, "\"a\x1fb\"", "\"\x7f\xff\xfe\"",
		"\"1234567\x00\"", `0`, `-0`, `01`, `-`, `1.`, `1.5`, `.5`, `1e`, `1e+`, `1E-07`, `1e5.2`, `[]`, `[ ]`, `[1]`, `[1,]`, `[,1]`, `[1 2]`, `[1}`, `{}`, `{ }`, `{]`, `[}`, `{"a"}`, `{"a":}`, `{"a":1,}`,
		`{"a":1,"a":2}`, `{"a" : [ {"b":null} , {} ] } `, `{1:2}`, `{"a":1 "b":2}`, `{"a":1]`, `[[[[]]]`, `[]]`, "\ufeff{}", "{}\x00", `{"a":"b","c":{"d":[1,2,{"e":"f"}],"g":-1.5e10}}`, `[{"a":[]},[{}]]`,
		strings.Repeat("[", maxDepth) + strings.Repeat("]", maxDepth), strings.Repeat("[", maxDepth+1) + strings.Repeat("]", maxDepth+1),
		strings.Repeat(`{"a":`, 70) + `[1,"x"]` + strings.Repeat("}", 70), strings.Repeat(`[{"a":`, 70) + "1" + strings.Repeat("}]", 69) + "]]",
		object, "[" + object, "[" + object + "}", "[" + object + object + "]", "[" + object[:80] + "]", "[" + object[:len(object)-1] + ",]", `{"rules":[` + object + `]`,
		strings.Repeat("[", maxDepth-1) + object + strings.Repeat("]", maxDepth-1), strings.Repeat("[", maxDepth-2) + object + strings.Repeat("]", maxDepth-2),
	} {
		f.Add([]byte(s), []byte(s))
		f.Add([]byte(list), []byte(s))
		f.Add([]byte(list), []byte(strings.Replace(list, object, s, 1)))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var v validator
		for _, b := range [][]byte{first, second, first} {
			want := jsontext.Value(b).IsValid(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			if got := v.valid(b); got != want {
				t.Fatalf("valid(%q) = %t, want %t", b, got, want)
			}
		}
	})
}

// A validator remembers the objects in the lists of a record, and takes no others for them.
func TestValidRemembers(t *testing.T) {
	var v validator
	body := TypicalBody(t, 1)
	if !v.valid(body) {
		t.Fatal("not valid")
	}
	known, objects := 0, 0
	for at := range body {
		if bytes.HasPrefix(body[at:], []byte(`{"rule_id"`)) {
			if objects++; v.known(body[at:]) > 0 {
				known++
			}
		}
	}
	if objects != 40 || known < 30 { // some may share a place
		t.Errorf("knows %d of %d objects", known, objects)
	}
	for _, from := range []string{`"verdict":"ALLOW"`, `"rule_version":1`, `"concerned":true}`} {
		changed := bytes.Replace(body, []byte(from), []byte(from[:len(from)-1]), 1)
		if v.valid(changed) {
			t.Errorf("valid without the last byte of %s", from)
		}
	}
}
