package rule

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
)

// Content returns the rule with only the fields that verdicts depend on: those that the author writes, without slug, status and owner.
func (r *Rule) Content() Rule {
	var content Rule
	to, from := reflect.ValueOf(&content).Elem(), reflect.ValueOf(r).Elem()
	for _, f := range ruleFields {
		if f.kind == "" {
			to.Field(f.index).Set(from.Field(f.index))
		}
	}
	return content
}

// ContentHash returns the SHA-256, in hex, of the JSON of [Rule.Content]. Rules with equal hashes are judged alike, so verdicts are stored under this
// hash and never under ids.
func (r *Rule) ContentHash() string {
	content := r.Content()
	b, err := json.Marshal(&content)
	if err != nil {
		panic("rule: a rule must encode as JSON: " + err.Error())
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}
