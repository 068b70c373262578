package evaluate_test

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/evaluate"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// follower gives a view of rules and nodes.
type follower struct {
	store.FederationReader // of which views use no more than Follow

	rules    []store.RuleState
	nodes    []store.NodeState
	attached []store.AttachmentState
}

// Follow implements store.FederationReader.
func (f follower) Follow(
	_ context.Context, _ string, _ int64, onRule func(store.RuleState) error, onNode func(store.NodeState) error,
	onAttachment func(store.AttachmentState) error,
) (int64, error) {
	var errs []error
	for _, s := range f.rules {
		errs = append(errs, onRule(s))
	}
	for _, s := range f.nodes {
		errs = append(errs, onNode(s))
	}
	for _, s := range f.attached {
		errs = append(errs, onAttachment(s))
	}
	return 7, errors.Join(errs...)
}

func nodeID(n string) string { return "00000000-0000-7000-8000-0000000000" + n }

func node(id, parent string, level rule.Level, repositories ...string) store.NodeState {
	n := &rule.Node{ID: nodeID(id), Name: "node " + id, Level: level, Repositories: repositories}
	if parent != "" {
		p := nodeID(parent)
		n.ParentID = &p
	}
	return store.NodeState{Node: *n}
}

// deployed gives one view for every environment.
type deployed struct{ view *corpus.View }

func (d deployed) Deployed(context.Context, string, string) (*corpus.View, string, error) {
	return d.view, "snapshot", nil
}

// floored evaluates by 30 rules in a project with a policy. The rules are attached to organization 01. Below that are team 02 of the
// repository acme/pay with its project 03, and the teams 04 of others/*, 05 of two/* and 06 of */alike.
func floored(t *testing.T, p rule.ProjectPolicy) bench {
	t.Helper()
	f := follower{nodes: []store.NodeState{
		node("01", "", rule.LevelOrganization), node("02", "01", rule.LevelTeam, "acme/pay"), node("03", "02", rule.LevelProject),
		node("04", "01", rule.LevelTeam, "others/*"), node("05", "01", rule.LevelTeam, "two/*"), node("06", "01", rule.LevelTeam, "*/alike"),
	}}
	for i := range 30 {
		r := celRule("facts.a == 1.0")
		r.ID, r.Slug, r.ProjectID, r.Version, r.Status, r.Severity = nodeID(strconv.Itoa(50+i)), "", "p", 1, rule.Effective, rule.Critical
		r.Normalize()
		f.rules = append(f.rules, store.RuleState{Rule: r})
		f.attached = append(f.attached, store.AttachmentState{Attachment: rule.Attachment{NodeID: nodeID("01"), RuleID: r.ID}})
	}
	view, err := new(corpus.View).Follow(t.Context(), f, "p")
	if err != nil {
		t.Fatal(err)
	}
	rec := &recorder{}
	return bench{evaluate.New(evaluate.Config{
		Views: fixed{view.WithPolicy(p)}, Released: deployed{view}, Judge: noModel(t), Recorder: rec, Checks: check.NewCache(100),
		Now: func() time.Time { return noon },
	}), rec}
}

