package evidence

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"tenet/internal/audit"
	"tenet/internal/poll"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// InForce knows what the audit chains say about what is in force: which rules, keys, waivers and the like their entries explain, by the hashes of
// rows. It follows the chains and holds some 150 bytes for a row. It is safe for concurrent use.
type InForce struct {
	rows   store.InForceReader
	logger *slog.Logger
	kinds  []string // of entries

	mu       sync.Mutex
	projects map[string]*explained
	// problems are those that the last [InForce.Sweep] has found, by project.
	problems map[string]error
	// swept has the projects that a sweep has looked at since they were last forgotten.
	swept map[string]bool
	// everywhere is a problem of all projects: of suspensions, some of which hold in all.
	everywhere error
	strict     atomic.Bool
	keys       keyLogs
}

// Strict has projects of which no entry explains anything be refused too, from now on. Before that, they may be of an older version.
func (f *InForce) Strict() { f.strict.Store(true) }

// explained holds the rows that the entries of one chain explain.
type explained struct {
	mu    sync.Mutex
	seq   int64 // of the last entry that was read
	whole bool  // some entry explains the project itself, so that everything after it is explained
	rows  map[name]state
	// before holds what rows were before their changes, oldest first, for readers that have begun before these.
	before map[name][]state
	past   int // states in before
	// only are the kinds of rows that are kept; empty for all.
	only []string
}

func newExplained() *explained {
	return &explained{rows: map[name]state{}, before: map[name][]state{}}
}

type name struct{ kind, id string }

// state is a row since an entry.
type state struct {
	hash store.RowHash
	seq  int64
}

// maxBefore bounds the past states of a project. A reader that needs a forgotten one reads again.
const maxBefore = 10_000

// NewInForce returns an InForce that has read nothing yet.
func NewInForce(rows store.InForceReader, logger *slog.Logger) *InForce {
	return &InForce{rows: rows, logger: logger, kinds: audit.RecordsInForce(), projects: map[string]*explained{}, problems: map[string]error{}, swept: map[string]bool{}}
}

// recordedPage is how many entries one query reads.
const recordedPage = 2000

// follow returns what the entries of a project explain, as its chain is now, locked.
func (f *InForce) follow(ctx context.Context, projectID string) (*explained, error) {
	f.mu.Lock()
	e := f.projects[projectID]
	if e == nil {
		e = newExplained()
		f.projects[projectID] = e
	}
	f.mu.Unlock()
	e.mu.Lock()
	if err := f.readOn(ctx, projectID, e); err != nil {
		e.mu.Unlock()
		return nil, err
	}
	return e, nil
}

// readOn adds what the entries of a project explain that were added since.
func (f *InForce) readOn(ctx context.Context, projectID string, e *explained) error {
	for {
		list, until, err := f.rows.Recorded(ctx, projectID, f.kinds, e.seq, recordedPage)
		if err == nil {
			err = e.read(list, until)
		}
		if err != nil || len(list) < recordedPage {
			return err
		}
	}
}

// read adds what entries explain, which are all up to a place in the chain. One that is not as it was recorded ends it with [store.ErrDamaged].
func (e *explained) read(list []store.AuditEntry, until int64) error {
	for i := range list {
		said, err := audit.InForceOf(list[i])
		if err != nil {
			return unexplained(list[i].ProjectID, err.Error())
		}
		if said != nil {
			rows, err := said.Parse()
			if err != nil {
				return unexplained(list[i].ProjectID, fmt.Sprintf("entry %d cannot be read: %s", list[i].Seq, err))
			}
			if len(e.only) > 0 {
				rows = slices.DeleteFunc(rows, func(r store.RowInForce) bool { return !slices.Contains(e.only, r.Kind) })
			}
			e.apply(list[i].Seq, said.Whole, rows)
		}
		e.seq = list[i].Seq
	}
	e.seq = max(e.seq, until)
	return nil
}

func (e *explained) apply(seq int64, whole bool, rows []store.RowInForce) {
	if whole {
		clear(e.rows)
	}
	for _, r := range rows {
		n := name{r.Kind, r.ID}
		e.whole = e.whole || r.Kind == store.ProjectInForce
		if was, ok := e.rows[n]; ok {
			if e.past >= maxBefore {
				clear(e.before)
				e.past = 0
			}
			e.before[n] = append(e.before[n], state{was.hash, seq})
			e.past++
		}
		if r.Hash == (store.RowHash{}) {
			delete(e.rows, n)
			continue
		}
		e.rows[n] = state{r.Hash, seq}
	}
}

// Mark returns where the chain of a project is, for a later [InForce.Check] of what is read from now on.
func (f *InForce) Mark(ctx context.Context, projectID string) (int64, error) {
	e, err := f.follow(ctx, projectID)
	if err != nil {
		return 0, err
	}
	defer e.mu.Unlock()
	return e.seq, nil
}

