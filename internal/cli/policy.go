package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// policyCommands are `tenet policy ...`.
type policyCommands struct {
	Show policyShowCommand `cmd:"" data:"read" help:"Show the policy of the project."`
	Set  policySetCommand  `cmd:"" help:"Change the policy of the project."`
}

// policyProject is the project whose policy a command is about.
func policyProject(s *session) string { return cmp.Or(s.project(), rule.DefaultProject) }

type policyShowCommand struct {
	output
}

func (policyShowCommand) Help() string {
	return `The policy of a project bounds what callers may leave out, and decides about subjects that no rule covers.

    tenet policy show
    tenet policy show --project payments --format json`
}

func (k *policyShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	p, err := client.Get(ctx, c, op.GetProject.At(policyProject(s)))
	return show(s, k.output, p.Policy, err, printPolicy)
}

func printPolicy(s *session, p rule.ProjectPolicy) error {
	if p.Unreadable {
		s.note("the stored policy cannot be read; until it is set again, nothing uncovered and nothing narrowed is ALLOW")
	}
	f := &p.Floor
	bound := "free"
	if f.BoundNode {
		bound = "the node of the repository, or one below it"
	}
	rows := [][]any{
		{"floor severity_min", cmp.Or(string(f.SeverityMin), "none")}, {"floor environment", cmp.Or(f.Environment, "none")}, {"floor node_id", bound},
	}
	for i := range f.Scopes {
		rows = append(rows, []any{"floor scope", f.Scopes[i].Scope + " for " + strings.Join(f.Scopes[i].Repositories, ", ")})
	}
	for _, kind := range subject.Kinds {
		word := string(p.UncoveredFor(string(kind)))
		if _, set := p.Uncovered[string(kind)]; !set {
			word += " (default)"
		}
		rows = append(rows, []any{"uncovered " + string(kind), word})
	}
	for _, severity := range slices.Backward(rule.Severities) {
		rows = append(rows, []any{"fail_mode " + string(severity), cmp.Or(string(p.Fails()[severity]), "left to the hook")})
	}
	if len(p.Personal.People) > 0 {
		rows = append(rows, []any{"personal people", strings.Join(p.Personal.People, ", ")})
	}
	if len(p.Personal.Fields) > 0 {
		rows = append(rows, []any{"personal fields", strings.Join(p.Personal.Fields, ", ")})
	}
	rows = append(rows, []any{"cache_by", cmp.Or(rule.CacheFactsText(p.CacheBy), "shared by the project")})
	for i := range p.Approvals {
		rows = append(rows, []any{"approval", line(p.Approvals[i].String())})
	}
	return s.table("SETTING\tVALUE", rows)
}

type policySetCommand struct {
	policyFlags
	output
}

// policyFlags are the parts of a policy that a command changes.
type policyFlags struct {
	SeverityMin string            `placeholder:"SEVERITY" help:"The highest severity_min that a caller may ask for: LOW, MEDIUM, HIGH or CRITICAL; none takes it away."`
	Environment string            `placeholder:"NAME" help:"The environment whose snapshot judges: production, staging or development; none takes it away."`
	BoundNode   string            `placeholder:"YES|NO" enum:",yes,no" default:"" help:"yes: a caller's node must be that of the repository, or one below it."`
	Scope       map[string]string `placeholder:"GLOB=SCOPE" help:"Subjects of these repositories are in this scope, several times for several; replaces those that there are."`
	NoScopes    bool              `help:"Take all scopes away."`
	Uncovered   map[string]string `placeholder:"KIND=WORD" help:"What becomes of a subject of this kind that no rule covers: allow, confirm or deny; several times for several."`
	Approval    []string          `sep:"none" placeholder:"DEMAND" help:"A demand on approvals, as 'ask=yes, kinds=tool_call action, quorum=2'; several times for several, and replaces those that there are."`
	FailModes   string            `placeholder:"MODES" help:"What hooks answer at least about a rule that nothing could judge: open, ask or closed, or one for each severity, as CRITICAL=closed,HIGH=ask; replaces those that there are, and none takes them away."`
	Personal    string            `placeholder:"DATA" help:"Personal data, which records hold encrypted, as 'people=facts.customer.id, fields=facts.customer identity.person'; replaces those that there are, and none takes them away."`
	CacheBy     string            `placeholder:"FACTS" help:"Facts of who asks that stored verdicts of a model depend on: some of actor,person,agent,session; none has everybody in the project share them."`
	NoApprovals bool              `help:"Take all demands on approvals away."`
	Reason      string            `placeholder:"TEXT" help:"Why; needed for a change that loosens the policy."`
}

func (policySetCommand) Help() string {
	return `What is not named stays as it is. An evaluation below the floor gives its verdicts, but is never ALLOW.

A demand on approvals has fields with commas between, and spaces between the values of one: kinds, scopes and severity_min say for which
evaluations it holds; ask=yes asks for an approval automatically; role (reviewer or admin), approvers and quorum say who decides; expires_in,
escalate_after and substitutes, until when and who steps in.

    tenet policy set --severity-min MEDIUM --bound-node yes
    tenet policy set --scope 'acme/*=finance' --environment production
    tenet policy set --approval 'ask=yes, kinds=tool_call' --approval 'severity_min=HIGH, approvers=ann@example.com key:lead, quorum=2'
    tenet policy set --fail-modes CRITICAL=closed,HIGH=ask
    tenet policy set --personal 'people=facts.customer.id, fields=facts.customer'
    tenet policy set --cache-by person,agent
    tenet policy set --uncovered action=allow --reason 'the assistant asks by itself'`
}