// TestWhatACallerNarrows asks in many ways, of a project without a floor, of one with it, and of one whose policy cannot be read.
func TestWhatACallerNarrows(t *testing.T) {
	floor := rule.Floor{
		SeverityMin: rule.Medium, Environment: "production", BoundNode: true,
		Scopes: []rule.ScopeFloor{{Repositories: []string{"acme/*"}, Scope: "finance"}, {Repositories: []string{"acme/pay"}, Scope: "finance/payments"}},
	}
	for name, tt := range map[string]struct {
		ask      func(*evaluate.Request)
		narrowed string // parameters that are recorded, without a floor
		below    string // those below the floor
	}{
		"nothing":                  {func(*evaluate.Request) {}, "", ""},
		"the defaults":             {func(r *evaluate.Request) { r.SeverityMin, r.MaxRules = "medium", 20 }, "", ""},
		"more":                     {func(r *evaluate.Request) { r.SeverityMin, r.MaxRules = "LOW", 100 }, "", ""},
		"severity":                 {func(r *evaluate.Request) { r.SeverityMin = "high" }, "severity_min", "severity_min"},
		"few rules in the list":    {func(r *evaluate.Request) { r.MaxRules = 5 }, "", ""},
		"the bound node":           {func(r *evaluate.Request) { r.NodeID = nodeID("02") }, "", ""},
		"a node below":             {func(r *evaluate.Request) { r.NodeID = nodeID("03") }, "node_id", ""},
		"a node of no binding":     {func(r *evaluate.Request) { r.NodeID, r.Input.Repository = nodeID("04"), "elsewhere/x" }, "node_id", "node_id"},
		"a node and no repository": {func(r *evaluate.Request) { r.NodeID, r.Input.Repository = nodeID("02"), "" }, "node_id", "node_id"},
		"the scope":                {func(r *evaluate.Request) { r.Input.Scope = "finance/payments" }, "scope", ""},
		"a scope below":            {func(r *evaluate.Request) { r.Input.Scope = "/finance/payments/cards/" }, "scope", ""},
		"a scope above":            {func(r *evaluate.Request) { r.Input.Scope = "finance" }, "scope", "scope"},
		"another scope":            {func(r *evaluate.Request) { r.Input.Scope = "sales" }, "scope", "scope"},
		"every scope":              {func(r *evaluate.Request) { r.Input.Scope = "*" }, "", ""},
		"a scope elsewhere":        {func(r *evaluate.Request) { r.Input.Scope, r.Input.Repository = "sales", "others/x" }, "scope", ""},
		"a scope of anything":      {func(r *evaluate.Request) { r.Input.Scope, r.Input.Repository = "sales", "" }, "scope", "scope"},
		"its environment":          {func(r *evaluate.Request) { r.Environment = "Production" }, "environment", ""},
		"another environment":      {func(r *evaluate.Request) { r.Environment = "staging" }, "environment", "environment"},
		"two at once":              {func(r *evaluate.Request) { r.SeverityMin, r.Input.Scope = "CRITICAL", "sales" }, "severity_min scope", "severity_min scope"},
	} {
		t.Run(name, func(t *testing.T) {
			in := subject.Input{Facts: map[string]any{"a": 1.0}, Repository: "acme/pay"}
			free := floored(t, rule.ProjectPolicy{}).run(t, in, tt.ask)
			parameters, _ := narrowings(free)
			if parameters != tt.narrowed || demands(free) != 0 {
				t.Errorf("without a floor: narrowed by %q with notices %q, want %q and none", parameters, free.Notices, tt.narrowed)
			}
			b := floored(t, rule.ProjectPolicy{Floor: floor})
			held := b.run(t, in, tt.ask)
			_, below := narrowings(held)
			if below != tt.below || demands(held) != len(strings.Fields(tt.below)) {
				t.Errorf("with a floor: %q below it, want %q; notices %q", below, tt.below, held.Notices)
			}
			if got := held.OverallVerdict == rule.Allow; got != (tt.below == "") {
				t.Errorf("with %q below the floor the overall verdict is %s", below, held.OverallVerdict)
			}
			if held.SnapshotID == nil || *held.SnapshotID != "snapshot" {
				t.Error("the rules are not those of the environment that the floor names")
			}
			stored := recordedAnswer(t, b)
			if diff := cmp.Diff(held.Narrowed, stored.Narrowed); diff != "" {
				t.Errorf("the record differs from the answer (-answer +record):\n%s", diff)
			}
			unread := floored(t, rule.ProjectPolicy{Unreadable: true}).run(t, in, tt.ask)
			if all, below := narrowings(unread); all != below || (unread.OverallVerdict == rule.Allow) != (all == "") {
				t.Errorf("with a policy that cannot be read: narrowed by %q, below the floor %q, %s", all, below, unread.OverallVerdict)
			}
		})
	}
}

