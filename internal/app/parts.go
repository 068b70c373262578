package app

import (
	"cmp"
	"context"
	"maps"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"tenet/internal/acting"
	"tenet/internal/agent"
	"tenet/internal/approval"
	"tenet/internal/audit"
	"tenet/internal/catalog"
	"tenet/internal/change"
	"tenet/internal/check"
	"tenet/internal/checkpoint"
	"tenet/internal/config"
	"tenet/internal/conflict"
	"tenet/internal/corpus"
	"tenet/internal/discover"
	"tenet/internal/discover/assistant"
	"tenet/internal/discover/code"
	"tenet/internal/discover/comment"
	"tenet/internal/discover/linter"
	"tenet/internal/discover/policy"
	"tenet/internal/discover/source"
	"tenet/internal/document"
	"tenet/internal/evaluate"
	"tenet/internal/evaluate/find"
	"tenet/internal/evaluate/record"
	"tenet/internal/evidence"
	"tenet/internal/export"
	"tenet/internal/fleet"
	"tenet/internal/health"
	"tenet/internal/hierarchy"
	"tenet/internal/ingest"
	"tenet/internal/job"
	"tenet/internal/judge"
	"tenet/internal/operate"
	"tenet/internal/privacy"
	"tenet/internal/queue"
	"tenet/internal/redact"
	"tenet/internal/release"
	"tenet/internal/retention"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/search"
	"tenet/internal/store"
	"tenet/internal/watch"
	"tenet/internal/webhook"
	"tenet/internal/wire"
)

const (
	maxPrograms        = 20_000 // compiled checks in memory
	maxSandboxPrograms = 2_000  // compiled checks of the sandbox in memory
)

const day = 24 * time.Hour

// parts are the capabilities of a node, each made of those before it.
type parts struct {
	jobs       *job.Jobs
	webhooks   *webhook.Webhooks
	alerts     *health.Alerts
	monitor    *health.Monitor
	conflicts  *conflict.Conflicts
	catalog    *catalog.Catalog
	lists      *catalog.Lists
	revisions  *catalog.Revisions
	waivers    *catalog.Waivers
	approvals  *approval.Approvals
	queue      *queue.Queue
	projects   *catalog.Projects
	hierarchy  *hierarchy.Hierarchy
	verdicts   *judge.Cache
	documents  *document.Documents
	library    *search.DocumentSearcher
	embeddings *search.Follower // nil without an embedding model
	searcher   *search.Searcher
	index      *find.Index
	evaluator  *evaluate.Evaluator
	sandbox    *sandbox.Sandbox
	releases   *release.Releases
	bundles    *release.Bundles
	fleet      *fleet.Edges
	exporter   *export.Exporter
	discovery  *discover.Discovery
	ingest     *ingest.Ingest
	agents     *agent.Agents
	acting     *acting.Agents
	records    *audit.Writer
	log        *evidence.Log
	tiler      *evidence.Tiler
	book       *evidence.Book
	retention  *retention.Keeper
	privacy    *privacy.Keeper
	watch      *watch.Watch
	// explained checks what the audit log says of the database; nil at an edge.
	explained func(ctx context.Context, projectID string, kinds ...string) error
	// apart reports whether all servers can read records that lie in parts of time; nil where none do.
	apart func(ctx context.Context) (bool, error)
}

// assemble makes the capabilities.
func (a *App) assemble(ctx context.Context, registry *prometheus.Registry, now func() time.Time) (*parts, error) {
	cfg, s := a.cfg, a.store
	queue := job.NewQueue(now)
	p := &parts{jobs: job.NewJobs(s, s.Jobs, now), log: evidence.NewLog(s.Logs)}
	p.tiler = evidence.NewTiler(p.log, s)
	var err error
	if p.book, err = newBook(ctx, cfg, evidence.Config{Log: p.log, DB: s, Logger: a.log, Now: now}); err != nil {
		return nil, err
	}
	a.onStop = append(a.onStop, func(ctx context.Context) error { // after the last record
		if a.listener != nil {
			sealLast(ctx, p.book)
		}
		return nil
	})
	if err := a.assembleRules(p, registry, queue, now); err != nil {
		return nil, err
	}
	a.assembleSearch(p, queue, now)
	if err := a.assembleJudging(p, registry, queue, now); err != nil {
		return nil, err
	}
	p.ingest, err = ingest.New(ingest.Config{
		Store: s, Queue: queue, Evaluator: changes{p.evaluator, s.Submissions}, Now: now, ProjectID: cfg.IngestProject, Secret: cfg.IngestSecret,
		GitHubSecret: cfg.IngestGitHubSecret, GitHubURL: cfg.GitHubURL, GitHubToken: cfg.GitHubToken, MaxDiff: cfg.MaxBody,
	})
	return p, err
}

