package app

import (
	"net/http"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/api"
	"tenet/internal/api/rest"
	"tenet/internal/approval"
	"tenet/internal/client"
	"tenet/internal/console"
	"tenet/internal/evaluate"
	"tenet/internal/mcp"
	"tenet/internal/privacy"
	"tenet/internal/sandbox"
	"tenet/internal/trail"
)

// serveAPI returns the HTTP API over the capabilities.
func (a *App) serveAPI(p *parts, operations api.Operations, registry *prometheus.Registry, version string) *rest.Server {
	answered := api.CountAnswered(registry)
	prefix := a.cfg.RESTPrefix
	if prefix == "off" {
		prefix = ""
	}
	resources := []rest.Resource{
		api.Rules{Catalog: p.catalog, Lists: p.lists, Tests: p.sandbox, Replays: sandbox.Replays{Views: a.live, Effects: evaluate.Effects{Evaluator: p.evaluator}}, Logger: a.log},
		api.Revisions{Revisions: p.revisions, Tests: p.sandbox},
		api.RuleFiles{Catalog: p.catalog},
		api.Relationships{Catalog: p.catalog},
		api.Federation{Hierarchy: p.hierarchy, Released: p.releases},
		api.Waivers{Waivers: p.waivers},
		api.Retention{Keeper: p.retention},
		api.Privacy{People: privacy.People{Keeper: p.privacy, Index: p.evaluator}},
		api.Approvals{Approvals: approval.Asking{Approvals: p.approvals, Recorded: p.evaluator}},
		api.Queue{Queue: p.queue},
		api.Projects{Projects: p.projects},
		api.Keys{Keys: a.keys, Nodes: p.hierarchy},
		api.Acting{Agents: p.acting},
		api.SignIn{Providers: providers(a.callers), Keys: a.callers},
		api.Evaluations{Evaluator: p.evaluator, Released: p.releases, Answered: answered},
		api.Records{Recorded: p.evaluator, Nodes: p.hierarchy},
		api.Agents{Agents: p.agents, Prefix: prefix, Answered: answered},
		api.Search{Search: p.searcher, Released: p.releases},
		api.Documents{Documents: p.documents},
		api.DocumentSearch{Documents: p.documents, Search: p.library},
		api.Discovery{Discovery: p.discovery},
		api.Conflicts{Conflicts: p.conflicts, Jobs: p.jobs, Catalog: p.catalog},
		api.Similar{Conflicts: p.conflicts},
		api.Releases{Releases: p.releases, Bundles: p.bundles},
		api.Bundles{Bundles: p.bundles},
		api.Fleet{Edges: p.fleet},
		api.Audit{
			Chains: a.store.Audit, Projects: a.store.Projects, Catalog: p.catalog,
			Trail: trail.New(trail.Store{Audit: a.store.Lagging.Audit, Projects: a.store.Projects, Rules: a.store.Rules}, p.index),
			Book:  p.book, Logs: a.store.Logs, InForce: a.recorded.inForce, Log: p.log, Rules: a.store.Rules,
		},
		api.Tiles{Log: p.log, Checkpoints: a.store.Logs},
		api.AuditorPage{File: auditorPage(a.cfg)},
		api.Jobs{Jobs: p.jobs},
		operations,
		api.Alerts{Alerts: p.alerts},
		api.Insights{Health: p.monitor, Watch: p.watch, Projects: a.store.Projects},
		api.Webhooks{Webhooks: p.webhooks},
		api.Ingest{Ingest: p.ingest, Evaluator: p.evaluator},
		api.Playground{Sandbox: p.sandbox, Catalog: p.catalog},
		api.TestCases{Sandbox: p.sandbox},
		api.VerdictCache{Cache: p.verdicts, Recorded: p.evaluator, Projects: a.store.Projects},
		api.Service{Version: version, Ready: a.Ready, JudgeState: a.watch.State, Replicas: replicasOf(a.store)},
	}
	if a.cfg.MCP {
		resources = append(resources, api.MCP{Handler: a.modelProtocol(version)})
	}
	loopback := loopbackOnly(a.cfg.Listen)
	var refuse func(*http.Request, bool) error
	var ended func(status int)
	var headers func(http.Header)
	if a.edge != nil {
		refuse, ended, headers = a.edge.refuse, a.edge.ship.ended, a.edge.headers
	}
	return rest.New(rest.Config{
		Refuse: refuse, Ended: ended, Headers: headers, Replicas: a.cfg.ReadURLs != "",
		Keys: a.callers, Logger: a.log, Description: api.Description(version), Registry: registry,
		Served: api.CountRules(registry, p.catalog, a.log), RequireLoopbackHost: loopback, RequireKey: !loopback, TrustedProxies: a.proxies, MayAct: p.acting.MayAct,
		Limits: rest.Limits{
			MaxBody: a.cfg.MaxBody, MaxImportBody: a.cfg.MaxImportBody, MaxDocument: a.cfg.MaxDocument, RatePerSecond: a.cfg.RateLimit, Burst: a.cfg.RateBurst,
		},
	}, resources...)
}

// serveConsole returns the web console in front of the API, or the API alone if the console is switched off.
// atEnd is called when the server begins to shut down.
func (a *App) serveConsole() (handler http.Handler, atEnd func(), err error) {
	if !a.cfg.Console {
		return a.handler, func() {}, nil
	}
	var people console.People
	if a.callers.People != nil {
		people = a.callers.People
	}
	c, err := console.New(console.Config{
		API: a.handler, Keys: a.callers, People: people, Recheck: a.cfg.SSORecheck, PublicURL: a.cfg.PublicURL, Record: a.recordSignIn, Sessions: console.Sessions{SessionReader: a.store.Sessions, Updater: a.store}, Logger: a.log,
		RequireKey: !loopbackOnly(a.cfg.Listen), SessionAge: a.cfg.ConsoleSessionAge, MaxBody: a.cfg.MaxBody, Version: a.version, Now: a.now,
		ModelTime: min(callsOfAPage*a.cfg.JudgeTimeout, writeTimeout(a.cfg)-10*time.Second),
	})
	if err != nil {
		return nil, nil, err
	}
	return c, c.EndStreams, nil
}

// callsOfAPage is how many calls of a model an answer may wait for, one after the other: a repaired answer, and one that confirms it.
const callsOfAPage = 4

// modelProtocol returns the handler of the Model Context Protocol. Its tools call the API of this node in process with the key
// of the request that called them, so that they may do what that key may do. It is made when first asked for: most commands
// never do.
func (a *App) modelProtocol(version string) http.Handler {
	inside := &http.Client{Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.handler.ServeHTTP(w, r.WithContext(rest.Within(r.Context()))) // the outer request was admitted
	}))}
	handler := sync.OnceValue(func() http.Handler {
		return mcp.Handler(mcp.Config{
			Version: version, MaxBody: a.cfg.MaxBody, Logger: a.log,
			Client: func(header http.Header) (*client.Client, error) {
				c, err := client.New("http://localhost", client.KeyOf(header), inside)
				if err != nil {
					return nil, err
				}
				return client.Acting(c.InProject(header.Get(api.ProjectHeader)), client.ActingOf(header)), nil
			},
		})
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}
