package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/store/pgtest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Bounds of the crash test. TENET_SOAK sets the number of rounds for the long form.
const (
	shortRounds    = 6
	restartWithin  = 2 * time.Second
	restartRaceful = 20 * time.Second // with the race detector in the node, on a machine that does other things too
	firstSoMany    = 20               // acknowledgements, before a node may be killed
)

func rounds(t *testing.T) int {
	t.Helper()
	s := os.Getenv("TENET_SOAK")
	if s == "" {
		return shortRounds
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 {
		t.Fatalf("TENET_SOAK is %q; set it to the number of rounds", s)
	}
	return n
}

func TestKilledNodeLosesNothingAcknowledged(t *testing.T) {
	t.Run("sqlite", func(t *testing.T) { crash(t, "--data", t.TempDir()) })
	t.Run("postgres", func(t *testing.T) { crash(t, "--database-url", pgtest.DSN(t)) })
}

// crash kills a node again and again while it is written to, and looks after each restart whether all is there that it
// had acknowledged.
func crash(t *testing.T, settings ...string) {
	w := &witness{}
	var longest time.Duration
	total := rounds(t)
	for round := range total {
		n := startNode(t, settings...)
		if round > 0 { // the first start makes the schema and loads the starter packs
			longest = max(longest, n.took)
		}
		c := n.client(t)
		w.examine(t, c)
		w.burst(t, n, c, round)
	}
	n := startNode(t, settings...)
	longest = max(longest, n.took)
	c := n.client(t)
	w.examine(t, c)
	w.examineAll(t, c)
	n.kill()
	if limit := restartLimit(); longest > limit {
		t.Errorf("the slowest restart took %s, more than %s", longest, limit)
	}
	t.Logf("%d kills; %d rules, %d revisions, %d evaluations and %d imports acknowledged; slowest restart %s", total, w.total.rules,
		w.total.revisions, w.total.evaluations, w.total.imports, longest.Round(time.Millisecond))
}

func restartLimit() time.Duration {
	if raced() {
		return restartRaceful
	}
	return restartWithin
}

// raced reports whether the nodes run with the race detector.
func raced() bool {
	info, ok := debug.ReadBuildInfo()
	for i := 0; ok && i < len(info.Settings); i++ {
		if info.Settings[i].Key == "-race" && info.Settings[i].Value == "true" {
			return true
		}
	}
	return false
}

// witness remembers what nodes have acknowledged.
type witness struct {
	mu          sync.Mutex
	rules       map[string]rule.Rule // by slug, of this round
	evaluations map[string]rule.Verdict
	imports     map[string]bool // prefix of the slugs of an import; true if it was acknowledged
	everyRule   map[string]int  // least version, by slug
	everyEval   map[string]bool
	deployed    []string // snapshots whose deployment to staging was acknowledged, over all rounds
	head        wire.AuditHead
	total       struct{ rules, revisions, evaluations, imports int }
}

// acknowledged counts what this round has acknowledged.
func (w *witness) acknowledged() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.rules) + len(w.evaluations)
}

