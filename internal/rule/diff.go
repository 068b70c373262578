package rule

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// Diff lists the fields written by the author in which two versions of a rule differ, in the order of the rule's fields.
func Diff(before, after Rule) []FieldChange { return diff(before, after) }

// NodeDiff is [Diff] for federation nodes.
func NodeDiff(before, after Node) []FieldChange { return diff(before, after) }

func diff[T any](before, after T) []FieldChange {
	changes := []FieldChange{}
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	for _, f := range fieldsOf(a.Type()) {
		if !f.authored() {
			continue
		}
		x, errX := json.Marshal(a.Field(f.index).Interface())
		y, errY := json.Marshal(b.Field(f.index).Interface())
		if errX == nil && errY == nil && !bytes.Equal(x, y) {
			changes = append(changes, FieldChange{Field: f.name, Before: x, After: y})
		}
	}
	return changes
}
