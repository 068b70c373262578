package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// peers measures Tenet's server and edge beside Open Policy Agent in one run: the same 20 rules on a payment, the same client, and a log of every
// decision, which OPA writes to a file without syncing it. OPA ships its log nowhere; the edge is measured both while it ships its records to a server,
// which takes a part of the same processors, and while that server is away.
func peers(ctx context.Context, o options) error {
	tenet, err := start(ctx, o, "--no-seed")
	if err != nil {
		return err
	}
	defer tenet.stop()
	if _, err := tenet.importRules(ctx, payments()); err != nil {
		return err
	}
	edge, err := tenet.edge(ctx)
	if err != nil {
		return err
	}
	defer edge.stop()
	opa, err := startOPA(ctx, o)
	if err != nil {
		return err
	}
	defer opa.stop()
	fmt.Printf("## 20 rules on a payment, side by side, %s a phase\n\n%s", o.duration, columns)
	type peer struct {
		name, path string
		server     *server
		body       func(int) []byte
	}
	beside := peer{"OPA, decision log to a file", "/v1/data/payments", opa, func(i int) []byte { return payment("input", i) }}
	rows := func(clients int, peers ...peer) error {
		for _, p := range peers {
			if err := p.server.row(ctx, p.name, clients, p.path, p.body); err != nil {
				return err
			}
		}
		return nil
	}
	for _, clients := range []int{1, 8, 32} {
		if err := rows(
			clients, beside, peer{"Tenet, server, records synced", "/api/v1/evaluate", tenet, paymentRequest},
			peer{"Tenet, server, one verdict listed", "/api/v1/evaluate", tenet, briefRequest},
			peer{"Tenet, edge, records synced and shipped to that server", "/api/v1/evaluate", edge, paymentRequest},
		); err != nil {
			return err
		}
	}
	tenet.down()
	for _, clients := range []int{1, 8, 32} {
		if err := rows(clients, beside, peer{"Tenet, edge, records synced, its server away", "/api/v1/evaluate", edge, paymentRequest},
			peer{"Tenet, edge, its server away, one verdict listed", "/api/v1/evaluate", edge, briefRequest}); err != nil {
			return err
		}
	}
	if err := edge.verify(ctx); err != nil {
		return err
	}
	if err := edgeAlone(ctx, o); err != nil || o.semgrep == "" {
		return err
	}
	return semgrep(ctx, o)
}

// edgeAlone measures an edge with 10,000 rules, of which 100 are in scope of each request, while it ships its records and while its server is away.
func edgeAlone(ctx context.Context, o options) error {
	tenet, err := start(ctx, o, "--no-seed")
	if err != nil {
		return err
	}
	defer tenet.stop()
	if _, err := tenet.importRules(ctx, corpus(10_000, 100)); err != nil {
		return err
	}
	if err := tenet.settle(ctx); err != nil {
		return err
	}
	edge, err := tenet.edge(ctx)
	if err != nil {
		return err
	}
	defer edge.stop()
	tenet.down() // an edge starts without a network
	cold, err := edge.restart(ctx)
	if err != nil {
		return err
	}
	used, err := edge.used()
	if err != nil {
		return err
	}
	memory, err := edge.rss()
	if err != nil {
		return err
	}
	fmt.Printf("\n## Edge, 10,000 rules, 100 in scope\n\nWithout a network ready from its own disk after %d ms, with %d ms of processor time; RSS then %d MiB.\n\n", cold.Milliseconds(), used.Milliseconds(), memory>>20)
	if err := tenet.again(ctx); err != nil {
		return err
	}
	fmt.Print(columns)
	for _, phase := range []struct {
		name   string
		before func()
	}{{"records synced and shipped to a server on the same processors", func() {}}, {"records synced, the server away", tenet.down}} {
		phase.before()
		for _, clients := range []int{8, 32} {
			if err := edge.row(ctx, "evaluation of facts, "+phase.name, clients, "/api/v1/evaluate", factsRequest); err != nil {
				return err
			}
		}
	}
	return edge.verify(ctx)
}

// columns are the head of a table of rows.
const columns = "| what | clients | decisions/s | p50 ms | p99 ms | processor us each | RSS MiB |\n|---|---|---|---|---|---|---|\n"

// row measures a phase and prints it, with the processor time of the server alone.
func (s *server) row(ctx context.Context, name string, clients int, path string, body func(int) []byte) error {
	request := posts(path, body)
	if _, err := s.phase(ctx, clients, s.o.duration/5, request); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	before, err := s.used()
	if err != nil {
		return err
	}
	r, err := s.phase(ctx, clients, s.o.duration, request)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	after, err := s.used()
	if err != nil {
		return err
	}
	memory, err := s.rss()
	if err != nil {
		return err
	}
	fmt.Printf("| %s | %d | %.0f | %.1f | %.1f | %d | %d |\n", name, clients, r.rate, r.ms(0.5), r.ms(0.99), (after-before).Microseconds()/int64(len(r.times)), memory>>20)
	return nil
}