// check refuses flags that contradict each other.
func (k *policyFlags) check() error {
	if k.NoScopes && len(k.Scope) > 0 {
		return errors.New("give --scope or --no-scopes, not both")
	}
	if k.NoApprovals && len(k.Approval) > 0 {
		return errors.New("give --approval or --no-approvals, not both")
	}
	if _, err := k.personal(); err != nil {
		return fmt.Errorf("--personal: %w", err)
	}
	if _, err := k.fails(); err != nil {
		return fmt.Errorf("--fail-modes: %w", err)
	}
	if _, err := rule.ParseCacheFacts(k.CacheBy); err != nil {
		return fmt.Errorf("--cache-by: %w", err)
	}
	_, err := k.routes()
	return err
}

// fails reads the demands on hooks; nil takes them away.
func (k *policyFlags) fails() (rule.FailModes, error) {
	if k.FailModes == "" || strings.EqualFold(k.FailModes, "none") {
		return nil, nil
	}
	return rule.ParseFailModes(k.FailModes)
}

// personal reads the names of personal data.
func (k *policyFlags) personal() (p rule.Personal, err error) {
	if k.Personal == "" || strings.EqualFold(k.Personal, "none") {
		return p, nil
	}
	for part := range strings.SplitSeq(k.Personal, ",") {
		name, values, _ := strings.Cut(strings.TrimSpace(part), "=")
		switch name {
		case "people":
			p.People = append(p.People, strings.Fields(values)...)
		case "fields":
			p.Fields = append(p.Fields, strings.Fields(values)...)
		default:
			return p, fmt.Errorf("%q is neither people=... nor fields=..., each with spaces between its values", part)
		}
	}
	return p, nil
}

// floored reports whether a part of the floor changes.
func (k *policyFlags) floored() bool {
	return k.SeverityMin+k.Environment+k.BoundNode != "" || k.NoScopes || len(k.Scope) > 0
}

// given reports whether a flag changes something.
func (k *policyFlags) given() bool {
	return k.floored() || len(k.Uncovered) > 0 || len(k.Approval) > 0 || k.NoApprovals || k.FailModes+k.Personal+k.CacheBy != ""
}

// change returns the change of a policy. The server replaces the floor as a whole, so that the other parts of it come from the policy as it is.
func (k *policyFlags) change(now rule.ProjectPolicy) wire.ProjectPolicyInput {
	change := wire.ProjectPolicyInput{Reason: k.Reason}
	if k.floored() {
		change.Floor = wire.Some(k.floor(now.Floor))
	}
	if len(k.Uncovered) > 0 {
		change.Uncovered = map[string]rule.Uncovered{}
		for kind, word := range k.Uncovered {
			change.Uncovered[kind] = rule.Uncovered(word)
		}
	}
	if modes, err := k.fails(); err == nil && k.FailModes != "" {
		change.FailModes = wire.Some(modes)
	}
	if p, err := k.personal(); err == nil && k.Personal != "" {
		change.Personal = wire.Some(p)
	}
	if facts, err := rule.ParseCacheFacts(k.CacheBy); err == nil && k.CacheBy != "" {
		change.CacheBy = wire.Some(facts)
	}
	if routes, err := k.routes(); err == nil && (len(routes) > 0 || k.NoApprovals) { // check has refused what is wrong
		change.Approvals = wire.Some(append([]rule.ApprovalRoute{}, routes...))
	}
	return change
}

// routes reads the demands on approvals.
func (k *policyFlags) routes() ([]rule.ApprovalRoute, error) {
	var routes []rule.ApprovalRoute
	for _, text := range k.Approval {
		r, err := rule.ParseApprovalRoute(text)
		if err != nil {
			return nil, fmt.Errorf("--approval: %w", err)
		}
		routes = append(routes, r)
	}
	return routes, nil
}

// Run reads the policy before it changes a part of the floor.
func (k *policySetCommand) Run(ctx context.Context, s *session) error {
	if err := k.check(); err != nil {
		return err
	}
	if !k.given() {
		return errors.New("nothing to change; name a setting, such as --severity-min MEDIUM")
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		project := policyProject(s)
		now, err := client.Get(ctx, c, op.GetProject.At(project))
		if err != nil {
			return err
		}
		change := k.change(now.Policy)
		p, err := client.Call(ctx, c, op.ChangeProject.At(project), wire.ChangeProject{Policy: &change})
		return show(s, k.output, p.Policy, err, printPolicy)
	})
}

// floor returns a floor with the changes of the command.
func (k *policyFlags) floor(f rule.Floor) rule.Floor {
	set := func(to *string, from string) {
		switch strings.ToLower(from) {
		case "":
		case "none":
			*to = ""
		default:
			*to = from
		}
	}
	severity := string(f.SeverityMin)
	set(&severity, k.SeverityMin)
	set(&f.Environment, k.Environment)
	f.SeverityMin = rule.Severity(severity)
	if k.BoundNode != "" {
		f.BoundNode = k.BoundNode == "yes"
	}
	if k.NoScopes || len(k.Scope) > 0 {
		f.Scopes = nil
	}
	for _, glob := range slices.Sorted(maps.Keys(k.Scope)) {
		f.Scopes = append(f.Scopes, rule.ScopeFloor{Repositories: []string{glob}, Scope: k.Scope[glob]})
	}
	return f
}
