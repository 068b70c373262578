package sqlstore

import (
	"context"
	"database/sql"
	"runtime"
	"slices"
	"sync"

	"golang.org/x/sync/errgroup"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Changes implements store.Reader.
func (r *reader) Changes(ctx context.Context, projectID string, after int64, fn func(store.RuleState) error) (int64, error) {
	return r.changes(ctx, projectID, after, fn, func(*reader) error { return nil })
}

// changes walks changed rules and then calls more with a reader to which the database stands still.
func (r *reader) changes(ctx context.Context, projectID string, after int64, fn func(store.RuleState) error, more func(*reader) error) (int64, error) {
	reached := int64(0)
	err := r.holding(ctx, corpusOf(projectID), func(r *reader) error {
		project, err := r.Project(ctx, projectID)
		if err != nil {
			return err
		}
		reached = project.CorpusVersion
		if reached == after {
			return nil
		}
		next := r.wholePages(projectID)
		if after > 0 {
			if next, err = r.changedPages(ctx, projectID, after); err != nil {
				return err
			}
		}
		if err := r.walk(ctx, next, fn); err != nil {
			return err
		}
		return more(r)
	})
	return reached, err
}

// pageSize is how many rules are read at once. While no rows are open, fn may use the same transaction.
const pageSize = 512

// page is a run of rules in order of their ids, as stored.
type page struct {
	bodies [][]byte
	rels   map[string][]rule.Relationship // by the rule they go out from
	err    error
}

// nextPage reads the next page; one without bodies is the end.
type nextPage func(ctx context.Context) page

// wholePages reads all rules of a project.
func (r *reader) wholePages(projectID string) nextPage {
	last, ended := "", false
	return func(ctx context.Context) (p page) {
		if ended {
			return page{}
		}
		first := last
		p.err = r.bodies(ctx, &p, &last, "id > ? ORDER BY id LIMIT ?", projectID, last, pageSize)
		ended = len(p.bodies) < pageSize
		if p.err == nil && len(p.bodies) > 0 {
			p.err = r.outgoing(ctx, &p, "from_id > ? AND from_id <= ?", projectID, first, last)
		}
		return p
	}
}

// changedPages reads the rules that have changed after a corpus version.
func (r *reader) changedPages(ctx context.Context, projectID string, after int64) (nextPage, error) {
	var ids []string
	err := r.each(ctx, "changed rules", "SELECT id FROM rules WHERE project_id = ? AND corpus_version > ?",
		[]any{projectID, after}, func(rows *sql.Rows) error {
			var id string
			err := rows.Scan(&id)
			ids = append(ids, id)
			return err
		})
	slices.Sort(ids)
	return func(ctx context.Context) (p page) {
		part := ids[:min(pageSize, len(ids))]
		ids = ids[len(part):]
		if len(part) == 0 {
			return page{}
		}
		last := ""
		in, list := r.d.in("id", part)
		if p.err = r.bodies(ctx, &p, &last, in+" ORDER BY id", projectID, list); p.err == nil {
			in, list = r.d.in("from_id", part)
			p.err = r.outgoing(ctx, &p, in, projectID, list)
		}
		return p
	}, err
}

// bodies adds rules that meet a condition to a page and notes the id of the last.
func (r *reader) bodies(ctx context.Context, p *page, last *string, condition string, args ...any) error {
	var raw sql.RawBytes
	return r.each(ctx, "changed rules", "SELECT id, body FROM rules WHERE project_id = ? AND "+condition, args, func(rows *sql.Rows) error {
		err := rows.Scan(last, &raw)
		p.bodies = append(p.bodies, slices.Clone(raw))
		return err
	})
}

func (r *reader) outgoing(ctx context.Context, p *page, condition string, args ...any) error {
	list, err := r.relationships(ctx, condition, args)
	p.rels = map[string][]rule.Relationship{}
	for _, rel := range list {
		p.rels[rel.FromID] = append(p.rels[rel.FromID], rel)
	}
	return err
}

// walk calls fn for the rules of all pages. Outside of a transaction that writes, which fn may be using, the next page is
// read while the last is decoded.
func (r *reader) walk(ctx context.Context, next nextPage, fn func(store.RuleState) error) error {
	if r.inside == nil {
		ahead, stop := readAhead(ctx, next)
		defer stop()
		next = func(context.Context) page { return <-ahead }
	}
	for {
		p := next(ctx)
		if p.err != nil || len(p.bodies) == 0 {
			return p.err
		}
		rules, err := p.decode()
		if err != nil {
			return err
		}
		for i := range rules {
			if err := fn(store.RuleState{Rule: rules[i], Relationships: p.rels[rules[i].ID]}); err != nil {
				return err
			}
		}
	}
}

// readAhead reads pages into a channel until the last, which is empty or an error. Stop ends it early and waits for it; the
// read that is under way is not broken off, since that would cost the connection.
func readAhead(ctx context.Context, next nextPage) (pages <-chan page, stop func()) {
	ahead, stopped := make(chan page, 2), make(chan struct{})
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			p := next(ctx)
			select {
			case ahead <- p:
			case <-stopped:
				return
			}
			if p.err != nil || len(p.bodies) == 0 {
				return
			}
		}
	})
	return ahead, func() {
		close(stopped)
		reading.Wait()
	}
}

// decode decodes a page on all processors: it takes longer than reading.
func (p *page) decode() ([]rule.Rule, error) {
	rules := make([]rule.Rule, len(p.bodies))
	share := max(64, (len(rules)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var decoding errgroup.Group
	for from := 0; from < len(rules); from += share {
		decoding.Go(func() (err error) {
			for i := from; i < min(from+share, len(rules)) && err == nil; i++ {
				rules[i], err = decodeRule(p.bodies[i])
			}
			return err
		})
	}
	return rules, decoding.Wait()
}
