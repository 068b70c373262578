package app

import (
	"cmp"
	"context"
	"log/slog"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/api"
	"tenet/internal/audit"
	"tenet/internal/config"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/metric"
	"tenet/internal/operate"
	"tenet/internal/wire"
)

// keyUse is how often a server writes when keys were last used.
const keyUse = 30 * time.Second

// lastWords bounds what a server writes as it ends.
const lastWords = 2 * time.Second

// purposes of models, as [wire.ModelHealth] and metrics name them.
const (
	judging    = "judge"
	confirming = "confirm"
	embedding  = "embedding"
)

// gauged is a model with what measures it.
type gauged struct {
	purpose string
	model   interface{ ID() string } // as it was opened, without the meter
	watch   *provider.Watch
	meter   *llm.Meter
}

// gauges measure the models of a node.
type gauges []gauged

// gauge has the calls to models counted from now on, and their servers watched. watch is that of the judge's model.
func gauge(m *models, watch *provider.Watch, log *slog.Logger) (list gauges) {
	if m.judge != nil {
		g := gauged{judging, m.judge, watch, &llm.Meter{}}
		m.judge = g.meter.Model(m.judge)
		list = append(list, g)
	}
	if m.confirm != nil {
		g := gauged{confirming, m.confirm, provider.NewWatchOf("the model that confirms", m.confirm, log), &llm.Meter{}}
		m.confirm = g.meter.Model(m.confirm)
		list = append(list, g)
	}
	if m.embedder != nil {
		g := gauged{embedding, m.embedder, provider.NewWatchOf("the embedding model", m.embedder, log), &llm.Meter{}}
		m.embedder = g.meter.Embedder(m.embedder)
		list = append(list, g)
	}
	return list
}

// observe adds a histogram of the calls to models to a registry, and counters of their tokens and, by the prices, of their cost.
func (l gauges) observe(registry *prometheus.Registry, prices map[string]config.Price, currency string) {
	seconds := metric.Seconds(registry, "tenet_model_call_duration_seconds", "Time of calls to models, by purpose (judge, confirm, embedding) and outcome (answered, failed).",
		[]float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60}, "purpose", "outcome")
	tokens := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "tenet_model_tokens_total", Help: "Tokens that models have read (input) and written (output), by purpose."}, []string{"purpose", "direction"})
	cost := prometheus.NewCounterVec(prometheus.CounterOpts{
		Name: "tenet_model_cost_total", Help: "Cost of calls to models, by purpose and model, in the currency of price_currency; only of models with a price.",
	}, []string{"purpose", "model", "currency"})
	registry.MustRegister(tokens, cost)
	for _, g := range l {
		g.meter.Tokens = func(a llm.Response) {
			tokens.WithLabelValues(g.purpose, "input").Add(float64(a.InputTokens))
			tokens.WithLabelValues(g.purpose, "output").Add(float64(a.OutputTokens))
			model := cmp.Or(a.Model, g.model.ID())
			if price, ok := prices[model]; ok {
				cost.WithLabelValues(g.purpose, model, currency).Add(price.Cost(int64(a.InputTokens), int64(a.OutputTokens), int64(a.CachedTokens)))
			}
		}
		g.meter.Observe = func(took time.Duration, failed bool) {
			outcome := "answered"
			if failed {
				outcome = "failed"
			}
			seconds(took, g.purpose, outcome)
		}
	}
}

// watchers are the loops that watch models other than that of a watch, which runs already.
func (l gauges) watchers(running *provider.Watch) []func(context.Context) {
	var loops []func(context.Context)
	for _, g := range l {
		if g.watch != running {
			loops = append(loops, g.watch.Run)
		}
	}
	return loops
}