// Explained reports whether entries explain the whole of what is in force in a project. Those of a project of an older version do so once
// it has been recorded.
func (f *InForce) Explained(ctx context.Context, projectID string) (bool, error) {
	e, err := f.follow(ctx, projectID)
	if err != nil {
		return false, err
	}
	defer e.mu.Unlock()
	return e.whole, nil
}

// Check compares rows that were read after a mark with what the chain of their project explains; besides them, the stored rows of kinds with some ids. All rows
// of the kinds in whole must be there; those of which none were read are read now. The error is unavailable, with [store.ErrDamaged], if
// entries do not explain them.
func (f *InForce) Check(ctx context.Context, projectID string, mark int64, rows []store.RowInForce, ids map[string][]string, whole ...string) error {
	read := map[string]bool{}
	for i := range rows {
		read[rows[i].Kind] = true
	}
	rows = slices.Clip(rows)
	for kind, list := range ids {
		if len(list) == 0 {
			continue
		}
		more, err := f.rows.Rows(ctx, projectID, kind, list)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	for _, kind := range whole {
		if read[kind] {
			continue
		}
		more, err := f.rows.Rows(ctx, projectID, kind, nil)
		if err != nil {
			return err
		}
		rows = append(rows, more...)
	}
	e, err := f.follow(ctx, projectID)
	if err != nil {
		return err
	}
	defer e.mu.Unlock()
	if problems := e.compare(mark, rows, whole, f.strict.Load()); len(problems) > 0 {
		return unexplained(projectID, summary(problems))
	}
	return nil
}

// compare returns what the entries do not explain.
func (e *explained) compare(mark int64, rows []store.RowInForce, whole []string, strict bool) (problems []string) {
	switch {
	case !e.whole && strict:
		return []string{"no entry explains the project"}
	case !e.whole:
		return nil
	}
	seen := make(map[name]bool, len(rows))
	for _, r := range rows {
		n := name{r.Kind, r.ID}
		seen[n] = true
		now, ok := e.rows[n]
		if ok && now.hash == r.Hash {
			continue
		}
		if slices.ContainsFunc(e.before[n], func(was state) bool { return was.seq > mark && was.hash == r.Hash }) {
			continue // as it was when the reader began, or since
		}
		if ok {
			problems = append(problems, fmt.Sprintf("the %s %s is not as entry %d recorded it", r.Kind, r.ID, now.seq))
		} else {
			problems = append(problems, fmt.Sprintf("no entry explains the %s %s", r.Kind, r.ID))
		}
	}
	if len(whole) == 0 {
		slices.Sort(problems)
		return problems
	}
	for n, s := range e.rows {
		if slices.Contains(whole, n.kind) && !seen[n] && s.seq <= mark {
			problems = append(problems, fmt.Sprintf("the %s %s of entry %d is missing", n.kind, n.id, s.seq))
		}
	}
	slices.Sort(problems)
	return problems
}

// maxNamed bounds the rows that an error names.
const maxNamed = 5

func summary(problems []string) string {
	more := ""
	if n := len(problems) - maxNamed; n > 0 {
		more = fmt.Sprintf(", and %d more", n)
	}
	return strings.Join(problems[:min(len(problems), maxNamed)], "; ") + more
}

func unexplained(projectID, what string) error {
	return rule.Errorf(rule.CodeUnavailable, "the database of project %q was changed without an entry in its audit log: %s. Nothing is decided by that. Restore the database from a "+
		"backup, or accept it as it is with tenet audit accept-corpus --reason TEXT%w", projectID, what, store.ErrDamaged)
}

// tries is how often rows are read again that have changed while they were read.
const tries = 3

// CheckStored is [InForce.Check] of all rows of some kinds as the database has them now.
func (f *InForce) CheckStored(ctx context.Context, projectID string, kinds ...string) error {
	problems, err := f.Problems(ctx, projectID, kinds...)
	if err == nil && len(problems) > 0 {
		err = unexplained(projectID, summary(problems))
	}
	return err
}

// Problems returns what entries do not explain of some kinds, of all without any, as the database has them now.
func (f *InForce) Problems(ctx context.Context, projectID string, kinds ...string) (problems []string, err error) {
	if len(kinds) == 0 {
		kinds = store.KindsInForce
	}
	for range tries {
		mark, err := f.Mark(ctx, projectID)
		if err != nil {
			return nil, err
		}
		var rows []store.RowInForce
		for _, kind := range kinds {
			list, err := f.rows.Rows(ctx, projectID, kind, nil)
			if err != nil {
				return nil, err
			}
			rows = append(rows, list...)
		}
		e, err := f.follow(ctx, projectID)
		if err != nil {
			return nil, err
		}
		problems = e.compare(mark, rows, kinds, f.strict.Load())
		moved := e.seq != mark
		e.mu.Unlock()
		if len(problems) == 0 || !moved {
			break
		}
	}
	return problems, nil
}

// CheckRow is [InForce.Check] of the rows of a kind with an id, as the database has them now. There must be one.
func (f *InForce) CheckRow(ctx context.Context, projectID, kind, id string) error {
	mark, err := f.Mark(ctx, projectID)
	if err != nil {
		return err
	}
	rows, err := f.rows.Rows(ctx, projectID, kind, []string{id})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return rule.NotFound(kind, id)
	}
	return f.Check(ctx, projectID, mark, rows, nil)
}

