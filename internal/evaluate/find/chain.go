package find

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// ChainQuery selects entries of an audit chain: all that is given must hold.
type ChainQuery struct {
	Kinds        []string // any of them
	Action       string
	Actor        string
	Person       string
	Agent        string
	Session      string
	Rule         string // id
	Evaluation   string // id
	Object       audit.Object
	Verdict      string
	Since, Until *time.Time // Since <= At < Until
}

// Chain finds entries of all kinds in audit chains.
type Chain struct{ x *Index }

// NewChain returns a Chain that finds what an index has.
func NewChain(x *Index) Chain { return Chain{x} }

// chainSearch is a query as the index takes it.
type chainSearch struct {
	query
	x         *Index
	projectID string
	mark      store.TermMark
	kinds     []string // of the entries that can match
	rule      string   // id of the rule whose entries are looked for; empty without one
	also      int64    // an entry that meets the condition about an evaluation, by its number; 0 without one
	about     int      // index of the condition about an evaluation
}

// plan returns the conditions of a query.
func (c Chain) plan(ctx context.Context, projectID string, f *ChainQuery) (*chainSearch, error) {
	q := &chainSearch{x: c.x, projectID: projectID, query: query{since: f.Since, until: f.Until}, kinds: f.Kinds, rule: f.Rule, about: -1}
	if f.Evaluation != "" {
		id := strings.ToLower(f.Evaluation)
		q.about = len(q.conditions)
		q.one(entryEvaluation, id)
		e, err := c.x.cfg.Store.Audit.Get(ctx, projectID, id)
		if err != nil && rule.CodeOf(err) != rule.CodeNotFound {
			return nil, err
		}
		if err == nil && e.Kind == audit.KindEvaluation {
			q.also = e.Seq
		}
	}
	if f.Object.ID != "" {
		q.one(entryObject, f.Object.Kind, f.Object.ID)
	}
	if f.Rule != "" {
		q.conditions = append(q.conditions, []store.Term{termOf(ruleID, f.Rule), termOf(entryRule, f.Rule), termOf(manyRules)})
	}
	if f.Action != "" {
		terms := []store.Term{termOf(entryAction, f.Action)}
		if f.Action == audit.ActionEvaluated {
			terms = append(terms, termOf(evaluated))
		}
		q.conditions = append(q.conditions, terms)
	}
	if f.Verdict != "" {
		q.one(verdict, f.Verdict)
	}
	if f.Actor != "" {
		q.conditions = append(q.conditions, []store.Term{termOf(actor, f.Actor), termOf(entryActor, f.Actor)})
	}
	for _, c := range []struct {
		value         string
		ofRecord, own property
	}{{f.Session, session, entrySession}, {f.Person, person, entryPerson}, {f.Agent, agent, entryAgent}} {
		if c.value != "" {
			name := rule.FoldName(c.value)
			q.conditions = append(q.conditions, []store.Term{termOf(c.ofRecord, name), termOf(c.own, name)})
		}
	}
	if len(f.Kinds) > 0 {
		var terms []store.Term
		for _, k := range f.Kinds {
			if k == audit.KindEvaluation {
				terms = append(terms, termOf(evaluated))
			} else {
				terms = append(terms, termOf(entryKind, k))
			}
		}
		q.conditions = append(q.conditions, terms)
	} else {
		q.kinds = audit.Kinds
	}
	return q, nil
}

// Find returns a page of the entries of a project's chain that match, newest first. A cursor takes the place of an offset.
func (c Chain) Find(ctx context.Context, projectID string, f ChainQuery, cursor string, p wire.PageQuery) (Result, error) {
	page := pager{before: math.MaxInt64, skip: p.Offset(), limit: p.PageSize}
	if cursor != "" {
		if p.Page > 1 {
			return Result{}, invalid("page", errors.New("is given together with cursor; use one of them"))
		}
		var err error
		if page.before, err = parseCursor(cursor); err != nil {
			return Result{}, invalid("cursor", err)
		}
	}
	q, err := c.plan(ctx, projectID, &f)
	if err != nil {
		return Result{}, err
	}
	recent, unsearched, err := q.begin(ctx)
	if err != nil {
		return Result{}, err
	}
	if unsearched > 0 && cursor == "" && f.ofEntries() {
		return c.walk(ctx, projectID, &f, p)
	}
	r := Result{Unsearched: unsearched}
	for _, e := range slices.Backward(recent) {
		if e.Seq <= q.mark.Pruned { // read before retention has removed the record
			e.Terms = slices.DeleteFunc(slices.Clone(e.Terms), store.Term.OfRecord)
		}
		yes, err := q.meets(ctx, &e)
		if err != nil {
			return Result{}, err
		}
		if yes {
			page.add(e.Seq)
		}
	}
	sets, err := q.sets(ctx)
	if err != nil {
		return Result{}, err
	}
	page.addSets(sets)
	r.Total = page.total
	if page.more {
		r.Next = cursorOf(page.seqs[len(page.seqs)-1])
	}
	if len(page.seqs) > 0 {
		r.Entries, err = c.x.cfg.Store.Terms.Entries(ctx, projectID, page.seqs)
	}
	return r, err
}