// burst writes from several sides at once until the node is killed, at a random point.
func (w *witness) burst(t *testing.T, n *node, c *client.Client, round int) {
	t.Helper()
	w.rules, w.evaluations, w.imports = map[string]rule.Rule{}, map[string]rule.Verdict{}, map[string]bool{}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var writers sync.WaitGroup
	for writer := range 3 {
		for _, write := range []func(context.Context, *client.Client, string) error{w.create, w.evaluate, w.importThree, w.deploy} {
			writers.Go(func() {
				for i := 0; ctx.Err() == nil; i++ {
					if write(ctx, c, fmt.Sprintf("R%d-W%d-N%d", round, writer, i)) != nil {
						return // the node is dead
					}
				}
			})
		}
	}
	writers.Go(func() {
		for ctx.Err() == nil {
			if _, err := client.Get(ctx, c, op.GetInsights.Where(wire.InsightsQuery{PeriodDays: 1})); err != nil { // this counts what is recorded, so that kills fall into that, too
				return
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	deadline := time.Now().Add(time.Minute)
	for w.acknowledged() < firstSoMany && time.Now().Before(deadline) {
		time.Sleep(time.Millisecond)
	}
	time.Sleep(rand.N(250 * time.Millisecond))
	n.kill()
	writers.Wait()
	if got := w.acknowledged(); got < firstSoMany {
		t.Fatalf("round %d: only %d writes were acknowledged:\n%s", round, got, n.log.String())
	}
}

// deploy takes a snapshot and deploys it to staging.
func (w *witness) deploy(ctx context.Context, c *client.Client, name string) error {
	made, err := client.Call(ctx, c, op.CreateSnapshot, wire.CreateSnapshot{Name: name})
	if err != nil {
		return err
	}
	if _, err := client.Call(ctx, c, op.DeploySnapshot.At(made.ID), wire.DeploySnapshot{Environment: string(wire.Staging)}); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deployed = append(w.deployed, made.ID)
	return nil
}

// examineDeployments looks for deployments that are lost, and for halves of one.
func (w *witness) examineDeployments(t *testing.T, c *client.Client) {
	t.Helper()
	state, err := client.Get(t.Context(), c, op.GetEnvironment.At(string(wire.Staging)))
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for i, h := range state.History { // newest first
		found[h.SnapshotID] = true
		if last := i == 0; (h.ReplacedAt == nil) != last || (!last && !h.ReplacedAt.Equal(state.History[i-1].DeployedAt)) {
			t.Errorf("step %d of staging ends at %v", len(state.History)-i, h.ReplacedAt)
		}
	}
	if n := len(state.History); n > 0 && (state.Active == nil || state.Active.SnapshotID != state.History[0].SnapshotID) {
		t.Errorf("the last of %d deployments is not active: %+v", n, state.Active)
	}
	for _, id := range w.deployed {
		if !found[id] {
			t.Errorf("the deployment of snapshot %s was acknowledged and is gone", id)
		}
	}
}

// create makes a rule and revises every third.
func (w *witness) create(ctx context.Context, c *client.Client, name string) error {
	slug := "C-" + name
	r, err := client.Call(ctx, c, op.CreateRule, wire.CreateRule{RuleInput: wire.RuleInput{Slug: &slug, Statement: "Rule " + name, Status: rule.Effective}})
	if err != nil {
		return err
	}
	w.mu.Lock()
	w.rules[slug] = r
	w.total.rules++
	revise := w.total.rules%3 == 0
	w.mu.Unlock()
	if !revise {
		return nil
	}
	if r, err = client.Call(ctx, c, op.ReviseRule.At(slug).IfMatch(1), map[string]any{"statement": "Rule " + name + ", revised"}); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.rules[slug] = r
	w.total.revisions++
	return nil
}

// evaluate judges facts.
func (w *witness) evaluate(ctx context.Context, c *client.Client, name string) error {
	e, err := c.Evaluate(ctx, client.Evaluate{Facts: json.RawMessage(`{"name":"` + name + `"}`)})
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.evaluations[e.EvaluationID] = e.OverallVerdict
	w.total.evaluations++
	return nil
}

// importThree imports three rules, which must come together or not at all.
func (w *witness) importThree(ctx context.Context, c *client.Client, name string) error {
	f := &wire.RuleFile{}
	for i := range 3 {
		slug := fmt.Sprintf("I-%s-%d", name, i)
		f.Rules = append(f.Rules, wire.RuleInput{Slug: &slug, Statement: "Imported " + slug})
	}
	w.mu.Lock()
	w.imports[name] = false
	w.mu.Unlock()
	if _, err := client.ImportRules(ctx, c, f, wire.ImportQuery{}); err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.imports[name] = true
	w.total.imports++
	return nil
}

// examine looks for all that the last round has acknowledged, and verifies the audit chain.
func (w *witness) examine(t *testing.T, c *client.Client) {
	t.Helper()
	if w.everyRule == nil {
		w.everyRule, w.everyEval = map[string]int{}, map[string]bool{}
	}
	for slug, want := range w.rules {
		got, err := c.Rule(t.Context(), slug)
		if err != nil || got.ID != want.ID || got.Version < want.Version || (got.Version == want.Version && got.Statement != want.Statement) {
			t.Errorf("rule %s was acknowledged as version %d %q, and is version %d %q (%v)",
				slug, want.Version, want.Statement, got.Version, got.Statement, err)
		}
		w.everyRule[slug] = want.Version
	}
	for id, want := range w.evaluations {
		got, err := c.Evaluation(t.Context(), id)
		if err != nil || got.Evaluation.OverallVerdict != want {
			t.Errorf("evaluation %s was acknowledged as %s and is gone or changed: %v", id, want, err)
		}
		w.everyEval[id] = true
	}
	w.examineImports(t, c)
	w.examineDeployments(t, c)
	report, err := client.Get(t.Context(), c, op.VerifyAudit.Where(wire.AuditQuery{ExpectSeq: w.head.Seq, ExpectHash: w.head.Hash}))
	if err != nil || !report.OK() {
		t.Errorf("the audit chain does not verify: %+v, %v", report.Problems, err)
	}
	w.head = report.Head
}

// examineImports looks for halves of imports.
func (w *witness) examineImports(t *testing.T, c *client.Client) {
	t.Helper()
	for name, acknowledged := range w.imports {
		found := 0
		for i := range 3 {
			slug := fmt.Sprintf("I-%s-%d", name, i)
			switch _, err := c.Rule(t.Context(), slug); rule.CodeOf(err) {
			case "":
				found++
				w.everyRule[slug] = 1
			case rule.CodeNotFound:
			default:
				t.Errorf("rule %s: %v", slug, err)
			}
		}
		if found != 3 && (acknowledged || found != 0) {
			t.Errorf("import %s (acknowledged: %t) has left %d of 3 rules", name, acknowledged, found)
		}
	}
}

// examineAll looks for what all rounds have acknowledged.
func (w *witness) examineAll(t *testing.T, c *client.Client) {
	t.Helper()
	rules, err := c.AllRules(t.Context(), client.RuleFilter{})
	if err != nil {
		t.Fatal(err)
	}
	for i := range rules {
		if rules[i].Version >= w.everyRule[rules[i].Slug] {
			delete(w.everyRule, rules[i].Slug)
		}
	}
	insights, err := client.Get(t.Context(), c, op.GetInsights.Where(wire.InsightsQuery{PeriodDays: 400}))
	if err != nil {
		t.Fatal(err)
	}
	for number := 1; ; number++ {
		page, err := c.Evaluations(t.Context(), client.EvaluationFilter{Page: number, PageSize: 100})
		if err != nil {
			t.Fatal(err)
		}
		if counted := insights.Totals.Total + insights.Uncounted; counted < int64(page.Total) || insights.Uncounted == 0 && counted != int64(page.Total) {
			t.Errorf("of %d evaluations %d are counted, and %d entries are not yet", page.Total, insights.Totals.Total, insights.Uncounted)
		}
		for _, e := range page.Items {
			delete(w.everyEval, e.EvaluationID)
		}
		if len(page.Items) < 100 {
			break
		}
	}
	if len(w.everyRule) > 0 || len(w.everyEval) > 0 {
		t.Errorf("%d rules and %d evaluations of earlier rounds are gone", len(w.everyRule), len(w.everyEval))
	}
}
