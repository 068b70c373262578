package api

import (
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/catalog"
	"tenet/internal/corpus"
	"tenet/internal/metric"
	"tenet/internal/rule"
)

// Answered counts answered evaluations.
type Answered struct {
	verdicts, undecided, rules, agents *prometheus.CounterVec
	notAsked, reused                   prometheus.Counter
}

// CountAnswered registers the counters of answered evaluations.
func CountAnswered(registry *prometheus.Registry) *Answered {
	vector := func(name, help string, labels ...string) *prometheus.CounterVec {
		return prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	}
	c := &Answered{
		verdicts:  vector("tenet_evaluations_total", "Evaluations answered, by overall verdict.", "verdict"),
		undecided: vector("tenet_evaluations_undecided_total", "Evaluations that need confirmation, by reason; one with several counts for each.", "reason"),
		rules:     vector("tenet_rule_verdicts_total", "Verdicts of rules in answered evaluations, by what has decided them.", "decided_by", "verdict"),
		agents:    vector("tenet_agent_evaluations_total", "Evaluations that agents asked for, through their hooks or otherwise, by agent and overall verdict.", "agent", "verdict"),
		notAsked: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenet_rules_not_asked_total", Help: "Rules that apply and that no model was asked about, since they were beyond max_rules.",
		}),
		reused: prometheus.NewCounter(prometheus.CounterOpts{
			Name: "tenet_model_calls_saved_total", Help: "Calls to models that stored verdicts have saved in answered evaluations.",
		}),
	}
	registry.MustRegister(c.verdicts, c.undecided, c.rules, c.agents, c.notAsked, c.reused)
	return c
}

// verdict counts an answer that has only a verdict.
func (c *Answered) verdict(v rule.Verdict) { c.verdicts.WithLabelValues(string(v)).Inc() }

func (c *Answered) evaluation(e *rule.Evaluation) {
	c.verdict(e.OverallVerdict)
	for _, reason := range e.Undecided() {
		c.undecided.WithLabelValues(string(reason)).Inc()
	}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		c.rules.WithLabelValues(string(v.DecidedBy), string(v.Verdict)).Inc()
	}
	if e.Identity != nil && e.Identity.Agent != "" {
		agent := e.Identity.Agent
		if !countedAgents[agent] {
			agent = "other"
		}
		c.agents.WithLabelValues(agent, string(e.OverallVerdict)).Inc()
	}
	c.notAsked.Add(float64(e.Coverage.RulesNotAsked))
	c.reused.Add(float64(e.Cost.CachedCalls))
}

// countedAgents are the agents that have a hook. Others may give any name, so they count as one.
var countedAgents = map[string]bool{"claude-code": true, "cursor": true, "codex": true, "gemini": true, "copilot": true, "windsurf": true}

// maxGauged bounds the projects whose rules [CountRules] counts.
const maxGauged = 100

// CountRules registers a gauge of the rules of the projects that requests have touched: their views are in memory. It
// returns the function that adds a project.
func CountRules(registry *prometheus.Registry, c *catalog.Catalog, log *slog.Logger) (note func(projectID string)) {
	var mu sync.RWMutex
	seen := map[string]bool{}
	metric.Register(registry, log, metric.Gauge{
		Name: "tenet_rules", Help: "Rules, retired ones included, of the projects in use on this node.", Labels: []string{"project"},
		Read: func(ctx context.Context) (samples []metric.Sample, err error) {
			mu.RLock()
			ids := slices.Collect(maps.Keys(seen))
			mu.RUnlock()
			for _, id := range ids {
				_, n, err := c.List(ctx, id, corpus.Filter{}, "", rule.Page{Number: 1})
				switch {
				case rule.CodeOf(err) == rule.CodeNotFound: // no such project, or * for all of them
					mu.Lock()
					delete(seen, id)
					mu.Unlock()
				case err != nil:
					return nil, err
				default:
					samples = append(samples, metric.Sample{Value: n, Labels: []string{id}})
				}
			}
			return samples, nil
		},
	})
	return func(projectID string) {
		mu.RLock()
		enough := seen[projectID] || len(seen) >= maxGauged
		mu.RUnlock()
		if enough {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		seen[projectID] = true
	}
}

// CountRefusals registers the count of refused uses of keys, and returns the function that counts one.
func CountRefusals(registry *prometheus.Registry) func(reason string) {
	refusals := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tenet_key_refusals_total", Help: "Uses of API keys that were refused, by reason.",
	}, []string{"reason"})
	registry.MustRegister(refusals)
	return func(reason string) { refusals.WithLabelValues(reason).Inc() }
}
