package store_test

import (
	"strings"
	"testing"

	"tenet/internal/store"
)

func TestNamesOfRevisions(t *testing.T) {
	const id = "01a204f7-e50c-75aa-8d3c-faed7a3bc691"
	for name, want := range map[string]int{
		store.RevisionID(id, 12): 12, strings.ToUpper(id) + "/1": 1,
		id: 0, id + "/": 0, id + "/0": 0, id + "/-1": 0, id + "/01": 0, id + "/+1": 0, id + "/1/2": 0, id + "/99999999999999999999": 0, "x/1": 0, "/1": 0, "": 0,
	} {
		ruleID, number, ok := store.ParseRevisionID(name)
		if ok != (want > 0) || ok && (ruleID != id || number != want) {
			t.Errorf("%q: %q, %d, %t", name, ruleID, number, ok)
		}
	}
}
