package console

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// projectList is the view of the list of projects.
type projectList struct {
	items []rule.Project
	place pager
	form  entry
}

// projectsPage lists the projects.
func projectsPage(p *page) error { return showProjects(p, &projectList{}) }

func showProjects(p *page, v *projectList) error {
	list, err := client.Get(p.ctx, p.api, op.ListProjects.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}))
	if err != nil {
		return err
	}
	v.items, v.place = list.Items, pager{pageOf(p.r), listSize, len(list.Items), list.Total}
	return p.showAs(v.form.code(), head{Title: "Projects", Nav: "operations"}, projectsView(p, v))
}

// makeProject makes a project.
func makeProject(p *page) error {
	v := projectList{form: entry{values: p.r.PostForm}}
	made, err := client.Call(p.ctx, p.api, op.CreateProject, wire.CreateProject{
		ID: strings.TrimSpace(v.form.get("id")), Name: v.form.get("name"), Description: v.form.get("description"), TwoPerson: v.form.get("two_person") != "",
		TestsRequired: v.form.get("tests_required") != "",
	})
	if err != nil {
		if err := v.form.refuse(err, func(name string) string { return name }); err != nil {
			return err
		}
		return showProjects(p, &v)
	}
	p.say("The project " + made.Name + " is made.")
	return p.redirect(projectAddress(made.ID, "operations"))
}

// policyKinds are the kinds of subjects that a policy has a word for.
var policyKinds = []wire.SubjectKind{
	wire.CodeChange, wire.DocumentKind, wire.Action, wire.Facts, wire.Transaction, wire.Communication, wire.BusinessEvent, wire.DecisionRequest,
	wire.ToolCall,
}

// projectSettings is the view of the settings of a project.
type projectSettings struct {
	project  rule.Project
	form     entry
	cache    wire.CacheStats
	settings *wire.Settings // of the server; nil for those who may not see them
}

// projectPage shows the settings, the policy and the cache of a project.
func projectPage(p *page) error {
	v := projectSettings{form: entry{values: projectForm(&p.project)}}
	return showProject(p, &v)
}

func showProject(p *page, v *projectSettings) error {
	var err error
	v.project = p.project
	if v.cache, err = client.Get(p.ctx, p.api, op.GetCache); err != nil {
		return err
	}
	if overAll(p) {
		settings, err := client.Get(p.ctx, p.api, op.GetSettings)
		if err != nil {
			return err
		}
		v.settings = &settings
	}
	return p.showAs(v.form.code(), head{Title: "Project " + p.project.Name, Nav: "operations"}, projectView(p, v))
}

// projectForm fills the form with a project as it is.
func projectForm(r *rule.Project) map[string][]string {
	f := &r.Policy.Floor
	form := map[string][]string{
		"name": {r.Name}, "description": {r.Description}, "severity_min": {string(f.SeverityMin)}, "environment": {f.Environment}, "scopes": {scopeLines(f.Scopes)},
		"approvals": {routeLines(r.Policy.Approvals)}, "cache_by": {rule.CacheFactsText(r.Policy.CacheBy)},
	}
	for _, severity := range rule.Severities {
		form["fail_modes."+string(severity)] = []string{string(r.Policy.Fails()[severity])}
	}
	for name, on := range map[string]bool{"two_person": r.TwoPerson, "tests_required": r.TestsRequired, "bound_node": f.BoundNode} {
		if on {
			form[name] = []string{"1"}
		}
	}
	for _, kind := range policyKinds {
		form["uncovered."+string(kind)] = []string{string(r.Policy.UncoveredFor(string(kind)))}
	}
	return form
}