// A caller takes no repository to a node that is not its own or below it, whether the project has a floor or not; how the name of the
// repository is written makes no difference.
func TestNobodyChoosesTheNodeOfARepository(t *testing.T) {
	b := floored(t, rule.ProjectPolicy{})
	for name, tt := range map[string]struct{ repository, node, bound string }{
		"the node above":     {"acme/pay", "01", "02"},
		"the node beside":    {"acme/pay", "04", "02"},
		"in another form":    {"https://github.com/Acme/pay.git", "04", "02"},
		"a less certain one": {"two/alike", "05", "06"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := b.Evaluate(t.Context(), evaluate.Request{
				ProjectID: "p", EvaluateOptions: wire.EvaluateOptions{NodeID: nodeID(tt.node)},
				Input: subject.Input{Facts: map[string]any{"a": 1.0}, Repository: tt.repository},
			})
			if rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), nodeID(tt.node)) || !strings.Contains(err.Error(), nodeID(tt.bound)) {
				t.Errorf("evaluate: %v; want a conflict that names %s and %s", err, nodeID(tt.node), nodeID(tt.bound))
			}
			_, err = b.Applicable(t.Context(), evaluate.ApplicableQuery{ProjectID: "p", NodeID: nodeID(tt.node), Repository: tt.repository})
			if rule.CodeOf(err) != rule.CodeConflict || !strings.Contains(err.Error(), nodeID(tt.bound)) {
				t.Errorf("applicable: %v; want a conflict", err)
			}
		})
	}
	for _, id := range []string{"02", "03"} {
		if _, err := b.Applicable(t.Context(), evaluate.ApplicableQuery{ProjectID: "p", NodeID: nodeID(id), Repository: "acme/pay"}); err != nil {
			t.Errorf("node %s: %v", id, err)
		}
	}
}

// recordedAnswer returns the only recorded evaluation.
func recordedAnswer(t *testing.T, b bench) *rule.Evaluation {
	t.Helper()
	var rec wire.EvaluationRecord
	if err := json.Unmarshal(b.rec.records[0].Body, &rec); err != nil || len(b.rec.records) != 1 {
		t.Fatal(err, len(b.rec.records))
	}
	return rec.Evaluation
}

// narrowings returns the parameters that were narrowed, and those of them that are below the floor.
func narrowings(e *rule.Evaluation) (all, below string) {
	var a, b []string
	for _, n := range e.Narrowed {
		a = append(a, n.Parameter)
		if n.Floor != "" {
			b = append(b, n.Parameter)
		}
	}
	return strings.Join(a, " "), strings.Join(b, " ")
}

func TestAFloorBelowTheDefaultLowersIt(t *testing.T) {
	low := rule.ProjectPolicy{Floor: rule.Floor{SeverityMin: rule.Low}}
	in := subject.Input{Facts: map[string]any{"a": 1.0}}
	if e := floored(t, low).run(t, in); e.OverallVerdict != rule.Allow || len(e.Narrowed) != 0 {
		t.Errorf("a request that leaves severity_min open is %s, narrowed by %+v", e.OverallVerdict, e.Narrowed)
	}
	e := floored(t, low).run(t, in, func(r *evaluate.Request) { r.SeverityMin = rule.Medium })
	want := []rule.Narrowed{{Parameter: "severity_min", Asked: "MEDIUM", Default: "LOW", Floor: "at most LOW"}}
	if diff := cmp.Diff(want, e.Narrowed); diff != "" || e.OverallVerdict != rule.NeedsConfirmation {
		t.Errorf("%s (-want +got):\n%s", e.OverallVerdict, diff)
	}
	if len(e.Notices) != 1 || !strings.Contains(e.Notices[0], "severity_min MEDIUM") || !strings.Contains(e.Notices[0], "at most LOW") {
		t.Errorf("notices %q do not name what was narrowed and what the floor demands", e.Notices)
	}
}

func TestADenialBelowTheFloorStays(t *testing.T) {
	b := floored(t, rule.ProjectPolicy{Floor: rule.Floor{BoundNode: true}})
	e := b.run(t, subject.Input{Facts: map[string]any{"a": 2.0}}, func(r *evaluate.Request) { r.SeverityMin = rule.Medium })
	if e.OverallVerdict != rule.Deny {
		t.Errorf("overall %s, want DENY", e.OverallVerdict)
	}
}

// demands counts the notices of an evaluation that come from the policy.
func demands(e *rule.Evaluation) int {
	n := 0
	for _, notice := range e.Notices {
		if strings.Contains(notice, "policy demands") {
			n++
		}
	}
	return n
}
