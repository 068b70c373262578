package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// endpoint receives webhooks while the year is made: one address takes them, the other is out of order.
type endpoint struct {
	address string
	server  *http.Server
}

func listen(ctx context.Context) (*endpoint, error) {
	var config net.ListenConfig
	l, err := config.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /on-call", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /chat", func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "the chat is being moved", http.StatusServiceUnavailable)
	})
	e := &endpoint{"http://" + l.Addr().String(), &http.Server{Handler: mux, ReadHeaderTimeout: time.Second}}
	go func() { _ = e.server.Serve(l) }() // until close
	return e, nil
}

func (e *endpoint) close() { _ = e.server.Close() }

// subscribe makes webhooks for the events that follow.
func subscribe(ctx context.Context, y *year, address string) error {
	for _, p := range []wire.CreatePolicy{
		{Name: "on-call", URL: address + "/on-call", EventTypes: rule.EventTypes},
		{Name: "chat", URL: address + "/chat", Format: wire.FormatSlack, EventTypes: []rule.EventType{rule.CandidatesFound, rule.ApprovalRequested, rule.RuleSubmitted}},
		{
			Name: "treasury", URL: address + "/on-call", Enabled: wire.Some(false), EventTypes: []rule.EventType{rule.EvaluationViolated},
			Filter: wire.Filter{SeverityMin: rule.Critical, Scope: "finance/payments"},
		},
	} {
		if _, err := client.Call(ctx, y.as("admin"), op.CreatePolicy, p); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	return nil
}

// run makes what those see who run Tenet: edges, times for which records are kept, keys, a simulation, and a folder that scans leave out.
func (y *year) run(ctx context.Context) error {
	return errors.Join(act(ctx, y), simulate(ctx, y), leaveOut(ctx, y), keep(ctx, y), makeKeys(ctx, y), report(ctx, y), unsubscribe(ctx, y))
}

// unsubscribe disables the webhooks, whose endpoint is gone once the year is made.
func unsubscribe(ctx context.Context, y *year) error {
	c := y.as("admin")
	list, err := client.Get(ctx, c, op.ListPolicies)
	if err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	for _, p := range list.Items {
		if _, err := client.Call(ctx, c, op.ChangePolicy.At(p.ID), wire.ChangePolicy{Enabled: wire.Some(false)}); err != nil {
			return fmt.Errorf("webhook: %w", err)
		}
	}
	return nil
}

// simulate replays evaluations by the newest snapshot and by an old one.
func simulate(ctx context.Context, y *year) error {
	sample, c := 50, y.as(reviewers[0])
	if len(y.snapshots) < 2 {
		return errors.New("simulation: there are no two snapshots")
	}
	started, err := client.Call(ctx, c, op.StartSimulation.At(y.snapshots[len(y.snapshots)-1]), wire.SimulateSnapshot{CompareTo: y.snapshots[0], SampleSize: &sample})
	if err != nil {
		return fmt.Errorf("simulation: %w", err)
	}
	return eventually(ctx, func() (bool, error) {
		s, err := client.Get(ctx, c, op.GetSimulation.At(started.ID))
		return s.Result != nil, err
	})
}

func leaveOut(ctx context.Context, y *year) error {
	_, err := client.Call(ctx, y.as(reviewers[0]), op.CreateExclusion, wire.CreateExclusion{Repository: "acme/platform-tools", Path: "docs/archive", Reason: "Policies of years ago."})
	if err != nil {
		return fmt.Errorf("exclusion: %w", err)
	}
	return nil
}

// report has edges report how they fare, after the last change of what they evaluate by. They are invented: nothing runs there, so they soon count as silent.
func report(ctx context.Context, y *year) error {
	newest, err := client.Get(ctx, y.as("admin"), op.DescribeBundle.At("production"))
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	now := time.Now()
	for _, e := range []struct {
		name   string
		report wire.EdgeReport
	}{
		{"till-oslo", wire.EdgeReport{Bundle: newest.Hash, BundleSeq: newest.Seq, BundleAge: 4, Head: 48_112, Evaluations: 48_112, StartedAt: now.Add(-41 * day)}},
		{"till-porto", wire.EdgeReport{
			Bundle: strings.Repeat("0", 64), BundleSeq: max(newest.Seq-1, 1), BundleAge: 9_400, Stale: true, Spool: 312, SpoolBytes: 402_113, SpoolAge: 9_400,
			Head: 20_034, Evaluations: 20_034, Requests: 20_951, Errors: 6, StartedAt: now.Add(-12 * day), Problem: "the server cannot be reached: connection refused",
		}},
		{"warehouse-gate", wire.EdgeReport{Bundle: newest.Hash, BundleSeq: newest.Seq, BundleAge: 3, Pinned: true, Head: 7_310, Evaluations: 7_310, StartedAt: now.Add(-3 * day)}},
	} {
		r := e.report
		r.Key, r.Version, r.Environment = wire.EdgeKeyName(rule.DefaultProject, e.name)+"+demo", "1.0.0", "production"
		if _, err := client.Call(ctx, y.as("key:edges"), op.ReportEdge.At(e.name), r); err != nil {
			return fmt.Errorf("edge: %w", err)
		}
	}
	pinned := true
	_, err = client.Call(ctx, y.as("admin"), op.ChangeEdge.At("warehouse-gate"), wire.ChangeEdge{Pinned: &pinned})
	if err != nil {
		return fmt.Errorf("edge: %w", err)
	}
	return nil
}

// keep sets how long records are kept, proposes a shorter time, which waits for a second administrator, and places legal holds.
func keep(ctx context.Context, y *year) error {
	c, least, shorter := y.as("admin"), 365, 180
	times := wire.ChangeRetention{Kinds: map[string]wire.ChangeKeepTime{"evaluation": {Days: wire.Some(800), Minimum: &least}, "scan": {Days: wire.Some(400)}}}
	if _, err := client.Call(ctx, c, op.ChangeRetention, times); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	times = wire.ChangeRetention{Kinds: map[string]wire.ChangeKeepTime{"evaluation": {Minimum: &shorter}}, Reason: "The works council asks for half a year."}
	if _, err := client.Call(ctx, c, op.ChangeRetention, times); err != nil {
		return fmt.Errorf("retention: %w", err)
	}
	since := rule.Instant(y.o.end.Add(-200 * day))
	held, err := client.Call(ctx, c, op.PlaceHold, wire.PlaceHold{Reason: "Audit of the expenses of spring.", Scope: "people/expenses"})
	if err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	if _, err := client.Call(ctx, c, op.LiftHold.At(held.ID), wire.LiftHold{Reason: "The audit has ended."}); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	if _, err := client.Call(ctx, c, op.PlaceHold, wire.PlaceHold{Reason: "Case 2026-114: the supplier disputes payments.", Repository: "acme/pay-service", Since: &since}); err != nil {
		return fmt.Errorf("hold: %w", err)
	}
	return nil
}

// makeKeys makes the keys of Acme, rotates one and revokes them all: the console of a server without a key in force opens without a sign-in.
func makeKeys(ctx context.Context, y *year) error {
	c := y.as("admin")
	var made []wire.CreatedKey
	for _, k := range []wire.CreateKey{
		{Name: "mara.lindt", Role: "admin", ProjectID: "*", Owner: "mara.lindt@acme.example"},
		{Name: "ci", Role: "evaluator", ProjectID: rule.DefaultProject},
		{Name: "coding-agent", Role: "evaluator", ProjectID: rule.DefaultProject, Owner: "dana.ito@acme.example", Agent: "coding-agent"},
		{Name: "payments-api", Role: "evaluator", ProjectID: rule.DefaultProject, KeyLimits: wire.KeyLimits{Scopes: []string{"evaluate"}, Networks: []string{"10.1.0.0/16"}, Rate: 50}},
		{Name: "auditor", Role: "viewer", ProjectID: rule.DefaultProject, KeyLimits: wire.KeyLimits{Scopes: []string{"read"}}},
	} {
		one, err := client.Call(ctx, c, op.CreateKey, k)
		if err != nil {
			return fmt.Errorf("key %s: %w", k.Name, err)
		}
		made = append(made, one)
		if k.Role == "evaluator" && len(k.Networks) == 0 {
			if err := use(ctx, y, one.Secret); err != nil {
				return fmt.Errorf("key %s: %w", k.Name, err)
			}
		}
	}
	rotated, err := client.Call(ctx, c, op.RotateKey.At(made[1].ID), wire.RotateKey{OverlapHours: wire.Some(0.0)})
	if err != nil {
		return fmt.Errorf("key: %w", err)
	}
	made = append(made, rotated)
	for _, key := range slices.Backward(made) { // the administrator's last
		if _, err := client.Get(ctx, c.InProject(key.ProjectID), op.RevokeKey.At(key.ID)); err != nil {
			return fmt.Errorf("key: %w", err)
		}
	}
	return nil
}

// use asks for an evaluation over the network, with a key.
func use(ctx context.Context, y *year, secret string) error {
	c, err := client.New("http://"+y.app.Addr(), secret, nil)
	if err != nil {
		return err
	}
	_, err = c.EvaluateQuick(ctx, client.Quick{Action: "Publish the release notes"})
	return err
}