// assembleRules makes the capabilities that hold rules and watch over them.
func (a *App) assembleRules(p *parts, registry *prometheus.Registry, queue job.Queue, now func() time.Time) error {
	cfg, log, s, m := a.cfg, a.log, a.store, a.models
	networks, err := webhook.ParseNetworks(cfg.WebhookAllowNetworks)
	if err != nil {
		return err
	}
	p.webhooks = webhook.New(webhook.Config{
		Store: webhook.Store{Updater: s, Webhooks: s.Webhooks, Deliveries: s.Lagging.Deliveries}, Queue: queue, Now: now, Logger: log,
		AllowNetworks: networks, Retention: cfg.WebhookRetention, Observe: observeDeliveries(registry),
	})
	p.alerts = health.NewAlerts(health.AlertsConfig{
		Store: health.AlertStore{Updater: s, Alerts: s.Lagging.Alerts, Projects: s.Projects, Rules: s.Rules}, Now: now, Publish: p.webhooks.Publish,
		ManualResolve: !cfg.AlertAutoResolve,
	})
	p.monitor = health.New(health.Config{
		Store: health.Store{
			Updater: s, Alerts: s.Alerts, Audit: s.Audit, Counts: s.Lagging.Counts, Feedback: s.Feedback, Health: s.Lagging.Health, Projects: s.Projects, Rules: s.Rules,
			Releases: s.Releases, TestCases: s.TestCases, Waivers: s.Waivers,
		},
		Denials: func(ctx context.Context, projectID, ruleID string, since time.Time, limit int) ([]store.AuditEntry, error) {
			return p.index.Denials(ctx, projectID, ruleID, since, limit)
		},
		Views: a.live, Glances: corpus.Glances{Live: a.live}, Alerts: p.alerts, Now: now, Logger: log, Off: !cfg.Alerts, Working: func() bool { return a.working },
		Settings: health.Settings{
			DormantAfter: time.Duration(cfg.AlertDormantDays) * day, DenyRate: cfg.AlertDenyRate, DenyWindow: cfg.AlertDenyDays,
			DenyMin: cfg.AlertDenyMin, HealthDrop: cfg.AlertHealthDrop, Quiet: time.Duration(cfg.AlertQuietDays) * day,
		},
	})
	conflicts := conflict.Config{
		Store: conflict.Store{Updater: s, Conflicts: s.Conflicts, Rules: s.Rules}, Views: a.live, Queue: queue, Logger: log, Now: now,
		Model: m.judge, Embedder: m.embedder, Settle: p.alerts.Settle,
	}
	if cfg.Alerts {
		conflicts.Raise = p.alerts.Raise
	}
	p.conflicts = conflict.New(conflicts)
	runner := change.New(s, a.live, p.conflicts.Changed, a.log, now).Publishing(p.webhooks.Publish)
	p.hierarchy = hierarchy.New(a.live, runner, now)
	p.catalog = catalog.New(
		catalog.Store{Updater: s, Projects: s.Projects, Rules: s.Rules, Revisions: s.Revisions}, a.live, runner,
		sandbox.CaseFiles{Now: now}, p.hierarchy, now)
	p.lists = &catalog.Lists{Views: a.live, Health: s.Health, Tests: s.TestCases}
	p.waivers = catalog.NewWaivers(s.Waivers, a.live, runner, now)
	p.projects = catalog.NewProjects(s, s.Projects, runner, now)
	p.projects.FailModes = a.failModes
	approvals := approval.Config{
		Store: approval.Store{Updater: s, Approvals: s.Approvals, Projects: s.Projects}, Views: a.live, Publish: p.webhooks.Publish,
		Site: cmp.Or(strings.TrimSuffix(cfg.PublicURL, "/"), scheme(cfg)+cfg.Listen), Poll: cfg.PollInterval, Logger: log, Now: now,
	}
	if a.edge == nil {
		approvals.InForce = a.recorded.inForce
	}
	p.approvals = approval.New(approvals)
	p.hierarchy.Ask(p.approvals, s)
	return nil
}

