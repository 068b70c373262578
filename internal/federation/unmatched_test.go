package federation_test

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func TestUnmatchedGlobs(t *testing.T) {
	var none *federation.Tree
	if got := none.Unmatched([]string{"acme/a"}); len(got) != 0 {
		t.Errorf("without nodes: %v", got)
	}
	root := rule.Node{ID: "root", Name: "Acme", Level: rule.LevelOrganization, Repositories: []string{
		"acme/ledger", "acme/pay-*", "github.com/acme/site", "gitlab.com/*/tools", "acme/{x,y}", "**/docs", "acme/Ledger-API",
	}}
	tree := none.Apply([]store.NodeState{{Node: root}}, nil)
	for _, test := range []struct{ judged, want []string }{
		{nil, []string{"**/docs", "gitlab.com/*/tools", "acme/ledger", "acme/ledger-api", "acme/pay-*", "github.com/acme/site", "acme/{x,y}"}},
		{[]string{"acme/ledger", "github.com/acme/pay-out", "acme/site"}, []string{"**/docs", "gitlab.com/*/tools", "acme/ledger-api", "acme/{x,y}"}},
		{[]string{"acme/ledger-api", "acme/pay", "gitlab.com/acme/site", "gitlab.com/team/tools", "acme/y", "x/y/docs"}, []string{"acme/ledger", "acme/pay-*", "github.com/acme/site"}},
	} {
		var got []string
		for _, g := range tree.Unmatched(test.judged) {
			got = append(got, g.Text)
		}
		slices.Sort(got)
		slices.Sort(test.want)
		if !slices.Equal(got, test.want) {
			t.Errorf("judged %q: %q, want %q", test.judged, got, test.want)
		}
	}
	for _, g := range tree.Unmatched(nil) {
		if g.NodeID != "root" || g.Exact != (g.Text == "acme/ledger" || g.Text == "github.com/acme/site" || g.Text == "acme/ledger-api") {
			t.Errorf("%+v", g)
		}
	}
}

// What matches is that by which the nodes of repositories are found.
func TestUnmatchedAgreesWithClaims(t *testing.T) {
	var n rule.Node
	n.ID, n.Name, n.Level = "root", "Acme", rule.LevelOrganization
	for i := range 40 {
		n.Repositories = append(n.Repositories, fmt.Sprintf("acme/app-%d", i), fmt.Sprintf("team-%d/*", i), fmt.Sprintf("git.host/team-%d/app", i))
	}
	tree := (*federation.Tree)(nil).Apply([]store.NodeState{{Node: n}}, nil)
	var judged []string
	claimed := map[string]bool{}
	for i := range 60 {
		judged = append(judged, fmt.Sprintf("acme/app-%d", 3*i), fmt.Sprintf("github.com/team-%d/x", 4*i), fmt.Sprintf("team-%d/app", 5*i))
	}
	for _, name := range judged {
		for _, c := range tree.Claims(name, 100) {
			claimed[c.Glob] = true
		}
	}
	all := 0
	for g := range tree.Globs() {
		all++
		if got := slices.ContainsFunc(tree.Unmatched(judged), func(u federation.Glob) bool { return u.Text == g.Text }); got == claimed[g.Text] {
			t.Errorf("%s is claimed: %v, unmatched: %v", g.Text, claimed[g.Text], got)
		}
	}
	if all != 120 || len(claimed) < 20 {
		t.Errorf("%d globs, %d claimed", all, len(claimed))
	}
}
