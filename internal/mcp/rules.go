package mcp

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Bounds of lists.
const (
	defaultListed = 10
	maxListed     = 50
	maxCasesShown = 6
)

type searchInput struct {
	Query    string   `json:"query" jsonschema:"what the rules are about, in a few words, such as: logging personal data"`
	Scope    string   `json:"scope,omitempty" jsonschema:"only rules of this scope path and below"`
	Severity string   `json:"severity,omitempty" jsonschema:"only this severity: LOW, MEDIUM, HIGH or CRITICAL"`
	Tags     []string `json:"tags,omitempty" jsonschema:"only rules with all these labels"`
	Limit    int      `json:"limit,omitempty" jsonschema:"most rules to return, 1 to 50; default 10"`
}

type applicableInput struct {
	FilePaths  []string `json:"file_paths,omitempty" jsonschema:"files that you are about to change; leave out for any"`
	Repository string   `json:"repository,omitempty" jsonschema:"repository, such as github.com/acme/billing"`
	Limit      int      `json:"limit,omitempty" jsonschema:"most rules to return, 1 to 50; default 10"`
	place
}

type ruleInput struct {
	Rule string `json:"rule" jsonschema:"slug or id of the rule, such as SEC-003"`
}

// ruleList is a list of rules in short.
type ruleList struct {
	Rules []ruleLine `json:"rules" jsonschema:"the best match first"`
	Total int        `json:"total" jsonschema:"rules there are in all, also beyond those listed"`
	Note  string     `json:"note" jsonschema:"what the search had to do without; empty if nothing"`
}

// ruleLine is a rule in short.
type ruleLine struct {
	Rule      string   `json:"rule" jsonschema:"slug or id; explain_rule explains it"`
	Statement string   `json:"statement"`
	Modality  string   `json:"modality" jsonschema:"MUST, MUST_NOT, SHOULD, MAY or INFO"`
	Severity  string   `json:"severity"`
	Status    string   `json:"status" jsonschema:"only APPROVED and EFFECTIVE rules apply"`
	Scope     []string `json:"scope" jsonschema:"where it holds; empty is everywhere"`
}

func lineOf(r *rule.Rule) ruleLine {
	scope := r.Scope
	if scope == nil {
		scope = []string{}
	}
	return ruleLine{
		Rule: cmp.Or(r.Slug, r.ID), Statement: clip(r.Statement), Modality: string(r.Modality), Severity: string(r.Severity), Status: string(r.Status), Scope: scope,
	}
}