// assembleSearch makes the capabilities that store documents, and find rules and candidates.
func (a *App) assembleSearch(p *parts, jobs job.Queue, now func() time.Time) {
	cfg, log, s, m := a.cfg, a.log, a.store, a.models
	p.documents = document.New(document.Config{
		Store: document.Store{Updater: s, Documents: s.Documents, Projects: s.Projects, Vectors: s.Vectors}, Views: a.live, Queue: jobs, Logger: log,
		Embedder: m.embedder,
	})
	p.library = search.NewDocuments(search.DocumentConfig{
		Store: search.DocumentStore{Documents: s.Documents, Projects: s.Projects, Vectors: s.Vectors}, Sources: p.documents.Sources,
		Embedder: m.embedder, Logger: log, Now: now,
	})
	if m.embedder != nil {
		p.embeddings = search.NewFollower(search.NewEmbeddings(s, s.Embeddings, a.live, m.embedder, log), s.Projects, jobs, cfg.PollInterval)
	}
	p.searcher = search.New(search.Config{
		Views: a.live, Embedder: m.embedder, Model: m.judge, ModelTimeout: cfg.JudgeTimeout, Logger: log, Conflicts: p.conflicts.Open,
	})
	p.discovery = discover.New(discover.Config{
		Store:   discover.Store{Updater: s, Candidates: s.Candidates, Documents: s.Documents, Exclusions: s.Exclusions, Jobs: s.Jobs, Projects: s.Projects, Scans: s.Scans},
		Readers: Readers(), Rules: p.catalog.Adoption(), Views: a.live, Documents: p.documents, Queue: jobs,
		Model: m.judge, Embedder: m.embedder, Contradicts: contradicts, Publish: p.webhooks.Publish, Logger: log, Now: now,
		Retention: time.Duration(cfg.ScanRetention) * day, Keeping: s.Retention,
	})
}

