package release

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Limits of gates.
const (
	MaxFreezes   = 50
	MaxApprovals = 10
)

func validateGates(g *wire.Gates) error {
	var p rule.Problems
	if g.MaxRisk != "" && !slices.Contains(wire.Risks, g.MaxRisk) {
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
func (r *environments) Gates(ctx context.Context, projectID string, environment wire.Environment) (wire.Gates, error) {
	body, err := r.releases.Gates(ctx, projectID, string(environment))
	if err != nil {
		return wire.Gates{}, err
	}
	return readGates(body, environment)
}

// readGates reads the stored gates of an environment; empty ones are none.
func readGates(body []byte, environment wire.Environment) (g wire.Gates, err error) {
	if len(body) == 0 {
		return g, nil
	}
	if err := json.Unmarshal(body, &g); err != nil {
		return g, fmt.Errorf("release: gates of %s: %w", environment, err)
	}
	return g, nil
}

// SetGates replaces the gates of an environment.
func (r *Releases) SetGates(ctx context.Context, projectID string, environment wire.Environment, g wire.Gates) error {
	if err := validateGates(&g); err != nil {
		return err
	}
	body, err := json.Marshal(&g)
	if err != nil {
		return fmt.Errorf("release: gates: %w", err)
	}
	return r.store.Update(ctx, func(tx store.Tx) error {
		if err := tx.Releases.PutGates(ctx, projectID, string(environment), body); err != nil {
			return err
		}
		return note(ctx, tx, projectID, r.instant(), map[string]any{"action": "gates", "environment": environment, "gates": g})
	})
}

// Approve records the caller's word for a snapshot. The one who took it cannot give it; giving it again changes nothing.
func (r *Releases) Approve(ctx context.Context, projectID, id, text string) (wire.Approval, error) {
	var p rule.Problems
	tooLong(&p, "note", text, MaxDescription)
	if err := p.Err("the approval is invalid"); err != nil {
		return wire.Approval{}, err
	}
	who := auth.ActorFrom(ctx).Name
	var given wire.Approval
	err := r.store.Update(ctx, func(tx store.Tx) error {
		s, err := tx.Releases.Snapshot(ctx, projectID, id)
		if err != nil {
			return err
		}
		if s.CreatedBy == who {
			return rule.Errorf(rule.CodeConflict, "%s took this snapshot; somebody else must approve it", who)
		}
		now := r.instant()
		a, fresh, err := tx.Releases.PutApproval(ctx, store.Approval{ProjectID: projectID, SnapshotID: s.ID, Actor: who, At: now, Note: text})
		if err != nil {
			return err
		}
		given = wire.Approval{SnapshotID: a.SnapshotID, Actor: a.Actor, At: a.At, Note: a.Note}
		if !fresh {
			return nil
		}
		return note(ctx, tx, projectID, now, map[string]any{"action": "approve", "snapshot_id": s.ID, "note": text})
	})
	return given, err
}

// approvals lists who has approved a snapshot, oldest first.
func approvals(ctx context.Context, from store.ReleaseReader, projectID, id string) ([]wire.Approval, error) {
	list, err := from.Approvals(ctx, projectID, id)
	out := make([]wire.Approval, len(list))
	for i, a := range list {
		out[i] = wire.Approval{SnapshotID: a.SnapshotID, Actor: a.Actor, At: a.At, Note: a.Note}
	}
	return out, err
}

// CheckGates returns the results of a snapshot at the gates of an environment that are set. With simulates false, the newest simulation of the
// snapshot against the active one answers for the risk gate, and without one the gate is pending.
func (r *Releases) CheckGates(ctx context.Context, projectID, id string, environment wire.Environment, simulates bool) ([]wire.GateResult, error) {
	results, _, err := checkGates(ctx, r, projectID, id, environment, simulates)
	return results, err
}

// passage is the state for which the results of gates hold.
type passage struct {
	gates  []byte // as they are stored
	active string // the snapshot that the risk gate compared with; empty without that gate
}

// checkGates is [Releases.CheckGates], and returns the passage too.
func checkGates(ctx context.Context, r *Releases, projectID, id string, environment wire.Environment, simulates bool) ([]wire.GateResult, *passage, error) {
	body, err := r.store.Releases.Gates(ctx, projectID, string(environment))
	if err != nil {
		return nil, nil, err
	}
	g, err := readGates(body, environment)
	if err != nil {
		return nil, nil, err
	}
	s, m, err := manifestOf(ctx, r.store.Releases, projectID, id)
	if err != nil {
		return nil, nil, err
	}
	by := &passage{gates: body}
	results := []wire.GateResult{}
	if len(g.Freezes) > 0 {
		results = append(results, freezeAt(&g, r.now()))
	}
	if g.Approvals > 0 {
		list, err := r.store.Releases.Approvals(ctx, projectID, s.ID)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, wire.GateResult{
			Gate: "approvals", Passed: len(list) >= g.Approvals, Detail: fmt.Sprintf("%d of %d people have approved the snapshot", len(list), g.Approvals),
		})
	}
	if g.TestsPass {
		result, err := r.testGate(ctx, projectID, s.ID, m)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result)
	}
	if g.MaxRisk != "" {
		history, err := r.store.Releases.Deployments(ctx, projectID, string(environment))
		if err != nil {
			return nil, nil, err
		}
		by.active = Active(history)
		result, err := r.riskGate(ctx, projectID, s.ID, by.active, g.MaxRisk, simulates)
		if err != nil {
			return nil, nil, err
		}
		results = append(results, result)
	}
	return results, by, nil
}

