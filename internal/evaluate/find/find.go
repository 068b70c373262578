// Package find finds recorded evaluations by what they were about: time, verdict, rule, scope, repository, actor, facts and words.
//
// A job goes through the audit chain of each project and stores which entries have which terms, see [store.TermReader]. A query intersects
// the sets of its terms and goes through the entries that are not indexed yet, so that a new record is found at once. docs/records.md
// says what is found and how it is stored.
package find

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Store is the part of the database that an [Index] uses.
type Store struct {
	store.Updater
	store.DerivedUpdater
	Audit store.AuditReader
	Rules store.RuleReader
	Terms store.TermReader
}

// Config sets up [New]. Store is required.
type Config struct {
	Store Store
	// Working reports whether background jobs run. While they do not, a query first indexes what is left. Nil means that they run.
	Working func() bool
	Logger  *slog.Logger // nil logs nothing
}

// Index finds recorded evaluations. It is safe for concurrent use.
type Index struct {
	cfg   Config
	tail  tails
	large largeEntries
}

// New returns an Index.
func New(cfg Config) *Index {
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	return &Index{cfg: cfg}
}

// Result is a page of evaluations.
type Result struct {
	Entries    []store.AuditEntry // newest first
	Total      int                // that match, on all pages
	Next       string             // cursor of the next page; empty on the last
	Partial    int                // see [wire.EvaluationPage]
	Unsearched int64              // see [wire.EvaluationPage]
}

// Find returns the evaluations of a project that match a filter; invalid, naming the parameters, if the filter has values that nothing
// can have.
func (x *Index) Find(ctx context.Context, projectID string, f wire.EvaluationQuery) (Result, error) {
	q, err := x.plan(ctx, projectID, &f)
	if err != nil {
		return Result{}, err
	}
	page := pager{before: math.MaxInt64, skip: f.Offset(), limit: f.PageSize}
	if f.Cursor != "" {
		if f.Page > 1 {
			return Result{}, invalid("page", errors.New("is given together with cursor; use one of them"))
		}
		if page.before, err = parseCursor(f.Cursor); err != nil {
			return Result{}, invalid("cursor", err)
		}
	}
	var walk func() (Result, error)
	if f.Cursor == "" && q.ofEntries() {
		walk = func() (Result, error) { return x.walk(ctx, projectID, &f) }
	}
	return x.gather(ctx, projectID, q, page, walk)
}

// Entries returns the entries of a project's chain with some numbers, newest first.
func (x *Index) Entries(ctx context.Context, projectID string, seqs []int64) ([]store.AuditEntry, error) {
	return x.cfg.Store.Terms.Entries(ctx, projectID, seqs)
}

// Denials returns the newest evaluations since a time that broke a rule, under a waiver or not, newest first and limit at most.
func (x *Index) Denials(ctx context.Context, projectID, ruleID string, since time.Time, limit int) ([]store.AuditEntry, error) {
	q := &query{since: &since, conditions: [][]store.Term{{
		termOf(ruleOutcome, ruleID, string(wire.RuleViolated)), termOf(ruleOutcome, ruleID, string(wire.RuleWaived)),
	}}}
	r, err := x.gather(ctx, projectID, q, pager{before: math.MaxInt64, limit: limit}, nil)
	return r.Entries, err
}

// gather returns the evaluations that match a query. Where entries are not indexed yet and too many, it leaves the search to walk, if that is not nil.
func (x *Index) gather(ctx context.Context, projectID string, q *query, page pager, walk func() (Result, error)) (Result, error) {
	if err := x.bringUp(ctx, projectID); err != nil {
		return Result{}, err
	}
	mark, err := x.cfg.Store.Terms.Mark(ctx, projectID)
	if err != nil {
		return Result{}, err
	}
	recent, unsearched, err := x.unindexed(ctx, projectID, mark.Seq)
	if err != nil {
		return Result{}, err
	}
	if unsearched > 0 && walk != nil {
		return walk()
	}
	r := Result{Unsearched: unsearched}
	for _, e := range slices.Backward(recent) {

		if e.Seq <= mark.Pruned { // read before retention has removed the record
			e.Terms = slices.DeleteFunc(slices.Clone(e.Terms), store.Term.OfRecord)
		}
		if found, maybe := q.matches(&e); found {
			page.add(e.Seq)
		} else if maybe {
			r.Partial++
		}
	}
	sets, partial, err := x.search(ctx, projectID, q, mark)
	if err != nil {
		return Result{}, err
	}
	r.Partial += partial
	page.addSets(sets)
	r.Total = page.total
	if page.more {
		r.Next = cursorOf(page.seqs[len(page.seqs)-1])
	}
	if len(page.seqs) > 0 {
		r.Entries, err = x.cfg.Store.Terms.Entries(ctx, projectID, page.seqs)
	}
	return r, err
}

// ofEntries reports whether a query asks for nothing but what entries of the chain hold.
func (q *query) ofEntries() bool {
	return !slices.ContainsFunc(q.conditions, func(terms []store.Term) bool { return terms[0].OfRecord() })
}

// walk finds evaluations by what entries of the chain hold, without the index. The caller has checked the filter.
func (x *Index) walk(ctx context.Context, projectID string, f *wire.EvaluationQuery) (Result, error) {
	v, _ := rule.Parse(f.Verdict, rule.Verdicts)
	m, _ := rule.Parse(f.Mode, rule.Modes)
	entries, total, err := x.cfg.Store.Audit.Find(ctx, store.AuditFilter{
		ProjectID: projectID, Kind: audit.KindEvaluation, Verdict: string(v), Mode: string(m), Actor: f.Actor, Since: f.Since, Until: f.Until,
		Offset: f.Offset(), Limit: f.PageSize,
	})
	r := Result{Entries: entries, Total: total}
	if n := len(entries); n > 0 && f.Offset()+n < total {
		r.Next = cursorOf(entries[n-1].Seq)
	}
	return r, err
}