// CheckRowIn is [InForce.CheckRow] inside a transaction that has locked the chain of the project, and the row against changes by others: it knows
// the entries that the transaction has written itself.
func (f *InForce) CheckRowIn(ctx context.Context, tx store.Tx, projectID, kind, id string) error {
	rows, err := tx.InForce.Rows(ctx, projectID, kind, []string{id})
	if err != nil {
		return err
	}
	if len(rows) == 0 {
		return rule.NotFound(kind, id)
	}
	e, err := f.follow(ctx, projectID)
	if err != nil {
		return err
	}
	n := name{kind, id}
	here := newExplained()
	here.seq, here.whole = e.seq, e.whole
	if now, ok := e.rows[n]; ok {
		here.rows[n] = now
	}
	e.mu.Unlock()
	for {
		list, until, err := tx.InForce.Recorded(ctx, projectID, f.kinds, here.seq, recordedPage)
		if err == nil {
			err = here.read(list, until)
		}
		if err != nil {
			return err
		}
		if len(list) < recordedPage {
			break
		}
	}
	if problems := here.compare(here.seq, rows, nil, f.strict.Load()); len(problems) > 0 {
		return unexplained(projectID, summary(problems))
	}
	return nil
}

// SweepEvery is the time between two comparisons of what is read without a check of its own.
const SweepEvery = 15 * time.Second

// swept are the kinds of rows that are few, and decide without being read by a view of the rules.
var swept = []string{store.ProjectInForce, store.WaiverInForce, store.KeyInForce, store.SuspensionInForce, store.DeploymentInForce, store.GatesInForce, store.RetentionInForce}

// Forget frees the memory that a project takes. What its chain explains is read again when it is needed.
func (f *InForce) Forget(projectID string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.projects, projectID)
	delete(f.swept, projectID)
}

// troubled returns the projects that the last sweeps have found a problem in.
func (f *InForce) troubled() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.problems))
}

// Sweep compares the keys, suspensions, waivers, policies, deployments and gates of projects with what their chains explain. What it finds is in
// [InForce.Problem] until a later Sweep finds it mended. It fails if the database cannot be read.
func (f *InForce) Sweep(ctx context.Context, projects []string) error {
	for _, id := range projects {
		err := f.CheckStored(ctx, id, swept...)
		if err != nil && !errors.Is(err, store.ErrDamaged) {
			return err
		}
		f.note(ctx, id, err)
		if id == rule.DefaultProject {
			everywhere := err
			if err != nil {
				everywhere = f.CheckStored(ctx, id, store.SuspensionInForce)
			}
			f.mu.Lock()
			f.everywhere = everywhere
			f.mu.Unlock()
		}
	}
	return nil
}

func (f *InForce) note(ctx context.Context, projectID string, problem error) {
	f.mu.Lock()
	before := f.problems[projectID]
	f.swept[projectID] = true
	if problem == nil {
		delete(f.problems, projectID)
	} else {
		f.problems[projectID] = problem
	}
	f.mu.Unlock()
	switch {
	case problem != nil && before == nil:
		f.logger.ErrorContext(ctx, "evaluations are refused: the audit log does not explain what is in force", slog.String("project", projectID), slog.Any("error", problem))
	case problem == nil && before != nil:
		f.logger.InfoContext(ctx, "the audit log explains what is in force again", slog.String("project", projectID))
	}
}

// Refusal is [InForce.Problem], after a sweep of a project that none has looked at yet. It has nothing to say of a project that does not exist, and keeps nothing of
// its name.
func (f *InForce) Refusal(ctx context.Context, projectID string) error {
	f.mu.Lock()
	done := f.swept[projectID]
	f.mu.Unlock()
	if !done {
		rows, err := f.rows.Rows(ctx, projectID, store.ProjectInForce, []string{projectID})
		if err != nil || len(rows) == 0 {
			return err
		}
		if err := f.Sweep(ctx, []string{projectID}); err != nil {
			return err
		}
	}
	return f.Problem(projectID)
}

// Problem returns unavailable if the chain of a project does not explain what is in force there; else nil.
func (f *InForce) Problem(projectID string) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.problems[projectID]; err != nil {
		return err
	}
	return f.everywhere
}

// Run sweeps until ctx ends. projects lists the projects to compare in a round; those with a problem are compared in each.
func (f *InForce) Run(ctx context.Context, projects func(ctx context.Context) ([]string, error)) {
	poll.Every(ctx, SweepEvery, f.logger, "cannot compare what is in force with the audit log; trying again", func(ctx context.Context) error {
		list, err := projects(ctx)
		if err != nil {
			return err
		}
		return f.Sweep(ctx, slices.Compact(slices.Sorted(slices.Values(append(list, f.troubled()...)))))
	})
}