// begin reads how far the chain is indexed, and returns the newest entries after that and the number of entries between the two.
func (q *chainSearch) begin(ctx context.Context) (recent []store.TermEntry, unsearched int64, err error) {
	if err := q.x.bringUp(ctx, q.projectID); err != nil {
		return nil, 0, err
	}
	if q.mark, err = q.x.cfg.Store.Terms.Mark(ctx, q.projectID); err != nil {
		return nil, 0, err
	}
	return q.x.unindexed(ctx, q.projectID, q.mark.Seq)
}

// ofEntries reports whether a query asks for nothing but what the columns of entries hold.
func (f *ChainQuery) ofEntries() bool {
	return f.Action == "" && f.Person == "" && f.Agent == "" && f.Session == "" && f.Rule == "" && f.Evaluation == "" && f.Object.ID == "" && len(f.Kinds) <= 1
}

// walk finds entries by what their columns hold, without the index.
func (c Chain) walk(ctx context.Context, projectID string, f *ChainQuery, p wire.PageQuery) (Result, error) {
	filter := store.AuditFilter{
		ProjectID: projectID, Verdict: f.Verdict, Actor: f.Actor, Since: f.Since, Until: f.Until, Offset: p.Offset(), Limit: p.PageSize,
	}
	if len(f.Kinds) == 1 {
		filter.Kind = f.Kinds[0]
	}
	entries, total, err := c.x.cfg.Store.Audit.Find(ctx, filter)
	r := Result{Entries: entries, Total: total}
	if n := len(entries); n > 0 && filter.Offset+n < total {
		r.Next = cursorOf(entries[n-1].Seq)
	}
	return r, err
}

// sets returns the indexed entries that match.
func (q *chainSearch) sets(ctx context.Context) (blockSets, error) {
	blocks, err := q.x.cfg.Store.Terms.Blocks(ctx, q.projectID)
	if err != nil {
		return nil, err
	}
	found := blockSets{}
	var within []int64
	cut := map[int64]bool{}
	for i := range blocks {
		b := &blocks[i]
		if q.since != nil && b.Until.Before(*q.since) || q.until != nil && !b.From.Before(*q.until) {
			continue
		}
		set := &store.EntrySet{}
		for j := range set {
			set[j] = math.MaxUint64
		}
		set.Keep(b.Block, 0, q.mark.Seq)
		found[b.Block] = set
		within = append(within, b.Block)
		cut[b.Block] = q.since != nil && b.From.Before(*q.since) || q.until != nil && !b.Until.Before(*q.until)
	}
	for i := range q.conditions {
		if within, err = q.narrow(ctx, found, within, i); err != nil {
			return nil, err
		}
	}
	for _, b := range within {
		if !cut[b] {
			continue
		}
		set, err := q.x.cfg.Store.Terms.Within(ctx, q.projectID, b, q.kinds, q.since, q.until)
		if err != nil {
			return nil, err
		}
		found[b].Intersect(set)
	}
	return found, q.checkRules(ctx, found)
}

// narrow leaves in the sets of blocks the entries that meet a condition, and returns the blocks that have any.
func (q *chainSearch) narrow(ctx context.Context, found blockSets, blocks []int64, n int) ([]int64, error) {
	meeting := map[int64]*store.EntrySet{}
	var ofRecord, ofEntry []store.Term
	for _, t := range q.conditions[n] {
		if t.OfRecord() {
			ofRecord = append(ofRecord, t)
		} else {
			ofEntry = append(ofEntry, t)
		}
	}
	for _, part := range [][]store.Term{ofRecord, ofEntry} {
		if len(part) == 0 || len(blocks) == 0 {
			continue
		}
		sets, err := q.x.cfg.Store.Terms.Sets(ctx, q.projectID, part, blocks)
		if err != nil {
			return nil, err
		}
		for b, set := range sets {
			if part[0].OfRecord() {
				set.Keep(b, q.mark.Pruned, q.mark.Seq)
			}
			if meeting[b] == nil {
				meeting[b] = &store.EntrySet{}
			}
			meeting[b].Union(set)
		}
	}
	if b := store.BlockOf(q.also); n == q.about && q.also > 0 {
		if meeting[b] == nil {
			meeting[b] = &store.EntrySet{}
		}
		meeting[b].Add(q.also)
	}
	left := blocks[:0:0]
	for _, b := range blocks {
		set := meeting[b]
		if set == nil {
			delete(found, b)
			continue
		}
		found[b].Intersect(set)
		if found[b].Count() == 0 {
			delete(found, b)
			continue
		}
		left = append(left, b)
	}
	return left, nil
}

