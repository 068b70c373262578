package app

import (
	"time"

	"tenet/internal/conflict/contradict"
	"tenet/internal/discover"
	"tenet/internal/discover/assistant"
	"tenet/internal/discover/code"
	"tenet/internal/discover/linter"
	"tenet/internal/discover/policy"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/rule"
)

// Readers are the readers of all kinds of sources that candidate rules are found in.
func Readers() []source.Reader {
	return []source.Reader{policy.Reader{}, assistant.Reader{}, linter.New(), code.New()}
}

// contradicts tells whether two rules contradict each other.
func contradicts(a, b rule.Rule) (reason string, confidence float64, ok bool) {
	f, ok := contradict.Rules(&a, &b)
	return f.Reason, f.Confidence, ok
}

// discovery makes what finds candidate rules, and has its background work done.
func (a *App) discovery(work *work, now func() time.Time) *discover.Discovery {
	d := discover.New(discover.Config{
		Store: a.store, Readers: Readers(), Rules: a.catalog, Views: a.live, Documents: a.documents, Queue: job.NewQueue(now),
		Model: a.model, Embedder: a.embedder, Contradicts: contradicts, Publish: a.hooks.Publish, Logger: a.log, Now: now,
	})
	work.handlers[discover.ScanKind] = d.HandleScan
	work.handlers[discover.PruneKind] = d.Prune
	work.periodic = append(work.periodic, job.Periodic{Kind: discover.PruneKind, Every: discover.PruneEvery, Priority: job.Last})
	return d
}
