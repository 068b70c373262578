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

// Changes implements store.RuleReader.
func (t ruleTable) Changes(ctx context.Context, projectID string, after int64, fn func(store.RuleState) error) (int64, error) {
	return t.changes(ctx, projectID, after, fn, func(*session) error { return nil })
}

// changes walks changed rules and then calls more with a session that sees the same state of the database.
func (t ruleTable) changes(ctx context.Context, projectID string, after int64, fn func(store.RuleState) error, more func(*session) error) (int64, error) {
	reached := int64(0)
	err := t.lockedSnapshot(ctx, corpusOf(projectID), func(r *session) error {
		project, err := projectTable{r}.Get(ctx, projectID)
		if err != nil {
			return err
		}
		reached = project.CorpusVersion
		if reached == after {
			return nil
		}
		next := ruleTable{r}.wholePages(projectID)
		if after > 0 {
			if next, err = (ruleTable{r}).changedPages(ctx, projectID, after); err != nil {
				return err
			}
		}
		var got counted
		if err := (ruleTable{r}).walk(ctx, projectID, next, &got, fn); err != nil {
			return err
		}
		if after == 0 {
			if err := got.compare(ctx, ruleTable{r}, projectID); err != nil {
				return err
			}
		}
		return more(r)
	})
	return reached, err
}

// pageSize is the number of rules in one read. Between reads no rows are open, so that fn may use the same transaction.
const pageSize = 512

// rulePage holds stored rules in order of their ids.
type rulePage struct {
	ids      []string
	versions []int64
	bodies   [][]byte
	hashes   []store.RowHash                // set by decode
	rels     map[string][]rule.Relationship // by the rule they go out from
	err      error
}

// nextPage reads the next page; one without bodies is the end.
type nextPage func(ctx context.Context) rulePage

// wholePages reads all rules of a project.
func (t ruleTable) wholePages(projectID string) nextPage {
	last, ended := "", false
	return func(ctx context.Context) (p rulePage) {
		if ended {
			return rulePage{}
		}
		first := last
		p.err = p.readBodies(ctx, t.session, &last, "id > ? ORDER BY id"+t.d.limit, projectID, last, pageSize)
		ended = len(p.bodies) < pageSize
		if p.err == nil && len(p.bodies) > 0 {
			p.err = p.readRelationships(ctx, t, "from_id > ? AND from_id <= ?", projectID, first, last)
		}
		return p
	}
}

// changedPages reads the rules that have changed after a corpus version.
func (t ruleTable) changedPages(ctx context.Context, projectID string, after int64) (nextPage, error) {
	ids, err := many(ctx, t.session, unlocked, "changed rules", "SELECT id FROM rules WHERE project_id = ? AND corpus_version > ?",
		[]any{projectID, after}, textFields)
	slices.Sort(ids)
	return func(ctx context.Context) (p rulePage) {
		part := ids[:min(pageSize, len(ids))]
		ids = ids[len(part):]
		if len(part) == 0 {
			return rulePage{}
		}
		last := ""
		in, list := t.d.in("id", part)
		if p.err = p.readBodies(ctx, t.session, &last, in+" ORDER BY id", projectID, list); p.err == nil {
			in, list = t.d.in("from_id", part)
			p.err = p.readRelationships(ctx, t, in, projectID, list)
		}
		return p
	}, err
}

// readBodies adds the rules that meet a condition to the page and sets last to the id of the last one.
func (p *rulePage) readBodies(ctx context.Context, s *session, last *string, condition string, args ...any) error {
	var raw sql.RawBytes
	var version int64
	return s.each(ctx, "changed rules", "SELECT id, version, body FROM rules WHERE project_id = ? AND "+condition, args, func(rows *sql.Rows) error {
		err := rows.Scan(last, &version, &raw)
		p.ids, p.versions, p.bodies = append(p.ids, *last), append(p.versions, version), append(p.bodies, slices.Clone(raw))
		return err
	})
}

// readRelationships adds the relationships that meet a condition to the page.
func (p *rulePage) readRelationships(ctx context.Context, t ruleTable, condition string, args ...any) error {
	list, err := t.relationships(ctx, condition, args)
	p.rels = map[string][]rule.Relationship{}
	for _, rel := range list {
		p.rels[rel.FromID] = append(p.rels[rel.FromID], rel)
	}
	return err
}

// walk calls fn for the rules of all pages. Outside of a transaction that writes, which fn may use, it reads
// the next page while it decodes the last.
func (t ruleTable) walk(ctx context.Context, projectID string, next nextPage, got *counted, fn func(store.RuleState) error) error {
	if t.state == nil {
		ahead, stop := readAhead(ctx, next)
		defer stop()
		next = func(context.Context) rulePage { return <-ahead }
	}
	for {
		p := next(ctx)
		if p.err != nil || len(p.bodies) == 0 {
			return p.err
		}
		rules, err := p.decode(projectID)
		if err != nil {
			return err
		}
		got.add(&p)
		for i := range rules {
			if err := fn(store.RuleState{Rule: rules[i], Relationships: p.rels[rules[i].ID], Hash: p.hashes[i]}); err != nil {
				return err
			}
		}
	}
}

// readAhead reads pages into a channel until the last, which is empty or an error. stop ends it early and waits
// for the current read, which it does not cancel, since that would cost the connection.
func readAhead(ctx context.Context, next nextPage) (pages <-chan rulePage, stop func()) {
	ahead, stopped := make(chan rulePage, 2), make(chan struct{})
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

// decode decodes a page on all processors: it takes longer than reading. A row that does not hold the rule of its keys is an error.
func (p *rulePage) decode(projectID string) ([]rule.Rule, error) {
	rules := make([]rule.Rule, len(p.bodies))
	p.hashes = make([]store.RowHash, len(p.bodies))
	share := max(64, (len(rules)+runtime.GOMAXPROCS(0)-1)/runtime.GOMAXPROCS(0))
	var decoding errgroup.Group
	for from := 0; from < len(rules); from += share {
		decoding.Go(func() (err error) {
			for i := from; i < min(from+share, len(rules)) && err == nil; i++ {
				p.hashes[i] = ruleHash(p.ids[i], p.versions[i], p.bodies[i])
				if rules[i], err = decodeRule(p.bodies[i]); err != nil || rules[i].ID != p.ids[i] || int64(rules[i].Version) != p.versions[i] {
					err = damaged("the row of the rule %s of project %q cannot be read", p.ids[i], projectID)
				}
			}
			return err
		})
	}
	return rules, decoding.Wait()
}
