// Package edge decides in the process of its caller, by a bundle that a Tenet server has published: no server is asked, and the answers are those of
// the server for the same rules.
//
//	e, err := edge.Open(ctx, edge.Config{Bundle: "https://tenet.example.com/api/v1/bundles/production", Trusted: keys, Folder: "rules", Sink: sink})
//	a, err := e.Evaluate(ctx, edge.Request{Action: "rm -rf /"})
//	if err != nil || a.OverallVerdict != edge.Allow {
//		// not allowed: an error is never a pass
//	}
//
// Every answer is recorded by the [Sink] before it is returned. Rules without a check need a model, which this package has none of: they are
// NEEDS_CONFIRMATION.
package edge

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"log/slog"
	"os"
	"sync"
	"time"

	"tenet/internal/audit"
	"tenet/internal/auth"
	"tenet/internal/bundle/place"
	"tenet/internal/check"
	"tenet/internal/corpus"
	follow "tenet/internal/edge"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/redact"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Config sets up [Open]. Bundle, Trusted and Sink are required.
type Config struct {
	// Bundle is the place of bundles: the address at a server, oci://..., s3://... or file:PATH.
	Bundle string
	// Trusted are the verifier keys of which one must have signed a bundle, as `tenet bundle key` prints them.
	Trusted []string
	// Sink makes records durable. [Discard] keeps none.
	Sink Sink
	// Folder keeps the last good bundle, so that a start needs no network; empty keeps none.
	Folder string
	// Key is the API key for a server's bundles.
	Key string
	// Project is that of the bundles of a server; empty is the key's, or the default one.
	Project string
	// Every is the time between two looks at the place; 0 means 10 s. A server also sends news.
	Every time.Duration
	// MaxAge is the age from which on a bundle is stale; 0 means any.
	MaxAge time.Duration
	// Fail says what a stale bundle decides, as --fail of `tenet edge`; empty is its default.
	Fail string
	// Actor is the name under which records are made; empty is "edge".
	Actor string
	// Logger gets warnings; nil discards them.
	Logger *slog.Logger
	// Now is the clock; nil means time.Now.
	Now func() time.Time
}

// Sink makes records durable. A record that cannot be made fails the evaluation: nothing is answered without a record.
type Sink interface {
	Write(ctx context.Context, r Record) error
}

// Record is the record of an evaluation.
type Record struct {
	ID        string // of the evaluation
	ProjectID string
	Kind      string
	At        time.Time
	Actor     string
	Verdict   string
	Mode      string
	Body      []byte // JSON, as an edge sends it to its server: the subject with its secrets redacted, the rules, the verdicts
}

// Discard is a Sink that keeps no records. With it none are made, which takes a third of the time.
var Discard Sink = discard{}

type discard struct{}

func (discard) Write(context.Context, Record) error { return nil }

// Edge evaluates by a bundle. It is safe for concurrent use.
type Edge struct {
	cfg      Config
	fail     rule.StaleModes
	corpus   *follow.Corpus
	follower *follow.Follower
	live     *corpus.Live
	released *release.Views
	eval     *evaluate.Evaluator
	end      context.CancelFunc
	running  sync.WaitGroup
}