// paymentKinds are the fields that the rules on a payment look at.
const paymentKinds = 20

// payments are rules on a payment, each with a check of its own.
func payments() []map[string]any {
	rules := make([]map[string]any, paymentKinds)
	for i := range rules {
		rules[i] = map[string]any{
			"slug": fmt.Sprintf("PAY-%d", i), "status": "EFFECTIVE", "modality": "MUST", "severity": "HIGH", "applies_to": map[string]any{"kinds": []string{"facts"}},
			"statement": fmt.Sprintf("Payments above %d EUR need %d approvals.", 1000*(i+1), i%3+1),
			"check":     map[string]any{"cel": fmt.Sprintf("facts.amount <= %d.0 || facts.approvals >= %d.0", 1000*(i+1), i%3+1)},
		}
	}
	return rules
}

// policy has the same rules for OPA.
func policy() string {
	var b strings.Builder
	b.WriteString("package payments\n\ndefault allow := false\n\nallow if count(deny) == 0\n")
	for i := range paymentKinds {
		fmt.Fprintf(&b, "\ndeny contains \"PAY-%d\" if {\n\tinput.amount > %d\n\tinput.approvals < %d\n}\n", i, 1000*(i+1), i%3+1)
	}
	return b.String()
}

// payment is one that differs from the others, under the name that its server expects.
func payment(name string, i int) []byte {
	return fmt.Appendf(nil, `{"%s":{"amount":%d,"approvals":%d,"reference":"P-%d","currency":"EUR","requester":"ann","country":"DE"}}`, name, 500+i%900, i%4, i)
}

func paymentRequest(i int) []byte { return payment("facts", i) }

// briefRequest asks for an answer that lists one verdict and counts the others, which is closer to the short one that OPA gives. All rules are checked, and
// the record has what the answer has.
func briefRequest(i int) []byte {
	return append(bytes.TrimSuffix(paymentRequest(i), []byte("}")), `,"max_rules":1}`...)
}

// edge deploys the rules of a server and starts an edge that takes them.
func (s *server) edge(ctx context.Context) (*server, error) {
	var snapshot struct {
		ID string `json:"id"`
	}
	for _, step := range []struct {
		path, body string
		into       any
	}{{"/api/v1/snapshots", `{"name":"bench"}`, &snapshot}, {"/deploy", `{"environment":"production"}`, nil}} {
		path := step.path
		if snapshot.ID != "" {
			path = "/api/v1/snapshots/" + snapshot.ID + path
		}
		status, answer, err := s.post(ctx, path, []byte(step.body))
		if err != nil {
			return nil, err
		}
		if status/100 != 2 {
			return nil, fmt.Errorf("%s answered %d: %.300s", path, status, answer)
		}
		if step.into != nil {
			if err := json.Unmarshal(answer, step.into); err != nil {
				return nil, err
			}
		}
	}
	answer, err := s.get(ctx, "/api/v1/bundles/production/info")
	if err != nil {
		return nil, err
	}
	defer func() { _ = answer.Body.Close() }()
	var info struct {
		Keys []string `json:"keys"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&info); err != nil {
		return nil, err
	}
	trust := filepath.Join(s.dir, "trust")
	if err := os.WriteFile(trust, []byte(strings.Join(info.Keys, "\n")+"\n"), 0o600); err != nil {
		return nil, err
	}
	return startCommand(ctx, s.o, "edge", "--bundle", s.url+"/api/v1/bundles/production", "--trust", trust, "--name", "bench")
}

// startOPA starts OPA with the policy and its decision log on the console.
func startOPA(ctx context.Context, o options) (*server, error) {
	dir, err := os.MkdirTemp("", "tenet-bench-*")
	if err != nil {
		return nil, err
	}
	s := &server{o: o, dir: dir, http: newClient()}
	log, err := os.Create(filepath.Join(dir, "decisions"))
	if err != nil {
		s.stop()
		return nil, err
	}
	defer func() { _ = log.Close() }() // OPA has its own
	file := filepath.Join(dir, "payments.rego")
	if err := os.WriteFile(file, []byte(policy()), 0o600); err != nil {
		s.stop()
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		s.stop()
		return nil, err
	}
	addr := l.Addr().String()
	_ = l.Close() // its port is for OPA
	s.url = "http://" + addr
	s.cmd = exec.CommandContext(ctx, o.opa, "run", "--server", "--addr", addr, "--log-level", "error", "--set", "decision_logs.console=true", file)
	s.cmd.Stdout, s.cmd.Stderr = log, log
	if err := s.cmd.Start(); err != nil {
		s.stop()
		return nil, err
	}
	for began := time.Now(); time.Since(began) < time.Minute; time.Sleep(10 * time.Millisecond) {
		if answer, err := s.get(ctx, "/health"); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return s, nil
			}
		}
	}
	s.stop()
	return nil, errors.New("OPA was not ready within a minute")
}