// checkRules removes entries with more rules than are indexed that do not concern the rule of the query. Only large imports have so many.
func (q *chainSearch) checkRules(ctx context.Context, found blockSets) error {
	if q.rule == "" || len(found) == 0 {
		return nil
	}
	blocks := found.newestFirst()
	many, err := q.x.cfg.Store.Terms.Sets(ctx, q.projectID, []store.Term{termOf(manyRules)}, blocks)
	if err != nil {
		return err
	}
	var seqs []int64
	for _, b := range blocks {
		if set := many[b]; set != nil {
			set.Intersect(found[b])
			set.Newest(b, func(seq int64) bool {
				seqs = append(seqs, seq)
				return true
			})
		}
	}
	about, err := q.concerning(ctx, seqs)
	if err != nil {
		return err
	}
	for _, seq := range seqs {
		if !about[seq] {
			other := &store.EntrySet{}
			other.Add(seq)
			found[store.BlockOf(seq)].Subtract(other)
		}
	}
	return nil
}

// meets reports whether an entry that is not indexed yet matches.
func (q *chainSearch) meets(ctx context.Context, e *store.TermEntry) (bool, error) {
	if q.since != nil && e.At.Before(*q.since) || q.until != nil && !e.At.Before(*q.until) {
		return false, nil
	}
	has := map[store.Term]bool{}
	for _, t := range e.Terms {
		has[t] = true
	}
	for i, terms := range q.conditions {
		if !slices.ContainsFunc(terms, func(t store.Term) bool { return has[t] }) && (i != q.about || e.Seq != q.also) {
			return false, nil
		}
	}
	if q.rule == "" || !has[termOf(manyRules)] {
		return true, nil
	}
	return q.concerns(ctx, e.Seq)
}

// Before returns the newest entries of a project's chain that match and come before one of them, newest first, limit at most.
func (c Chain) Before(ctx context.Context, projectID string, f ChainQuery, seq int64, limit int) ([]store.AuditEntry, error) {
	found, err := c.Find(ctx, projectID, f, cursorOf(seq), wire.PageQuery{Page: 1, PageSize: limit})
	return found.Entries, err
}

// exportPiece is how many entries an export reads at once.
const exportPiece = 200

// Each calls yield with the entries of a project's chain that match and have numbers greater than after, oldest first, until it returns an
// error. Entries that are recorded meanwhile are not among them.
func (c Chain) Each(ctx context.Context, projectID string, f ChainQuery, after int64, yield func(*store.AuditEntry) error) error {
	q, err := c.plan(ctx, projectID, &f)
	if err != nil {
		return err
	}
	head, err := c.x.cfg.Store.Audit.Head(ctx, projectID)
	if err != nil {
		return err
	}
	if _, _, err := q.begin(ctx); err != nil {
		return err
	}
	if len(q.conditions) > 0 || q.since != nil || q.until != nil {
		sets, err := q.sets(ctx)
		if err != nil {
			return err
		}
		if err := q.eachOf(ctx, sets, after, yield); err != nil {
			return err
		}
		after = max(after, q.mark.Seq)
	}
	for after < head.Seq {
		entries, err := c.x.cfg.Store.Audit.Entries(ctx, projectID, after, exportPiece)
		if err != nil {
			return err
		}
		if len(entries) == 0 {
			return nil
		}
		for i := range entries {
			e := &entries[i]
			if after = e.Seq; e.Seq > head.Seq {
				return nil
			}
			found := c.x.read(ctx, e)
			if yes, err := q.meets(ctx, &found); err != nil || !yes {
				if err != nil {
					return err
				}
				continue
			}
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// eachOf reads the entries of sets, oldest first.
func (q *chainSearch) eachOf(ctx context.Context, sets blockSets, after int64, yield func(*store.AuditEntry) error) error {
	for _, b := range slices.Backward(sets.newestFirst()) {
		var seqs []int64
		sets[b].Newest(b, func(seq int64) bool {
			seqs = append(seqs, seq)
			return seq > after
		})
		if n := len(seqs); n > 0 && seqs[n-1] <= after {
			seqs = seqs[:n-1]
		}
		slices.Reverse(seqs)
		for piece := range slices.Chunk(seqs, exportPiece) {
			entries, err := q.x.cfg.Store.Terms.Entries(ctx, q.projectID, piece)
			if err != nil {
				return err
			}
			for i := range slices.Backward(entries) {
				if err := yield(&entries[i]); err != nil {
					return err
				}
			}
		}
	}
	return nil
}