// Open takes the newest bundle, or else the last one in the folder, and follows the place until [Edge.Close].
func Open(ctx context.Context, cfg Config) (*Edge, error) {
	if cfg.Sink == nil {
		return nil, errors.New("edge: Sink is missing: it makes records durable; edge.Discard keeps none")
	}
	if len(cfg.Trusted) == 0 {
		return nil, errors.New("edge: Trusted is missing: name the keys that sign the bundles, as tenet bundle key prints them")
	}
	from, err := place.Parse(cfg.Bundle, place.Config{Key: cfg.Key, Project: cfg.Project, Env: os.Getenv})
	if err != nil {
		return nil, err
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	e := &Edge{cfg: cfg, corpus: &follow.Corpus{}}
	if e.fail, err = rule.ParseStale(cmp.Or(cfg.Fail, rule.DefaultStale)); err != nil {
		return nil, err
	}
	e.follower = follow.NewFollower(follow.FollowConfig{
		Place: from, Trusted: cfg.Trusted, Folder: cfg.Folder, Every: cmp.Or(cfg.Every, 10*time.Second), Corpus: e.corpus, Manifest: release.ManifestOf, Root: release.RootOf,
		Logger: cfg.Logger, Now: cfg.Now, Taken: e.refresh,
	})
	e.assemble()
	if err := e.follower.Start(ctx); err != nil {
		return nil, err
	}
	e.refresh(ctx)
	following, end := context.WithCancel(context.WithoutCancel(ctx))
	e.end = end
	e.running.Go(func() { e.follower.Run(following) })
	return e, nil
}

// maxPrograms bounds the compiled checks in memory.
const maxPrograms = 20_000

func (e *Edge) assemble() {
	readers := e.corpus.Readers(store.Readers{})
	e.live = corpus.NewLive(corpus.Config{
		Store:  corpus.Store{Projects: readers.Projects, Federation: readers.Federation, Waivers: readers.Waivers},
		Logger: e.cfg.Logger,
	})
	e.released = release.NewViews(readers.Releases, readers.Rules, e.live)
	var records evaluate.Recorder
	if e.cfg.Sink != Discard {
		records = recorder{e.cfg.Sink}
	}
	e.eval = evaluate.New(evaluate.Config{
		Views: e.live, Released: e.released, Checks: check.NewCache(maxPrograms), Judge: judge.New(judge.Config{Logger: e.cfg.Logger}), Recorder: records, Now: e.cfg.Now,
		Records: evaluate.Store{Projects: readers.Projects, Rules: readers.Rules}, Redact: redact.New(), Agents: suspensions{readers.Agents}, Bundle: e.bundle,
	})
}

// refresh brings the views up to a bundle that was taken.
func (e *Edge) refresh(ctx context.Context) {
	head, _ := e.corpus.Head()
	if _, err := e.live.Refresh(context.WithoutCancel(ctx), head.Project); err != nil {
		e.cfg.Logger.WarnContext(ctx, "the rules of the new bundle cannot be used yet", slog.Any("error", err))
		return
	}
	_, _, _ = e.released.Deployed(ctx, head.Project, head.Environment) // else the next request makes the view
}

func (e *Edge) bundle() evaluate.Bundle {
	b := e.Bundle()
	out := evaluate.Bundle{Name: b.Hash, Environment: b.Environment, Age: b.Age, Fail: e.fail}
	if e.cfg.MaxAge > 0 && b.Age > e.cfg.MaxAge {
		out.Stale = "The rules may be out of date: for " + b.Age.Round(time.Second).String() + " no server has vouched for the bundle of this edge, which may be " + e.cfg.MaxAge.String() + " old"
	}
	return out
}

// Close ends the following of the place. Evaluations go on by the bundle in use.
func (e *Edge) Close() error {
	e.end()
	e.running.Wait()
	return nil
}

// Bundle describes the bundle in use.
type Bundle struct {
	Project, Environment string
	Seq                  int64
	Hash                 string
	Rules                int
	Age                  time.Duration // since a server last vouched for it
	Problem              string        // why the last look at the place failed; empty if it did not
}

// Bundle describes the bundle in use.
func (e *Edge) Bundle() Bundle {
	h, _ := e.corpus.Head()
	return Bundle{Project: h.Project, Environment: h.Environment, Seq: h.Seq, Hash: h.RawHash, Rules: h.Rules, Age: e.follower.Age(), Problem: e.follower.Problem()}
}

// Evaluate judges a change, files, facts or an action, and records the evaluation. An error is never a pass.
func (e *Edge) Evaluate(ctx context.Context, r Request) (*Evaluation, error) {
	ctx, err := e.as(ctx, r.Acting)
	if err != nil {
		return nil, err
	}
	head, _ := e.corpus.Head()
	return e.eval.Evaluate(ctx, evaluate.Request{
		ProjectID: head.Project, EvaluateOptions: r.EvaluateOptions,
		Input: wire.RecordedSubject{Diff: r.Diff, Files: r.Files, Facts: r.Facts, Action: r.Action, Intent: r.Intent, Scope: r.Scope, Repository: r.Repository},
	})
}

// Applicable lists the rules that would apply, best ranked first. Nothing is evaluated.
func (e *Edge) Applicable(ctx context.Context, r Applicable) ([]Rule, error) {
	head, _ := e.corpus.Head()
	view, _, err := e.released.Deployed(ctx, head.Project, cmp.Or(r.Environment, head.Environment))
	if err != nil {
		return nil, err
	}
	list, err := e.eval.Applicable(ctx, evaluate.ApplicableQuery{
		ProjectID: head.Project, View: view, FilePaths: r.FilePaths, Repository: r.Repository, Scope: r.Scope, NodeID: r.NodeID,
	})
	if err != nil {
		return nil, err
	}
	rules := make([]Rule, len(list))
	for i, one := range list {
		rules[i] = *one
	}
	return rules, nil
}

// as puts the caller into a context.
func (e *Edge) as(ctx context.Context, on wire.Acting) (context.Context, error) {
	head, _ := e.corpus.Head()
	who := auth.Actor{Name: cmp.Or(e.cfg.Actor, "edge"), Role: auth.Evaluator, ProjectID: head.Project}
	ctx = auth.WithActor(ctx, who)
	if on == (wire.Acting{}) {
		return ctx, nil
	}
	id, err := auth.Identify(who, on)
	return audit.WithIdentity(ctx, id), err
}

// recorder gives the records of evaluations to a sink.
type recorder struct{ sink Sink }

// Append implements evaluate.Recorder.
func (r recorder) Append(ctx context.Context, rec audit.Record) error {
	err := r.sink.Write(ctx, Record{
		ID: rec.ID, ProjectID: rec.ProjectID, Kind: rec.Kind, At: rec.At, Actor: rec.Actor, Verdict: rec.Verdict, Mode: rec.Mode, Body: bytes.Clone(rec.Body),
	})
	if err != nil {
		return rule.Errorf(rule.CodeUnavailable, "the record of the evaluation cannot be stored: %w", err)
	}
	return nil
}

// suspensions are those of the bundle.
type suspensions struct{ agents store.AgentReader }

// Suspended implements evaluate.Agents.
func (s suspensions) Suspended(ctx context.Context, projectID string, id rule.Identity) (*rule.Suspension, error) {
	if id.Agent == "" {
		return nil, nil
	}
	list, err := s.agents.Suspended(ctx)
	for i := range list {
		if x := list[i]; (x.ProjectID == store.AllProjects || x.ProjectID == projectID) && x.Stops(id) {
			return &x, err
		}
	}
	return nil, err
}

// Saw implements evaluate.Agents.
func (suspensions) Saw(string, string, rule.Identity, bool) {}