func freezeAt(g *wire.Gates, now time.Time) wire.GateResult {
	f := frozenAt(g, now)
	if f == nil {
		return wire.GateResult{Gate: "freeze", Passed: true, Detail: "no freeze is in force"}
	}
	detail := "nothing is deployed until " + f.Until.UTC().Format(time.RFC3339)
	if f.Reason != "" {
		detail += ": " + f.Reason
	}
	return wire.GateResult{Gate: "freeze", Passed: false, Detail: detail}
}

// testGate counts the test cases of the snapshot's rules: those that have passed on just what the rules say in it.
func (r *Releases) testGate(ctx context.Context, projectID, id string, m *Manifest) (wire.GateResult, error) {
	view, err := r.views.View(ctx, projectID, id)
	if err != nil {
		return wire.GateResult{}, err
	}
	ids := make([]string, len(m.Items))
	for i, item := range m.Items {
		ids[i] = item.RuleID
	}
	counts, err := r.store.TestCases.Count(ctx, projectID, ids)
	if err != nil {
		return wire.GateResult{}, err
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
	if total == 0 {
		return wire.GateResult{Gate: "tests", Detail: "the snapshot's rules have no confirmed test case, so nothing was tested"}, nil
	}
	return wire.GateResult{Gate: "tests", Passed: passing == total, Detail: fmt.Sprintf("%d of %d test cases have passed on the rules as they are in the snapshot", passing, total)}, nil
}

// holds reports whether gates that were passed still let a snapshot be deployed: the gates are the same, no freeze has begun, and the risk gate compared
// with the snapshot that is active. It reads in the transaction of the deployment.
func (p *passage) holds(ctx context.Context, tx store.Tx, projectID string, environment wire.Environment, history []store.Deployment, now time.Time) (bool, error) {
	body, err := tx.Releases.Gates(ctx, projectID, string(environment))
	if err != nil || !bytes.Equal(body, p.gates) {
		return false, err
	}
	g, err := readGates(body, environment)
	if err != nil || frozenAt(&g, now) != nil {
		return false, err
	}
	return g.MaxRisk == "" || Active(history) == p.active, nil
}

// riskGate simulates the snapshot against the active one. Without an active one, or if both say the same, nothing can change; if they
// differ and no evaluation could be replayed, nothing was simulated, whatever risk the gate allows.
func (r *Releases) riskGate(ctx context.Context, projectID, id, active string, most wire.Risk, simulates bool) (wire.GateResult, error) {
	if active == "" || active == id {
		return wire.GateResult{Gate: "risk", Passed: true, Detail: "no other snapshot is active, so no verdict can change"}, nil
	}
	if !simulates {
		run, found, err := r.lastSimulation(ctx, projectID, id, active)
		if err != nil || !found {
			return wire.GateResult{Gate: "risk", Pending: true, Detail: "no simulation against the active snapshot has finished; a deployment simulates first"}, err
		}
		result := riskResult(run.Result, most)
		result.SimulationID = run.ID
		result.Detail = "by the simulation of " + run.CreatedAt.UTC().Format(time.RFC3339) + "; a deployment simulates again: " + result.Detail
		return result, nil
	}
	s, err := r.Simulate(ctx, projectID, wire.SimulateRequest{SnapshotID: id, CompareTo: active}, nil)
	if err != nil {
		return wire.GateResult{}, err
	}
	return riskResult(s, most), nil
}

// riskResult is the result of the risk gate after a simulation.
func riskResult(s *wire.Simulation, most wire.Risk) wire.GateResult {
	replayed := s.VerdictChanges.TotalSampled
	if replayed == 0 && s.RiskLevel == wire.RiskNone {
		return wire.GateResult{Gate: "risk", Passed: true, Detail: "the rules are those of the active snapshot, so no verdict can change"}
	}
	var detail string
	if replayed == 0 {
		detail = "no recorded evaluation could be replayed, so the risk is not known"
	} else {
		detail = fmt.Sprintf("the risk of %d replayed evaluations is %s, at most %s is allowed", replayed, s.RiskLevel, most)
	}
	if len(s.RiskReasons) > 0 {
		detail += " (" + strings.Join(s.RiskReasons, "; ") + ")"
	}
	return wire.GateResult{Gate: "risk", Passed: replayed > 0 && !s.RiskLevel.Above(most), Detail: detail}
}

// pass refuses a deployment that does not pass the gates; the error names every gate's result.
func (r *Releases) pass(ctx context.Context, projectID, id string, environment wire.Environment) (*passage, error) {
	results, by, err := checkGates(ctx, r, projectID, id, environment, true)
	if err != nil {
		return nil, err
	}
	refused := slices.ContainsFunc(results, func(g wire.GateResult) bool { return !g.Passed })
	if !refused {
		return by, nil
	}
	problem := rule.Errorf(rule.CodeConflict, "the gates of %s do not let this snapshot pass", environment)
	for _, g := range results {
		state := "passed: "
		if !g.Passed {
			state = "refused: "
		}
		problem.Fields = append(problem.Fields, rule.FieldError{Field: "gates." + g.Gate, Message: state + g.Detail})
	}
	return nil, problem
}
