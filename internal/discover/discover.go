// Package discover finds candidate rules in what an organisation has already, and lets reviewers decide on them. Readers of
// the kinds of sources do the reading; here is all around it: scans in the background, merging of what is found twice,
// comparison with the existing rules, and the approval that makes a candidate a rule. Nothing is approved automatically.
package discover

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/discover/source"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Rules makes rules of approved candidates.
type Rules interface {
	// Adopt makes a rule as an ordinary request does, and calls also in the same transaction, in which an error leaves no rule.
	Adopt(ctx context.Context, projectID string, r rule.Rule, also func(tx store.Tx, made rule.Rule) error) (rule.Rule, error)
	// Disown retires a rule that Adopt has made, unless somebody has built on it, which is a conflict; also is as of Adopt.
	Disown(ctx context.Context, projectID, id, note string, also func(tx store.Tx) error) error
	// Cite adds sources to a rule; also is as of Adopt.
	Cite(ctx context.Context, projectID, ref string, refs []rule.SourceRef, note string, also func(tx store.Tx, r rule.Rule) error) (rule.Rule, error)
	// Uncite takes sources away from a rule; also is as of Adopt.
	Uncite(ctx context.Context, projectID, ref string, refs []rule.SourceRef, note string, also func(tx store.Tx, r rule.Rule) error) (rule.Rule, error)
}

// Documents gives uploaded documents.
type Documents interface {
	// File returns the name and the bytes of a document, or not_found.
	File(ctx context.Context, projectID, id string) (filename string, content []byte, err error)
}

// Embedder makes vectors of texts; every llm.Embedder is one.
type Embedder interface {
	ID() string
	Embed(ctx context.Context, texts []string) ([][]float32, error)
}

// Store is the part of the database that this package uses.
type Store struct {
	store.Updater
	Candidates store.CandidateReader
	Documents  store.DocumentReader
	Exclusions store.ExclusionReader
	Jobs       store.JobReader
	Projects   store.ProjectReader
	Scans      store.ScanReader
}

// Config sets up [New]. Store, Readers, Rules, Views, Documents, Queue and Now are required.
type Config struct {
	Store     Store
	Readers   []source.Reader
	Rules     Rules
	Views     corpus.Views
	Documents Documents
	Queue     job.Queue // of the jobs that HandleScan does
	// Model refines what is found in texts; nil for no refining.
	Model llm.Model
	// Embedder finds rules that mean the same in other words; nil means that words alone are compared.
	Embedder Embedder
	// Contradicts reports whether two rules contradict each other, why, and how sure that is; nil for no comparison.
	Contradicts func(a, b rule.Rule) (reason string, confidence float64, ok bool)
	// Publish publishes an event of a new candidate; nil publishes none.
	Publish func(ctx context.Context, tx store.Tx, e rule.Event) error
	// Retention is the time after which ended scans lose the candidates that have become no rule; 0 means never.
	Retention time.Duration
	// Keeping has the times of projects that take the place of Retention; nil without any.
	Keeping store.RetentionReader
	Logger  *slog.Logger // nil logs nothing
	Now     func() time.Time
}

// Discovery runs scans and keeps candidates. It is safe for concurrent use.
type Discovery struct {
	cfg      Config
	store    Store
	redactor *redact.Redactor
}

// New makes a Discovery.
func New(cfg Config) *Discovery {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Discovery{cfg: cfg, store: cfg.Store, redactor: redact.New()}
}

// instant returns the current time as it is stored.
func (d *Discovery) instant() time.Time { return rule.Instant(d.cfg.Now()) }

// scopes returns the paths of a suggested scope.
func scopes(text string) []string {
	var paths []string
	for s := range strings.SplitSeq(text, ",") {
		if s = rule.CleanScope(s); s != "" && !slices.Contains(paths, s) {
			paths = append(paths, s)
		}
	}
	return paths
}
