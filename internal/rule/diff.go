package rule

import (
	"bytes"
	"encoding/json"
	"reflect"
)

// bookkeeping are the fields of a rule or node that its author does not write.
var bookkeeping = map[string]bool{
	"id": true, "project_id": true, "version": true, "created_at": true, "created_by": true, "authored_by": true,
	"updated_at": true, "updated_by": true, "change_note": true,
}

// Diff lists the fields, but for the bookkeeping, in which two versions of a rule differ, in the order of the rule's fields.
func Diff(before, after Rule) []FieldChange { return diff(before, after) }

// NodeDiff is [Diff] for federation nodes.
func NodeDiff(before, after Node) []FieldChange { return diff(before, after) }

func diff[T any](before, after T) []FieldChange {
	changes := []FieldChange{}
	a, b := reflect.ValueOf(before), reflect.ValueOf(after)
	for i := range a.NumField() {
		name, _, _ := bytes.Cut([]byte(a.Type().Field(i).Tag.Get("json")), []byte(","))
		if bookkeeping[string(name)] {
			continue
		}
		x, errX := json.Marshal(a.Field(i).Interface())
		y, errY := json.Marshal(b.Field(i).Interface())
		if errX == nil && errY == nil && !bytes.Equal(x, y) {
			changes = append(changes, FieldChange{Field: string(name), Before: x, After: y})
		}
	}
	return changes
}
