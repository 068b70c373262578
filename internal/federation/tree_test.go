package federation_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"tenet/internal/federation"
	"tenet/internal/proptest"
	"tenet/internal/rule"
	"tenet/internal/store"
)

func TestTree(t *testing.T) {
	var none *federation.Tree
	if none.Len() != 0 || none.Nodes() != nil || none.Chain("x") != nil || none.Roots() != nil || none.Apply(nil, nil) != none {
		t.Error("the nil tree is not empty")
	}
	if id, err := none.Bound("acme/x"); id != "" || err != nil {
		t.Error("the nil tree binds a repository")
	}
	k := newCorpus("a")
	k.node("org", "")
	k.node("zeta", "org")
	k.node("alpha", "org")
	k.node("repo", "zeta")
	k.node("other", "")
	names := func(list []*rule.Node) string {
		var s []string
		for _, n := range list {
			s = append(s, n.Name)
		}
		return strings.Join(s, " ")
	}
	if got := names(k.tree.Roots()) + "; " + names(k.tree.Children("org")) + "; " + names(k.tree.Children("alpha")); got != "org other; alpha zeta; " {
		t.Errorf("roots and children %q", got)
	}
	if got := k.tree.Below("org"); !slices.Equal(got, []string{"alpha", "zeta", "repo"}) {
		t.Errorf("below org: %v", got)
	}
	if n, ok := k.tree.Node("ORG"); !ok || n.ID != "org" {
		t.Error("nodes are not found in any letter case")
	}

	// A change leaves the tree it was made from as it was, and attachments survive a change of their node.
	before := k.tree
	k.attach("repo", "a")
	k.tree = k.tree.Apply([]store.NodeState{{Node: rule.Node{ID: "alpha"}, Removed: true}}, nil)
	repo := rule.Node{ID: "repo", Name: "renamed", Level: rule.LevelProject, ParentID: new(string)}
	*repo.ParentID = "org"
	k.tree = k.tree.Apply([]store.NodeState{{Node: repo}}, nil)
	if n, _ := before.Node("repo"); len(n.Attached) != 0 || n.Name != "repo" || before.Len() != 5 {
		t.Error("an older tree has changed")
	}
	if n, _ := k.tree.Node("repo"); len(n.Attached) != 1 || len(k.tree.Chain("repo")) != 2 || k.tree.Len() != 4 {
		t.Errorf("after the changes: %+v of %d nodes", n, k.tree.Len())
	}
	if got := names(k.tree.Children("org")); got != "renamed zeta" {
		t.Errorf("children %q", got)
	}
	k.tree = k.tree.Apply(nil, []store.AttachmentState{
		{Attachment: attachment("repo", "a"), Removed: true},
		{Attachment: attachment("gone", "a")},
	})
	if n, _ := k.tree.Node("repo"); len(n.Attached) != 0 {
		t.Error("the attachment is still there")
	}
}

func TestMayStand(t *testing.T) {
	k := three()
	k.node("lone", "org")
	for name, c := range map[string]struct {
		id, parent string
		level      rule.Level
		want       rule.Code
		field      string
	}{
		"a new team":                      {"new", "org", rule.LevelTeam, "", ""},
		"a project under an organization": {"new", "org", rule.LevelProject, "", ""},
		"a new root":                      {"new", "", rule.LevelOrganization, "", ""},
		"an unknown parent":               {"new", "gone", rule.LevelTeam, rule.CodeInvalid, "parent_id"},
		"a team under a team":             {"new", "team", rule.LevelTeam, rule.CodeInvalid, "parent_id"},
		"a team under a project":          {"new", "repo", rule.LevelTeam, rule.CodeInvalid, "parent_id"},
		"below its own child":             {"team", "repo", rule.LevelTeam, rule.CodeConflict, ""},
		"a move of a subtree":             {"team", "org", rule.LevelTeam, "", ""},
		"a parent made as low as its child": {
			"team", "org", rule.LevelProject, rule.CodeInvalid, "level",
		},
		"a leaf made lower": {"lone", "team", rule.LevelProject, "", ""},
	} {
		n := &rule.Node{ID: c.id, Name: c.id, Level: c.level}
		if c.parent != "" {
			n.ParentID = &c.parent
		}
		err := k.tree.MayStand(n)
		if rule.CodeOf(err) != c.want || (c.field != "" && !strings.Contains(err.Error(), c.field+":")) {
			t.Errorf("%s: %v, want code %q about %q", name, err, c.want, c.field)
		}
	}
}

