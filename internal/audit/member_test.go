package audit

import (
	"bytes"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// FuzzMembers compares the member of a body with the one that the decoder of JSON finds, also after other bodies.
func FuzzMembers(f *testing.F) {
	object := `{"rule_id":"0197f3c2-7d8e-7abc-9def-000000000000","version":1,"content_hash":"abcdef0123456789"}`
	for _, s := range []string{
		``, ` `, `null`, `[]`, `"rules"`, `1`, `{}`, ` { } `, `{"rules":[]}`, `{"rules":[` + object + `]}`, ` { "a" : 1 , "rules" : [ ` + object + ` , ` + object + ` ] } `,
		`{"rules":1,"rules":2}`, `{"a":{"rules":1},"rules":"x"}`, `{"a":"\"rules\":3","rules":null}`, `{"Rules":1}`, `{"\u0072ules":1}`, `{"rules":1,"\u0072ules":2}`, `{"r\\ules":1}`,
		`{"rules":-1.5e10}`, `{"rules":true}`, `{"rules":{"rules":[{},[],"]}"]}}`, `{"rules":"a\\"}`, `{"rules":1}x`, `{"rules":1`, `{"rules"}`, `{"a":[1,2 , 3 ],"rules": 7 }`, "{\"rules\":\"\xff\"}",
	} {
		f.Add([]byte(s), []byte(s))
		f.Add([]byte(`{"evaluation":{"rule_verdicts":[`+object+`]},"rules":[`+object+`]}`), []byte(s))
	}
	f.Fuzz(func(t *testing.T, first, second []byte) {
		var m Members
		for _, b := range [][]byte{first, second, first} {
			var want struct {
				Rules jsontext.Value `json:"rules"`
			}
			fault := json.Unmarshal(b, &want, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
			got, ok := m.Find(b, "rules")
			if !ok {
				if at := bytes.TrimLeft(b, " \t\r\n"); fault == nil && bytes.HasPrefix(at, []byte("{")) && !bytes.ContainsRune(b, '\\') {
					t.Fatalf("%q is an object, and nothing is found in it", b)
				}
				continue
			}
			if fault != nil || !bytes.Equal(got, want.Rules) {
				t.Fatalf("the member of %q is %q, want %q (%v)", b, got, want.Rules, fault)
			}
		}
	})
}