// health reports how this server fares with its models.
func (l gauges) health() []wire.ModelHealth {
	list := []wire.ModelHealth{}
	for _, g := range l {
		state, stats := g.watch.State(), g.meter.Stats()
		h := wire.ModelHealth{
			Purpose: g.purpose, Model: g.model.ID(), Status: string(state.Status), Detail: state.Detail, Calls: stats.Calls, Failed: stats.Failed, LastError: stats.LastError,
		}
		for _, r := range provider.Resting(g.model, time.Now()) {
			h.Resting = append(h.Resting, wire.RestingModel{Model: r.Model, Until: r.Until.UTC()})
		}
		if stats.Median > 0 {
			median, p95 := stats.Median.Milliseconds(), stats.P95.Milliseconds()
			h.MedianMS, h.P95MS = &median, &p95
		}
		if at := stats.LastCallAt.UTC(); stats.Calls > 0 {
			h.LastCallAt = &at
		}
		if at := stats.LastErrorAt.UTC(); stats.Failed > 0 {
			h.LastErrorAt = &at
		}
		list = append(list, h)
	}
	return list
}

// operations returns what shows how the cluster runs.
func (a *App) operations(env func(string) string, now func() time.Time) (api.Operations, error) {
	prices, err := a.cfg.Prices()
	if err != nil {
		return api.Operations{}, err
	}
	usage := &operate.Usage{Counts: a.store.Counts, Projects: a.store.Projects, Now: now, Currency: a.cfg.PriceCurrency, Prices: map[string]operate.Price{}}
	for model, price := range prices {
		usage.Prices[model] = price.Cost
	}
	database := "sqlite"
	if a.cfg.DatabaseURL != "" {
		database = "postgresql"
	}
	servers := operate.NewServers(operate.ServersConfig{
		Store: operate.Store{Updater: a.store, Servers: a.store.Servers}, Logger: a.log, Now: time.Now, Models: a.gauged.health, Replicas: replicasOf(a.store),
		Self: wire.Server{ID: audit.NewID(), Name: hostName(), Version: a.version, Database: database, StartedAt: time.Now(), Workers: a.cfg.JobWorkers},
		Address: func() string {
			if a.listener == nil {
				return ""
			}
			return a.Addr()
		},
	})
	return api.Operations{
		Servers: servers, Usage: usage, Settings: func() wire.Settings { return SettingsOf(a.cfg, env) },
	}, nil
}

// hostName names this machine; empty if it has no name.
func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// SettingsOf returns settings with what has set each, without secrets. env looks up the variables by which models are reached.
func SettingsOf(cfg config.Config, env func(string) string) wire.Settings {
	out := wire.Settings{Server: hostName(), File: cfg.ReadFrom(), Items: []wire.SettingNow{}, Credentials: []wire.Credential{}}
	for _, v := range cfg.InForce() {
		out.Items = append(out.Items, wire.SettingNow{
			Key: v.Key, Env: v.Env, Value: v.Value, Default: v.Default, Source: wire.SettingSource(v.Source), From: v.From, Secret: v.Secret, Doc: v.Doc,
		})
	}
	for _, v := range provider.Variables() {
		c := wire.Credential{Env: v.Name, Secret: v.Secret, Set: env(v.Name) != ""}
		if !v.Secret {
			c.Value = config.WithoutPassword(env(v.Name))
		}
		out.Credentials = append(out.Credentials, c)
	}
	return out
}

// noteKeys writes from time to time when keys were last used, and which agents were seen, and once more at the end.
func (a *App) noteKeys(ctx context.Context) {
	flush := func(ctx context.Context) {
		if err := a.keys.Flush(ctx); err != nil {
			a.log.WarnContext(ctx, "the last use of keys cannot be written", slog.Any("error", err))
		}
		if err := a.parts.acting.Flush(ctx); err != nil {
			a.log.WarnContext(ctx, "the agents that were seen cannot be written", slog.Any("error", err))
		}
	}
	for {
		select {
		case <-time.After(keyUse):
			flush(ctx)
		case <-ctx.Done():
			last, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastWords)
			defer cancel()
			flush(last)
			return
		}
	}
}
