package federation_test

import (
	"testing"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func TestNodesByName(t *testing.T) {
	node := func(id, name, parent string) store.NodeState {
		n := rule.Node{ID: id, Name: name, Level: rule.LevelTeam}
		if parent != "" {
			n.ParentID = &parent
		}
		return store.NodeState{Node: n}
	}
	var none *federation.Tree
	tree := none.Apply([]store.NodeState{
		node("1", "acme", ""), node("2", "payments", "1"), node("3", "web", "1"), node("4", "web", "2"), node("5", "own/name", "1"), node("6", "payments/web", ""),
	}, nil)
	for name, want := range map[string]string{
		"acme": "1", "ACME/Payments": "2", "payments": "2", "web": "34", "acme/web": "3", "acme/payments/web": "4", "acme/own/name": "5", "own/name": "5", "payments/web": "6",
		"pay": "", "acme/": "", "/acme": "", "": "",
	} {
		got := ""
		for _, n := range federation.Named(tree, name) {
			got += n.ID
		}
		if got != want {
			t.Errorf("%q: nodes %q, want %q", name, got, want)
		}
	}
	if got := federation.Named(none, "acme"); len(got) != 0 {
		t.Errorf("without nodes: %v", got)
	}
}