// assembleJudging makes the capabilities that give verdicts.
func (a *App) assembleJudging(p *parts, registry *prometheus.Registry, jobs job.Queue, now func() time.Time) error {
	cfg, log, s, m := a.cfg, a.log, a.store, a.models
	declared, err := agent.ReadDeclared(cfg.AgentsFile)
	if err != nil {
		return err
	}
	writer := audit.NewWriter(s)
	p.records = writer
	a.stopLast(func() error { writer.Close(); return nil })
	p.verdicts = judge.NewCache(judge.CacheConfig{Store: s, Verdicts: s.Verdicts, MaxMemory: cfg.CacheMemory, MaxStored: cfg.CacheMaxMB << 20, Now: now, Logger: log})
	a.stopLast(func() error { p.verdicts.Close(); return nil })
	snapshots := release.NewViews(s.Releases, s.Rules, a.live)
	if a.edge == nil {
		snapshots.Explained = a.recorded.inForce.CheckRow
	}
	judging := m.newJudge(cfg, log, p.verdicts, (&samples{live: a.live}).of)
	p.index = find.New(find.Config{
		Store:   find.Store{Updater: s, DerivedUpdater: s, Audit: s.Lagging.Audit, Rules: s.Rules, Terms: s.Lagging.Terms},
		Working: func() bool { return a.working }, Logger: log,
	})
	p.acting = acting.New(acting.Config{Store: acting.Store{Updater: s, Agents: s.Agents, Projects: s.Projects}, Now: now, Publish: p.webhooks.Publish})
	evaluating := evaluate.Config{
		Agents: p.acting, FailModes: a.failModes,
		Views: a.live, Released: snapshots, Recorder: writer, Checks: check.NewCache(maxPrograms), Now: now,
		Records: evaluate.Store{
			Updater: s, Audit: fleet.Records{AuditReader: s.Lagging.Audit, Edges: s.Lagging.Edges}, Feedback: s.Lagging.Feedback, Jobs: s.Jobs, Projects: s.Projects, Rules: s.Rules, Retention: s.Retention, Submissions: s.Submissions,
			TestCases: s.TestCases, Edges: s.Edges, Parts: s.Parts, Dropped: p.verdicts.Reread,
		},
		Index: p.index, Judge: judging, Estimate: judging.Estimate, EstimateTriage: judging.EstimateTriage, Fresh: m.newJudge(cfg, log, nil, nil), Queue: jobs, Redact: redact.New(),
		Subjects: wire.Keep(cfg.RecordSubjects), Documents: p.documents, Publish: p.webhooks.Publish, Refuse: a.recorded.refuse(p.book),
		Observe: observeStages(registry),
	}
	if cfg.DatabaseURL != "" {
		p.apart = func(ctx context.Context) (bool, error) {
			return operate.AllRead(ctx, s.Servers, store.BodiesApart, now())
		}
	}
	key := privacy.NewKeyFile("", false) // an edge encrypts nothing
	if a.edge == nil {
		p.explained = a.recorded.inForce.CheckStored
		if key, err = privacyKey(cfg); err != nil {
			return err
		}
	}
	p.privacy = privacy.New(privacy.Config{
		Store: s, Read: s.PersonalKeys, Retention: s.Retention, Projects: s.Projects, Audit: s.Audit, Key: key, Now: now, Explained: p.explained,
	})
	if a.edge == nil {
		evaluating.Approvals, evaluating.Personal = p.approvals, p.privacy
		evaluating.Sample = func(rec *wire.EvaluationRecord) func(context.Context, store.Tx) error { return p.watch.Pick(rec) } // made below
	} else { // a signature vouches for the rules of an edge, not its own audit log
		evaluating.Bundle, evaluating.Recorder, evaluating.Refuse = a.edge.bundle, recorder{writer, a.edge.ship}, func(_ context.Context, projectID string) error { return p.book.Problem(projectID) }
	}
	p.evaluator = evaluate.New(evaluating)
	p.watch = watch.New(watch.Config{
		Store: s, Read: s.Samples, Rules: s.Rules, Queue: jobs, Recorded: p.evaluator, Try: judged{p.evaluator}.try, Demote: demoter{p.catalog}.demote,
		Publish: p.webhooks.Publish, Part: m.sampled(cfg.JudgeSamples), Now: now, Logger: log,
	})
	p.retention = retention.New(retention.Config{
		Store: s, Read: s.Retention, Index: p.evaluator, Node: p.hierarchy.NodeID, Now: now, Server: map[string]time.Duration{
			rule.KeptEvaluations: time.Duration(cfg.RecordRetention) * day, rule.KeptSubmissions: cfg.SubmissionRetention, rule.KeptScans: time.Duration(cfg.ScanRetention) * day,
		},
	})
	// The sandbox stores no verdicts: its judge and checks are its own, so that nothing else is answered from them.
	p.sandbox = sandbox.New(sandbox.Config{
		Store: sandbox.Store{Updater: s, Jobs: s.Jobs, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases}, Recorded: p.evaluator, Views: a.live, Snapshots: snapshots, Queue: jobs, Model: m.judge, Now: now,
		Evaluator: evaluate.New(evaluate.Config{Checks: check.NewCache(maxSandboxPrograms), Now: now, Judge: m.newJudge(cfg, log, nil, nil)}),
	})
	p.revisions = catalog.NewRevisions(p.catalog, catalog.Reviewing{Tester: sandbox.Confirmed{Sandbox: p.sandbox}, Contradicts: contradicts})
	p.releases = release.New(release.Config{
		Store: release.Store{Updater: s, Jobs: s.Jobs, Releases: s.Releases, Rules: s.Rules, Runs: s.Runs, TestCases: s.TestCases},
		Views: snapshots, Replayer: replayer{p.evaluator}, Queue: jobs, Now: now, Publish: p.webhooks.Publish, Deployed: p.book.Ask,
	})
	p.bundles = release.NewBundles(release.BundlesConfig{
		Updater: s, Bundles: s.Bundles, Releases: s.Releases, Rules: s.Rules, Projects: s.Projects, Waivers: s.Waivers, Agents: s.Agents, Keys: s.Keys, Now: now,
		Required: a.callers.Required, Signing: func() (checkpoint.Signer, string) { return p.book.Signer, p.book.Origin },
	})
	p.fleet = fleet.New(fleet.Config{Updater: s, Edges: s.Edges, Rules: s.Rules, Now: now, Newest: p.bundles.Newest, Head: p.bundles.Head, Alerts: p.alerts, Open: s.Alerts, Quiet: time.Duration(cfg.AlertQuietDays) * day, Logger: log})
	p.exporter, err = export.New(export.Config{
		Updater: s, Audit: s.Audit, Exports: s.Exports, Projects: s.Projects, Addresses: addresses(cfg.Export), Env: os.Getenv, Logger: log,
	})
	if err != nil {
		return err
	}
	a.stopLast(func() error { p.exporter.Close(); return nil })
	p.queue = queue.New(queue.Config{
		Store: queue.Store{Updater: s, Queue: s.Queue}, Deciders: p.deciders(), Describe: p.describe, Now: now, Logger: log,
		Snapshots: func(ctx context.Context, projectID string, limit int) ([]queue.Snapshot, error) {
			return awaited(ctx, s.Releases, projectID, limit)
		},
	})
	p.agents = agent.New(agent.Config{
		Evaluator: agentEvaluator{p.evaluator}, Rules: agentRules{p.evaluator, p.searcher, snapshots}, Drafts: agentDrafts{p.catalog, p.sandbox},
		Recorder: writer, Model: m.judge, Confirm: m.confirm, Timeout: cfg.JudgeTimeout, Declared: declared, Now: now, Logger: log,
		Bare:     cfg.RecordSubjects == "none" || cfg.RecordRetention > 0,
		Sessions: agent.Limits{Count: cfg.SessionCount, Age: cfg.SessionAge},
	})
	return nil
}

