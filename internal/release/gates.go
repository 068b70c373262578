package release

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Limits of gates.
const (
	MaxFreezes   = 50
	MaxApprovals = 10
)

// Gates are what a deployment to an environment must pass. The zero value lets everything pass. A rollback passes no gates: the way
// back must be open when it is needed.
type Gates struct {
	TestsPass bool     `json:"tests_pass,omitempty" doc:"All confirmed test cases of the snapshot's rules must have passed on the rules as they are in it; POST /api/v1/test-runs with its snapshot_id runs them."`
	MaxRisk   Risk     `json:"max_risk,omitempty" enum:"none,low,medium,high,critical" doc:"The most risk that a simulation against the active snapshot may find; absent for any."`
	Approvals int      `json:"approvals,omitempty" minimum:"0" maximum:"10" doc:"How many people other than the one who took the snapshot must have approved it."`
	Freezes   []Freeze `json:"freezes,omitempty" doc:"Times in which nothing is deployed, at most 50."`
}

// Freeze is a time in which nothing is deployed.
type Freeze struct {
	From   time.Time `json:"from" doc:"Beginning."`
	Until  time.Time `json:"until" doc:"End, which is not part of it."`
	Reason string    `json:"reason,omitempty" doc:"Why, for those who are refused."`
}

// Approval is a person's word for a snapshot.
type Approval struct {
	SnapshotID string    `json:"snapshot_id" doc:"The snapshot."`
	Actor      string    `json:"actor" doc:"Who approved it."`
	At         time.Time `json:"at" doc:"When."`
	Note       string    `json:"note" doc:"What they had to say."`
}

func (g *Gates) validate() error {
	var p rule.Problems
	if g.MaxRisk != "" && !slices.Contains(Risks, g.MaxRisk) {
		p.Add("max_risk", "is %q; use none, low, medium, high or critical", string(g.MaxRisk))
	}
	if g.Approvals < 0 || g.Approvals > MaxApprovals {
		p.Add("approvals", "is %d; use 0 to %d", g.Approvals, MaxApprovals)
	}
	if len(g.Freezes) > MaxFreezes {
		p.Add("freezes", "has %d entries; at most %d are allowed", len(g.Freezes), MaxFreezes)
	}
	for i, f := range g.Freezes {
		if !f.From.Before(f.Until) {
			p.Add(fmt.Sprintf("freezes[%d].until", i), "must be later than from")
		}
		tooLong(&p, fmt.Sprintf("freezes[%d].reason", i), f.Reason, MaxName)
	}
	return p.Err("the gates are invalid")
}

// Gates returns the gates of an environment.
func (r *Releases) Gates(ctx context.Context, projectID string, environment Environment) (Gates, error) {
	body, err := r.store.Gates(ctx, projectID, string(environment))
	if err != nil || len(body) == 0 {
		return Gates{}, err
	}
	var g Gates
	if err := json.Unmarshal(body, &g); err != nil {
		return g, fmt.Errorf("release: gates of %s: %w", environment, err)
	}
	return g, nil
}

// SetGates replaces the gates of an environment.
func (r *Releases) SetGates(ctx context.Context, projectID string, environment Environment, g Gates) error {
	if err := g.validate(); err != nil {
		return err
	}
	body, err := json.Marshal(&g)
	if err != nil {
		return fmt.Errorf("release: gates: %w", err)
	}
	return r.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.PutGates(ctx, projectID, string(environment), body); err != nil {
			return err
		}
		return note(ctx, tx, projectID, r.instant(), map[string]any{"action": "gates", "environment": environment, "gates": g})
	})
}

// Approve records the caller's word for a snapshot. The one who took it cannot give it; giving it again changes nothing.
func (r *Releases) Approve(ctx context.Context, projectID, id, text string) (Approval, error) {
	var p rule.Problems
	tooLong(&p, "note", text, MaxDescription)
	if err := p.Err("the approval is invalid"); err != nil {
		return Approval{}, err
	}
	who := auth.ActorFrom(ctx).Name
	var given Approval
	err := r.store.Update(ctx, func(tx store.Tx) error {
		s, err := tx.Snapshot(ctx, projectID, id)
		if err != nil {
			return err
		}
		if s.CreatedBy == who {
			return rule.Errorf(rule.CodeConflict, "%s took this snapshot; somebody else must approve it", who)
		}
		now := r.instant()
		a, fresh, err := tx.PutApproval(ctx, store.Approval{ProjectID: projectID, SnapshotID: s.ID, Actor: who, At: now, Note: text})
		if err != nil {
			return err
		}
		given = Approval{SnapshotID: a.SnapshotID, Actor: a.Actor, At: a.At, Note: a.Note}
		if !fresh {
			return nil
		}
		return note(ctx, tx, projectID, now, map[string]any{"action": "approve", "snapshot_id": s.ID, "note": text})
	})
	return given, err
}