// However nodes are moved, as long as each move may be made, every node has a way to a root through ever higher levels.
func TestPropertyNoCircles(t *testing.T) {
	proptest.Check(t, func(t *rapid.T) {
		var tree *federation.Tree
		for range rapid.IntRange(1, 30).Draw(t, "moves") {
			n := rule.Node{ID: fmt.Sprint("n", rapid.IntRange(0, 6).Draw(t, "node")), Level: rapid.SampledFrom(rule.Levels).Draw(t, "level")}
			if n.Level != rule.LevelOrganization {
				parent := fmt.Sprint("n", rapid.IntRange(0, 6).Draw(t, "parent"))
				n.ParentID = &parent
			}
			if tree.MayStand(&n) == nil && n.Parent() != n.ID {
				tree = tree.Apply([]store.NodeState{{Node: n}}, nil)
			}
		}
		for _, n := range tree.Nodes() {
			chain := tree.Chain(n.ID)
			if chain[0].ParentID != nil {
				t.Fatalf("%s has no way to a root", n.ID)
			}
			for i := 1; i < len(chain); i++ {
				if !chain[i-1].Level.Above(chain[i].Level) {
					t.Fatalf("%s is not above %s", chain[i-1].Level, chain[i].Level)
				}
			}
		}
		reached := 0
		for _, root := range tree.Roots() {
			reached += 1 + len(tree.Below(root.ID))
		}
		if reached != tree.Len() {
			t.Fatalf("%d of %d nodes are below a root", reached, tree.Len())
		}
	})
}

func TestBound(t *testing.T) {
	k := newCorpus()
	bind := func(globs ...string) func(*rule.Node) { return func(n *rule.Node) { n.Repositories = globs } }
	k.node("org", "", bind("acme/**", "acme/legacy"))
	k.node("team", "org", bind("acme/pay-*"))
	k.node("repo", "team", bind("acme/pay-api", "acme/**"))
	k.node("twin", "org", bind("acme/web-*"))
	k.node("twin2", "org", bind("acme/*-app", "acme/web-?"))
	k.node("hosted", "org", bind("github.com/other/hosted", "https://github.com/other/only.git", "github.com/other/both"))
	k.node("elsehost", "org", bind("gitlab.com/Other/*"))
	k.node("bare", "org", bind("Other/Hosted"))
	k.node("twohost", "org", bind("gitlab.com/other/both"))
	for repository, want := range map[string]string{
		"acme/pay-api":    "repo",      // by its name
		"acme/pay-web":    "team",      // by the glob with more characters
		"acme/other":      "repo",      // by equal globs, of the lower level
		"acme/legacy":     "org",       // by its name, although lower nodes match
		"acme/web-shop":   "twin",      // one glob
		"acme/web-x":      "ambiguous", // acme/web-* and acme/web-?: alike in length and level
		"elsewhere/thing": "",

		"git@github.com:Acme/Pay-API.git": "repo",
		"https://github.com/acme/pay-web": "team",
		"ACME/legacy.git":                 "org",
		"github.com/other/hosted":         "hosted", // by its host
		"gitlab.com/other/hosted":         "bare", "gitlab.com/other/x": "elsehost",
		"other/hosted":             "bare",   // a node that leaves the host open is certain
		"other/only":               "hosted", // perhaps there
		"bitbucket.org/other/only": "",
		"other/both":               "ambiguous",
		"":                         "",
	} {
		for range 2 { // remembered
			got, err := k.tree.Bound(repository)
			if rule.CodeOf(err) == rule.CodeConflict {
				got = "ambiguous"
			} else if err != nil {
				t.Fatal(err)
			}
			if got != want {
				t.Errorf("%q is bound to %q (%v), want %q", repository, got, err, want)
			}
		}
	}
	for i := range 20_000 { // names come from outside, and must not fill the memory
		if got, _ := k.tree.Bound(fmt.Sprint("acme/pay-", i)); got != "team" {
			t.Fatalf("pay-%d is bound to %s", i, got)
		}
	}
	taken := func(id string, level rule.Level, globs ...string) rule.Code {
		return rule.CodeOf(k.tree.Taken(&rule.Node{ID: id, Level: level, Repositories: globs}))
	}
	if got := taken("new", rule.LevelTeam, "acme/x", "Acme/pay-*.git"); got != rule.CodeConflict {
		t.Errorf("a glob of another team is taken twice: %q", got)
	}
	if got := taken("new", rule.LevelProject, "acme/pay-api"); got != rule.CodeConflict {
		t.Errorf("a repository of another project is taken twice: %q", got)
	}
	if taken("new", rule.LevelProject, "acme/pay-*") != "" || taken("team", rule.LevelTeam, "acme/pay-*") != "" {
		t.Error("a glob is taken by a node of another level, or by the node itself")
	}
}
