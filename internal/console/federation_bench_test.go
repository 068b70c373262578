package console_test

import (
	"fmt"
	"strconv"
	"testing"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// benchTree is a tree of an organization, 100 teams and 99 projects in each, which have the rules B-0, B-1 and so on: a tenth of them the
// organization, half the teams, the rest the projects. Each team overrides a rule of the organization.
func benchTree(size int) wire.FileNode {
	next := 0
	take := func(n int) []string {
		var list []string
		for ; n > 0 && next < size; n-- {
			list = append(list, fmt.Sprintf("B-%d", next))
			next++
		}
		return list
	}
	org := wire.FileNode{Name: "org", Level: rule.LevelOrganization, Repositories: []string{"org/**"}, Rules: take(size / 10)}
	for i := range 100 {
		team := wire.FileNode{Name: fmt.Sprintf("team-%02d", i), Level: rule.LevelTeam, Repositories: []string{fmt.Sprintf("org/t%02d-*", i)}}
		own := take(size / 200)
		team.Rules = own[1:]
		team.Overrides = []wire.FileOverride{{Rule: own[0], InsteadOf: fmt.Sprintf("B-%d", i)}}
		for j := range 99 {
			team.Children = append(team.Children, wire.FileNode{
				Name: fmt.Sprintf("project-%02d-%02d", i, j), Level: rule.LevelProject, Repositories: []string{fmt.Sprintf("org/t%02d-p%02d", i, j)},
				Rules: take(size * 4 / 10 / 9900),
			})
		}
		org.Children = append(org.Children, team)
	}
	return org
}

// BenchmarkFederation measures the time of the server for pages of the federation and the requests behind them: 10,000 nodes, and as many
// rules as [sizeEnv] says. Bar at 100,000 rules: 50 ms for a branch.
func BenchmarkFederation(b *testing.B) {
	size := benchSize(b)
	n := newNode(b, nil)
	file := &wire.RuleFile{}
	for i := range size {
		file.Rules = append(file.Rules, wire.RuleInput{
			Slug: new(fmt.Sprintf("B-%d", i)), Statement: fmt.Sprintf("In unit %d, payments above %d must be approved by a second person.", i%100, i),
			Status: rule.Effective, Severity: rule.Medium, Scope: []string{fmt.Sprintf("unit%d", i%100)}, AppliesTo: &rule.AppliesTo{Kinds: []string{"document"}},
		})
		if len(file.Rules) == 10_000 {
			if _, err := client.Call(b.Context(), n.api, op.ImportRules, file); err != nil {
				b.Fatal(err)
			}
			file = &wire.RuleFile{}
		}
	}
	file.Federation = []wire.FileNode{benchTree(size)}
	if _, err := client.Call(b.Context(), n.api, op.ImportRules, file); err != nil {
		b.Fatal(err)
	}
	find := func(words string) string {
		list, err := client.Get(b.Context(), n.api, op.FindNodes.Where(wire.NodesQuery{Q: words}))
		if err != nil {
			b.Fatal(err)
		}
		return list.Items[0].ID
	}
	org, team, project := find("org"), find("team-42"), find("project-42-07")
	v := n.visitor()
	for _, s := range []struct{ name, path string }{
		{"request/teams of the organization", "/api/v1/federations/nodes?page_size=50&parent=" + org},
		{"request/projects of a team", "/api/v1/federations/nodes?page_size=50&parent=" + team},
		{"request/nodes by words", "/api/v1/federations/nodes?page_size=50&q=42-0"},
		{"request/rules at a project", "/api/v1/federations/" + project + "/rules?page_size=50"},
		{"request/rules at a project by words", "/api/v1/federations/" + project + "/rules?page_size=50&q=unit+77"},
		{"request/difference of a team", "/api/v1/federations/" + team + "/diff?limit=50"},
		{"request/a repository", "/api/v1/federations/resolve?repository=org/t42-p07"},
		{"request/a repository that no glob matches", "/api/v1/federations/resolve?repository=orgs/t42-p07"},
		{"page/tree", "/p/default/federation"},
		{"page/nodes by words", "/p/default/federation?q=42-0"},
		{"page/nodes below a team", "/p/default/federation/" + team + "?view=below"},
		{"page/the organization", "/p/default/federation/" + org},
		{"page/a project", "/p/default/federation/" + project},
		{"page/a project, rules by words", "/p/default/federation/" + project + "?q=unit+77"},
		{"page/difference of a team", "/p/default/federation/" + team + "?view=diff"},
		{"page/preview of detaching from a team", "/p/default/federation/" + team + "/detach?rule=B-" + strconv.Itoa(size/10+42*(size/200+size*4/10/9900*99)+5)},
	} {
		b.Run(s.name, func(b *testing.B) { measure(b, v, s.path) })
	}
}