// approvals lists who has approved a snapshot, oldest first.
func (r *Releases) approvals(ctx context.Context, projectID, id string) ([]Approval, error) {
	list, err := r.store.Approvals(ctx, projectID, id)
	out := make([]Approval, len(list))
	for i, a := range list {
		out[i] = Approval{SnapshotID: a.SnapshotID, Actor: a.Actor, At: a.At, Note: a.Note}
	}
	return out, err
}

// GateResult is how a snapshot stands before one gate.
type GateResult struct {
	Gate   string `json:"gate" enum:"freeze,approvals,tests,risk" doc:"The gate."`
	Passed bool   `json:"passed" doc:"Whether it lets the snapshot pass."`
	Detail string `json:"detail" doc:"What that rests on."`
}

// CheckGates tells how a snapshot stands before the gates of an environment; none of those that are not set.
func (r *Releases) CheckGates(ctx context.Context, projectID, id string, environment Environment) ([]GateResult, error) {
	g, err := r.Gates(ctx, projectID, environment)
	if err != nil {
		return nil, err
	}
	s, m, err := r.manifest(ctx, projectID, id)
	if err != nil {
		return nil, err
	}
	results := []GateResult{}
	if len(g.Freezes) > 0 {
		results = append(results, g.freeze(r.now()))
	}
	if g.Approvals > 0 {
		list, err := r.store.Approvals(ctx, projectID, s.ID)
		if err != nil {
			return nil, err
		}
		results = append(results, GateResult{
			"approvals", len(list) >= g.Approvals, fmt.Sprintf("%d of %d people have approved the snapshot", len(list), g.Approvals),
		})
	}
	if g.TestsPass {
		result, err := r.testGate(ctx, projectID, s.ID, m)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	if g.MaxRisk != "" {
		result, err := r.riskGate(ctx, projectID, s.ID, environment, g.MaxRisk)
		if err != nil {
			return nil, err
		}
		results = append(results, result)
	}
	return results, nil
}

func (g *Gates) freeze(now time.Time) GateResult {
	for _, f := range g.Freezes {
		if !now.Before(f.From) && now.Before(f.Until) {
			detail := "nothing is deployed until " + f.Until.UTC().Format(time.RFC3339)
			if f.Reason != "" {
				detail += ": " + f.Reason
			}
			return GateResult{"freeze", false, detail}
		}
	}
	return GateResult{"freeze", true, "no freeze is in force"}
}

// testGate counts the test cases of the snapshot's rules: those that have passed on just what the rules say in it.
func (r *Releases) testGate(ctx context.Context, projectID, id string, m *Manifest) (GateResult, error) {
	view, err := r.views.View(ctx, projectID, id)
	if err != nil {
		return GateResult{}, err
	}
	ids := make([]string, len(m.Items))
	for i, item := range m.Items {
		ids[i] = item.RuleID
	}
	counts, err := r.store.CountTests(ctx, projectID, ids)
	if err != nil {
		return GateResult{}, err
	}
	total, passing := 0, 0
	for _, c := range counts {
		if !c.Confirmed {
			continue
		}
		total += c.Total
		if e, ok := view.Get(c.RuleID); ok && e.ContentHash() == c.LastHash {
			passing += c.Passing()
		}
	}
	return GateResult{"tests", passing == total, fmt.Sprintf("%d of %d test cases have passed on the rules as they are in the snapshot", passing, total)}, nil
}

func (r *Releases) riskGate(ctx context.Context, projectID, id string, environment Environment, most Risk) (GateResult, error) {
	history, err := r.store.Deployments(ctx, projectID, string(environment))
	if err != nil {
		return GateResult{}, err
	}
	active := Active(stepsOf(history))
	if active == "" || active == id {
		return GateResult{"risk", true, "no other snapshot is active, so nothing changes"}, nil
	}
	s, err := r.Simulate(ctx, projectID, SimulateRequest{SnapshotID: id, CompareTo: active}, nil)
	if err != nil {
		return GateResult{}, err
	}
	detail := fmt.Sprintf("the simulated risk is %s, at most %s is allowed", s.RiskLevel, most)
	if len(s.RiskReasons) > 0 {
		detail += " (" + strings.Join(s.RiskReasons, "; ") + ")"
	}
	return GateResult{"risk", !s.RiskLevel.Above(most), detail}, nil
}

// pass refuses a deployment that does not pass the gates; the error names every gate's result.
func (r *Releases) pass(ctx context.Context, projectID, id string, environment Environment) error {
	results, err := r.CheckGates(ctx, projectID, id, environment)
	if err != nil {
		return err
	}
	refused := slices.ContainsFunc(results, func(g GateResult) bool { return !g.Passed })
	if !refused {
		return nil
	}
	problem := rule.Errorf(rule.CodeConflict, "the gates of %s do not let this snapshot pass", environment)
	for _, g := range results {
		state := "passed: "
		if !g.Passed {
			state = "refused: "
		}
		problem.Fields = append(problem.Fields, rule.FieldError{Field: "gates." + g.Gate, Message: state + g.Detail})
	}
	return problem
}