// invalid is the error about one parameter.
func invalid(field string, err error) error {
	var p rule.Problems
	p.Add(field, "%s", err.Error())
	return p.Err("the query is invalid")
}

// pager takes a page out of matching entries that come newest first.
type pager struct {
	before int64 // entries from here on are on earlier pages
	skip   int
	limit  int
	total  int
	seqs   []int64
	more   bool // entries follow the page
}

func (p *pager) add(seq int64) {
	p.total++
	p.take(seq)
}

// take returns whether the page still takes entries.
func (p *pager) take(seq int64) bool {
	switch {
	case seq >= p.before:
	case p.skip > 0:
		p.skip--
	case len(p.seqs) < p.limit:
		p.seqs = append(p.seqs, seq)
	default:
		p.more = true
	}
	return !p.more
}

// addSets adds the entries of blocks.
func (p *pager) addSets(sets blockSets) {
	for _, b := range sets.newestFirst() {
		set := sets[b]
		n := set.Count()
		p.total += n
		if p.more {
			continue
		}
		if p.before > (b+1)*store.BlockSize && p.skip >= n {
			p.skip -= n
			continue
		}
		set.Newest(b, p.take)
	}
}

// search returns the indexed entries that match, and how many others may.
func (x *Index) search(ctx context.Context, projectID string, q *query, mark store.TermMark) (found blockSets, partial int, err error) {
	blocks, err := x.cfg.Store.Terms.Blocks(ctx, projectID)
	if err != nil {
		return nil, 0, err
	}
	var within []int64
	cut := map[int64]bool{} // blocks with entries of other times, too
	for i := range blocks {
		b := &blocks[i]
		if q.since != nil && b.Until.Before(*q.since) || q.until != nil && !b.From.Before(*q.until) {
			continue
		}
		within = append(within, b.Block)
		cut[b.Block] = q.since != nil && b.From.Before(*q.since) || q.until != nil && !b.Until.Before(*q.until)
	}
	s := search{x, projectID, q, mark, cut}
	if found, err = s.intersect(ctx, within, q.conditions); err != nil || q.inside == 0 {
		return found, 0, err
	}
	others, err := s.intersect(ctx, within, append([][]store.Term{{termOf(partialRecord)}}, q.conditions[q.inside:]...))
	for b, set := range others {
		if known := found[b]; known != nil {
			set.Subtract(known)
		}
		partial += set.Count()
	}
	return found, partial, err
}

// search is one search in the index.
type search struct {
	x         *Index
	projectID string
	q         *query
	mark      store.TermMark
	cut       map[int64]bool
}

// intersect returns the entries of blocks that meet all conditions. Each condition is only asked of the blocks that the ones before it
// have left, so a rare one makes the query fast.
func (s *search) intersect(ctx context.Context, blocks []int64, conditions [][]store.Term) (blockSets, error) {
	var found blockSets
	for i, terms := range conditions {
		if len(blocks) == 0 {
			return nil, nil
		}
		sets, err := s.sets(ctx, terms, blocks)
		if err != nil {
			return nil, err
		}
		after := int64(0)
		if terms[0].OfRecord() {
			after = s.mark.Pruned
		}
		next := blockSets{}
		left := blocks[:0:0]
		for _, b := range blocks {
			set := sets[b]
			if set == nil {
				continue
			}
			if i > 0 {
				set.Intersect(found[b])
			}
			set.Keep(b, after, s.mark.Seq)
			if set.Count() > 0 {
				next[b], left = set, append(left, b)
			}
		}
		found, blocks = next, left
	}
	for _, b := range blocks {
		if !s.cut[b] {
			continue
		}
		within, err := s.x.cfg.Store.Terms.Within(ctx, s.projectID, b, []string{audit.KindEvaluation}, s.q.since, s.q.until)
		if err != nil {
			return nil, err
		}
		found[b].Intersect(within)
	}
	return found, nil
}

// Many blocks are read in parts at a time: each part waits for other pages of the index.
const (
	partBlocks  = 128
	partsAtOnce = 4
)

// sets returns the entries of blocks that have one of the terms.
func (s *search) sets(ctx context.Context, terms []store.Term, blocks []int64) (map[int64]*store.EntrySet, error) {
	all := make(map[int64]*store.EntrySet, len(blocks))
	var mu sync.Mutex
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(partsAtOnce)
	for part := range slices.Chunk(blocks, max(partBlocks, (len(blocks)+partsAtOnce-1)/partsAtOnce)) {
		group.Go(func() error {
			sets, err := s.x.cfg.Store.Terms.Sets(ctx, s.projectID, terms, part)
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(all, sets)
			return err
		})
	}
	return all, group.Wait()
}

// matches reports whether an entry that is not indexed yet matches, and if not, whether it may, since not all of its facts and words
// are among its terms.
func (q *query) matches(e *store.TermEntry) (found, maybe bool) {
	if q.since != nil && e.At.Before(*q.since) || q.until != nil && !e.At.Before(*q.until) {
		return false, false
	}
	has := map[store.Term]bool{}
	for _, t := range e.Terms {
		has[t] = true
	}
	meets := func(conditions [][]store.Term) bool {
		for _, terms := range conditions {
			if !slices.ContainsFunc(terms, func(t store.Term) bool { return has[t] }) {
				return false
			}
		}
		return len(e.Terms) > 0
	}
	if meets(q.conditions) {
		return true, false
	}
	return false, q.inside > 0 && has[termOf(partialRecord)] && meets(q.conditions[q.inside:])
}