func (l *ruleList) text() string {
	if len(l.Rules) == 0 {
		return "No rule was found.\n" + l.Note
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d of %d rules:\n", len(l.Rules), l.Total)
	for _, r := range l.Rules {
		fmt.Fprintf(&b, "- %s (%s, %s, %s): %s\n", r.Rule, r.Modality, r.Severity, r.Status, r.Statement)
	}
	b.WriteString(l.Note)
	return b.String()
}

// limit is how many entries a list has; an error names what is out of range.
func limit(asked int) (int, error) {
	if asked == 0 {
		return defaultListed, nil
	}
	if asked < 1 || asked > maxListed {
		return 0, rule.Errorf(rule.CodeInvalid, "limit is %d; use 1 to %d", asked, maxListed)
	}
	return asked, nil
}

func (s *server) ruleTools(m *mcp.Server) {
	mcp.AddTool(m, tool("search_rules", "Search rules",
		"Find the organisation's rules about a topic, by words and by meaning. Use it to learn what is demanded before you write code or a plan. "+
			"Drafts are found too; see status. Nothing is judged: for a verdict use evaluate_diff, check_action or evaluate_facts.", true),
		handle(s, s.search))
	mcp.AddTool(m, tool("list_applicable_rules", "List applicable rules",
		"List the rules that would apply to a change, by the paths of its files, its repository and its scope, the most relevant first. Use it before you "+
			"start on a task, to keep the rules from the beginning. Nothing is judged.", true),
		handle(s, s.applicable))
	mcp.AddTool(m, tool("explain_rule", "Explain a rule",
		"Show one rule whole: what it says and why, its exceptions and examples, how it is decided, how it stands to other rules (overrides, conflicts), "+
			"and its test cases. Use it when a finding is unclear or you doubt that a rule applies.", true),
		handle(s, func(ctx context.Context, c *client.Client, in ruleInput) (*explanation, string, error) {
			e, err := explained(ctx, c, in.Rule)
			if err != nil {
				return nil, "", err
			}
			return e, e.text(), nil
		}))
}

func (s *server) search(ctx context.Context, c *client.Client, in searchInput) (*ruleList, string, error) {
	size, err := limit(in.Limit)
	if err != nil {
		return nil, "", err
	}
	found, err := client.SearchRules(ctx, c, "hybrid", client.SearchQuery{
		Text: in.Query, SearchFilter: wire.SearchFilter{Scope: in.Scope, Severity: rule.Severity(in.Severity), Tags: in.Tags},
		PageBody: wire.PageBody{PageSize: size},
	})
	if err != nil {
		return nil, "", err
	}
	out := &ruleList{Rules: []ruleLine{}, Total: found.Total}
	for i := range found.Items {
		out.Rules = append(out.Rules, lineOf(&found.Items[i].Rule))
	}
	if found.Degraded != nil {
		out.Note = clip(found.Degraded.Reason)
	}
	return out, out.text(), nil
}

func (s *server) applicable(ctx context.Context, c *client.Client, in applicableInput) (*ruleList, string, error) {
	size, err := limit(in.Limit)
	if err != nil {
		return nil, "", err
	}
	rules, err := c.ApplicableRules(ctx, wire.ApplicableRequest{
		FilePaths: in.FilePaths, Repository: in.Repository, Scope: in.Scope, NodeID: in.NodeID, Environment: in.Environment,
	})
	if err != nil {
		return nil, "", err
	}
	out := &ruleList{Rules: []ruleLine{}, Total: len(rules)}
	for i := range rules[:min(len(rules), size)] {
		out.Rules = append(out.Rules, lineOf(&rules[i]))
	}
	return out, out.text(), nil
}

// explanation is one rule whole.
type explanation struct {
	Rule          string     `json:"rule" jsonschema:"slug or id"`
	ID            string     `json:"id"`
	Version       int        `json:"version"`
	Statement     string     `json:"statement"`
	Modality      string     `json:"modality"`
	Severity      string     `json:"severity"`
	Status        string     `json:"status" jsonschema:"only APPROVED and EFFECTIVE rules apply"`
	Enforcement   string     `json:"enforcement" jsonschema:"enforce, warn (a violation needs confirmation) or shadow (on trial)"`
	Scope         []string   `json:"scope" jsonschema:"where it holds; empty is everywhere"`
	AppliesTo     []string   `json:"applies_to" jsonschema:"paths, repositories, kinds of subject and tools that it concerns; empty is all"`
	Rationale     string     `json:"rationale" jsonschema:"why it exists"`
	Exceptions    []string   `json:"exceptions" jsonschema:"cases that it leaves out"`
	Examples      []example  `json:"examples"`
	DecidedBy     string     `json:"decided_by" jsonschema:"how it is decided: by a deterministic check, or by a model"`
	Owner         string     `json:"owner" jsonschema:"who answers for it; may be empty"`
	Sources       []string   `json:"sources" jsonschema:"where it comes from"`
	Relationships []relation `json:"relationships" jsonschema:"how it stands to other rules"`
	TestCases     []testCase `json:"test_cases" jsonschema:"samples with the verdict that it must give; the first few"`
	MoreTestCases int        `json:"more_test_cases"`
}

type example struct {
	Input   string `json:"input"`
	Verdict string `json:"verdict"`
	Note    string `json:"note"`
}

type relation struct {
	Kind   string `json:"kind" jsonschema:"REFINES, OVERRIDES, CONFLICTS_WITH, DEPENDS_ON, DERIVES_FROM or SUPERSEDES, read from from to to"`
	From   string `json:"from"`
	To     string `json:"to"`
	Reason string `json:"reason"`
}

type testCase struct {
	Name     string `json:"name"`
	Sample   string `json:"sample"`
	Expected string `json:"expected"`
}

// explained gathers everything about a rule.
func explained(ctx context.Context, c *client.Client, ref string) (*explanation, error) {
	if strings.TrimSpace(ref) == "" {
		return nil, rule.Errorf(rule.CodeInvalid, "rule is empty; give a slug or an id")
	}
	r, err := c.Rule(ctx, ref)
	if err != nil {
		return nil, err
	}
	related, err := client.All(ctx, c, op.ListRelationships.At(r.ID))
	if err != nil {
		return nil, err
	}
	cases, err := client.Get(ctx, c, op.ListTestCases.At(r.ID))
	if err != nil {
		return nil, err
	}
	line := lineOf(&r)
	e := &explanation{
		Rule: line.Rule, ID: r.ID, Version: r.Version, Statement: r.Statement, Modality: line.Modality, Severity: line.Severity, Status: line.Status,
		Enforcement: string(r.Enforcement), Scope: line.Scope, AppliesTo: appliesTo(r.AppliesTo), Rationale: r.Rationale,
		Exceptions: append([]string{}, r.Exceptions...), Examples: []example{}, DecidedBy: decidedBy(r.Check), Owner: r.Owner, Sources: []string{},
		Relationships: []relation{}, TestCases: []testCase{},
	}
	for _, x := range r.Examples {
		e.Examples = append(e.Examples, example{clip(x.Input), string(x.Verdict), clip(x.Note)})
	}
	for _, s := range r.SourceRefs {
		e.Sources = append(e.Sources, strings.Join(strings.Fields(s.Kind+" "+s.URI+" "+s.Section), " "))
	}
	names := map[string]string{r.ID: e.Rule}
	for _, x := range related[:min(len(related), maxListed)] {
		e.Relationships = append(e.Relationships, relation{string(x.Kind), named(ctx, c, names, x.FromID), named(ctx, c, names, x.ToID), clip(x.Reason)})
	}
	for i := range cases[:min(len(cases), maxCasesShown)] {
		e.TestCases = append(e.TestCases, testCase{cases[i].Name, clip(cases[i].SampleInput), string(cases[i].ExpectedVerdict)})
	}
	e.MoreTestCases = len(cases) - len(e.TestCases)
	return e, nil
}

// named finds the slug of a related rule; its id is a name, too.
func named(ctx context.Context, c *client.Client, known map[string]string, id string) string {
	if have, ok := known[id]; ok {
		return have
	}
	known[id] = id
	if r, err := c.Rule(ctx, id); err == nil {
		known[id] = cmp.Or(r.Slug, r.ID)
	}
	return known[id]
}

func appliesTo(a *rule.AppliesTo) []string {
	out := []string{}
	if a == nil {
		return out
	}
	for _, l := range []struct {
		what string
		list []string
	}{{"paths", a.Paths}, {"not paths", a.ExcludePaths}, {"repositories", a.Repositories}, {"kinds", a.Kinds}, {"tools", a.Tools}} {
		if len(l.list) > 0 {
			out = append(out, l.what+": "+strings.Join(l.list, ", "))
		}
	}
	return out
}

func decidedBy(c *rule.Check) string {
	switch {
	case c == nil:
		return "a model; without one, it needs confirmation"
	case c.CEL != "":
		return "the expression " + clip(c.CEL)
	case c.Decides == rule.DenyOnly:
		return "the pattern " + clip(c.Pattern.Regex) + " denies; what it does not match is left to a model"
	}
	return "the pattern " + clip(c.Pattern.Regex)
}

func (e *explanation) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s, %s, %s, %s, version %d): %s\n", e.Rule, e.Modality, e.Severity, e.Status, e.Enforcement, e.Version, e.Statement)
	line := func(what string, texts ...string) {
		if text := strings.Join(texts, "; "); text != "" {
			fmt.Fprintf(&b, "%s: %s\n", what, text)
		}
	}
	line("Why", e.Rationale)
	line("Scope", e.Scope...)
	line("Applies to", e.AppliesTo...)
	line("Exceptions", e.Exceptions...)
	line("Decided by", e.DecidedBy)
	line("Owner", e.Owner)
	line("Sources", e.Sources...)
	for _, r := range e.Relationships {
		line("Relationship", fmt.Sprintf("%s %s %s %s", r.From, r.Kind, r.To, r.Reason))
	}
	for _, x := range e.Examples {
		line("Example", x.Verdict+": "+x.Input+" "+x.Note)
	}
	for _, t := range e.TestCases {
		line("Test case", t.Expected+" "+t.Name+": "+t.Sample)
	}
	if e.MoreTestCases > 0 {
		fmt.Fprintf(&b, "and %d more test cases\n", e.MoreTestCases)
	}
	return b.String()
}