// scopeLines writes the scopes of a floor as the form has them: globs with commas between, an arrow, the scope.
func scopeLines(scopes []rule.ScopeFloor) string {
	var b strings.Builder
	for i := range scopes {
		fmt.Fprintf(&b, "%s -> %s\n", strings.Join(scopes[i].Repositories, ", "), scopes[i].Scope)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// readScopes reads the scopes of a floor.
func readScopes(t *entry) []rule.ScopeFloor {
	var scopes []rule.ScopeFloor
	for i, line := range splitList(t.get("scopes"), false) {
		globs, scope, ok := strings.Cut(line, "->")
		if !ok || strings.TrimSpace(scope) == "" || strings.TrimSpace(globs) == "" {
			t.bad("scopes", fmt.Sprintf("line %d is not repositories, ->, and a scope, such as acme/* -> finance", i+1))
			continue
		}
		scopes = append(scopes, rule.ScopeFloor{Repositories: splitList(globs, true), Scope: strings.TrimSpace(scope)})
	}
	return scopes
}

// routeLines writes demands on approvals as the form has them, one a line.
func routeLines(routes []rule.ApprovalRoute) string {
	lines := make([]string, len(routes))
	for i := range routes {
		lines[i] = routes[i].String()
	}
	return strings.Join(lines, "\n")
}

// readRoutes reads the demands on approvals.
func readRoutes(t *entry) []rule.ApprovalRoute {
	routes := []rule.ApprovalRoute{}
	for i, line := range splitList(t.get("approvals"), false) {
		r, err := rule.ParseApprovalRoute(line)
		if err != nil {
			t.bad("approvals", fmt.Sprintf("line %d: %s", i+1, err))
		}
		routes = append(routes, r)
	}
	return routes
}

// readFailModes reads the demands on hooks.
func readFailModes(t *entry) rule.FailModes {
	modes := rule.FailModes{}
	for _, severity := range rule.Severities {
		if mode := t.get("fail_modes." + string(severity)); mode != "" {
			modes[severity] = rule.FailMode(mode)
		}
	}
	return modes
}

// changeProject stores the settings and the policy of a project: what the form changes of them.
func changeProject(p *page) error {
	v := projectSettings{form: entry{values: p.r.PostForm}}
	t, now := &v.form, &p.project
	floor := rule.Floor{
		SeverityMin: rule.Severity(t.get("severity_min")), Environment: t.get("environment"), BoundNode: t.get("bound_node") != "", Scopes: readScopes(t),
	}
	routes, modes := readRoutes(t), readFailModes(t)
	cacheBy, err := rule.ParseCacheFacts(t.get("cache_by"))
	if err != nil {
		t.bad("cache_by", err.Error())
	}
	if t.fails() {
		return showProject(p, &v)
	}
	change := wire.ChangeProject{
		Name: wire.Some(t.get("name")), Description: wire.Some(t.get("description")), TwoPerson: wire.Some(t.get("two_person") != ""),
		TestsRequired: wire.Some(t.get("tests_required") != ""),
	}
	policy := wire.ProjectPolicyInput{Reason: strings.TrimSpace(t.get("reason"))}
	changed := now.Policy.Unreadable
	if was := now.Policy.Floor; changed || floor.SeverityMin != was.SeverityMin || floor.Environment != was.Environment || floor.BoundNode != was.BoundNode ||
		scopeLines(floor.Scopes) != scopeLines(was.Scopes) {
		policy.Floor, changed = wire.Some(floor), true
	}
	for _, kind := range policyKinds {
		word := rule.Uncovered(t.get("uncovered." + string(kind)))
		if word != "" && word != now.Policy.UncoveredFor(string(kind)) {
			if policy.Uncovered == nil {
				policy.Uncovered = map[string]rule.Uncovered{}
			}
			policy.Uncovered[string(kind)], changed = word, true
		}
	}
	if now.Policy.Unreadable || routeLines(routes) != routeLines(now.Policy.Approvals) {
		policy.Approvals, changed = wire.Some(routes), true
	}
	if now.Policy.Unreadable || modes.String() != now.Policy.FailModes.String() {
		policy.FailModes, changed = wire.Some(modes), true
	}
	if now.Policy.Unreadable || rule.CacheFactsText(cacheBy) != rule.CacheFactsText(now.Policy.CacheBy) {
		policy.CacheBy, changed = wire.Some(cacheBy), true
	}
	if changed {
		change.Policy = &policy
	}
	if _, err := client.Call(p.ctx, p.api, op.ChangeProject.At(now.ID), change); err != nil {
		if err := t.refuse(err, projectField); err != nil {
			return err
		}
		return showProject(p, &v)
	}
	p.say("The project is changed.")
	return p.redirect(p.at("operations"))
}

// projectField is the field of the form for a field of the API.
func projectField(name string) string {
	name = strings.TrimPrefix(strings.TrimPrefix(name, "policy."), "floor.")
	switch first, _, _ := strings.Cut(name, "["); {
	case first == "scopes" || first == "approvals" || first == "cache_by":
		return first
	case slices.Contains([]string{"name", "description", "severity_min", "environment", "bound_node", "reason"}, name) || strings.HasPrefix(name, "uncovered.") ||
		strings.HasPrefix(name, "fail_modes."):
		return name
	}
	return ""
}

// clearCache deletes stored verdicts of a project: all, or those older than some days.
func clearCache(p *page) error {
	var deleted wire.CacheDeleted
	var err error
	switch p.r.PostForm.Get("do") {
	case "old":
		before := time.Now().AddDate(0, 0, -30)
		deleted, err = client.Call(p.ctx, p.api, op.PruneCache, wire.PruneCache{Before: &before})
	case "all":
		deleted, err = client.Get(p.ctx, p.api, op.ClearCache)
	default:
		return rule.Errorf(rule.CodeInvalid, "the form says nothing to delete; go back and press a button")
	}
	if err != nil {
		return err
	}
	p.say(grouped(deleted.Deleted) + " stored verdicts are deleted.")
	return p.redirect(p.at("operations"))
}

// uncoveredChoices are the words for subjects that no rule covers; the default of the kind is named.
func uncoveredChoices(kind wire.SubjectKind) []option {
	var none rule.ProjectPolicy
	list := make([]option, len(rule.UncoveredWords))
	for i, word := range rule.UncoveredWords {
		list[i] = option{string(word), string(word)}
		if word == none.UncoveredFor(string(kind)) {
			list[i].Label += " (default)"
		}
	}
	return list
}

// failModeChoices are the demands on hooks about rules of one severity. A demand of the server leaves out what is looser.
func failModeChoices(severity rule.Severity, least rule.FailModes) []option {
	list := []option{{"", "left to the hook"}}
	for _, mode := range rule.FailModeWords {
		if !mode.LooserThan(least[severity]) {
			list = append(list, option{string(mode), string(mode) + ": " + failModeWords[mode]})
		}
	}
	return list
}

var failModeWords = map[rule.FailMode]string{rule.FailOpen: "let it pass and say so", rule.FailAsk: "ask the person", rule.FailClosed: "deny"}

// leastFailModes returns what the server demands of the fail modes of all projects, where the person may see its settings.
func leastFailModes(settings *wire.Settings) rule.FailModes {
	if settings == nil {
		return nil
	}
	one := settingOf(settings, "hook_fail")
	if one.Source == "" || one.Source == wire.FromDefault {
		return nil
	}
	modes, err := rule.ParseFailModes(one.Value)
	if err != nil {
		return nil
	}
	return modes
}

// anySeverity and anyEnvironment are the choices of a floor.
func anySeverity() []option { return append([]option{{"", "none"}}, options(rule.Severities)...) }

func anyEnvironment() []option { return append([]option{{"", "none"}}, options(wire.Environments)...) }

// serverSettings are the settings of the server that hold for every project, with their words.
var serverSettings = []struct{ key, label string }{
	{"record_retention", "Days that records of evaluations stay"},
	{"record_subjects", "What a record keeps of its subject"},
	{"scan_retention", "Days that scans stay"},
	{"hook_fail", "Hooks, where a rule could not be judged"},
	{"undecided", "tenet check, where nothing could decide a rule"},
	{"cache_max_mb", "MiB of stored verdicts of a project"},
}

// kindWords is a kind of subject for people.
func kindWords(kind wire.SubjectKind) string {
	return cmp.Or(strings.ReplaceAll(string(kind), "_", " "), "nothing")
}