// handlers returns the handlers of background jobs, by kind.
func (p *parts) handlers(cfg config.Config) map[string]job.Handler {
	all := map[string]job.Handler{
		webhook.DeliverKind:  p.webhooks.Deliver,
		webhook.SweepKind:    p.webhooks.Sweep,
		approval.ExpireKind:  p.approvals.Expire,
		conflict.FindKind:    p.conflicts.Find,
		discover.ScanKind:    p.discovery.HandleScan,
		discover.PruneKind:   p.discovery.Prune,
		sandbox.RunKind:      p.sandbox.HandleRun,
		release.SimulateKind: p.releases.HandleSimulation,
		ingest.GitHubKind:    p.ingest.FetchDiff,
		evaluate.JobKind:     p.evaluator.HandleSubmission,
		watch.Kind:           p.watch.Handle,
		find.Kind:            p.index.Handle,
		evidence.TileKind:    p.tiler.Handle,
		record.PruneKind: p.evaluator.Prune(record.Retention{
			Records: time.Duration(cfg.RecordRetention) * day, Submissions: cfg.SubmissionRetention,
			Explained: p.explained, Apart: p.apart,
		}),
	}
	maps.Copy(all, p.monitor.Handlers())
	if p.exporter.On() {
		all[export.Kind] = p.exporter.Handle
	}
	if p.embeddings != nil {
		all[search.EmbedKind] = p.embeddings.Embed
		all[document.EmbedKind] = p.documents.EmbedJob
	}
	return all
}

// periodic returns the rounds of background jobs. An edge only looks after its records.
func (p *parts) periodic(cfg config.Config, atEdge bool) []job.Periodic {
	list := []job.Periodic{p.tiler.Periodic()}
	if p.exporter.On() {
		list = append(list, export.Periodic(cfg.ExportEvery))
	}
	if atEdge {
		return list
	}
	return append(append(list, p.monitor.Periodic()...), p.index.Periodic(), approval.Periodic(),
		job.Periodic{Kind: webhook.SweepKind, Every: webhook.SweepEvery, Priority: job.Last},
		job.Periodic{Kind: discover.PruneKind, Every: discover.PruneEvery, Priority: job.Last},
		job.Periodic{Kind: record.PruneKind, Every: record.PruneEvery, Priority: job.Last},
	)
}

// addresses splits a setting with commas.
func addresses(setting string) []string {
	var list []string
	for one := range strings.SplitSeq(setting, ",") {
		if one = strings.TrimSpace(one); one != "" {
			list = append(list, one)
		}
	}
	return list
}

// Readers returns the readers of all kinds of sources in which discovery finds candidate rules.
func Readers() []source.Reader {
	return []source.Reader{policy.Reader{}, assistant.Reader{}, linter.New(), code.New(), comment.Reader{}}
}
