package sqlstore

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strconv"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// rowSum is the beginning of the hash of a stored rule. The sum of a corpus is the exclusive or of those of its rows, so that a change
// costs time in proportion to the changed rows.
type rowSum [16]byte

func sumOf(hash store.RowHash) rowSum { return rowSum(hash[:len(rowSum{})]) }

// ruleHash is the hash of a stored rule.
func ruleHash(id string, version int64, body []byte) (out store.RowHash) {
	h := sha256.New()
	h.Write([]byte(id)) // a hash never fails to write
	h.Write([]byte{0})
	h.Write(strconv.AppendInt(nil, version, 10))
	h.Write([]byte{0})
	h.Write(body)
	h.Sum(out[:0])
	return out
}

func (s *rowSum) mix(other rowSum) {
	for i := range s {
		s[i] ^= other[i]
	}
}

// Tally implements store.RuleReader.
func (t ruleTable) Tally(ctx context.Context, projectID string) (store.Tally, error) {
	tally, err := one(ctx, t.session, corpusOf(projectID), "tally", "SELECT corpus_version, rules, digest FROM corpus_tallies WHERE project_id = ?", []any{projectID},
		func(c *store.Tally) []any { return []any{&c.Version, &c.Rules, &c.Digest} })
	return tally, notFound(err, "tally of project", projectID)
}

// count adds rows to the tally of a project, if it has been counted: added new ones, and the exclusive or of all sums that come and go.
func count(ctx context.Context, t ruleTable, projectID string, cv int64, added int, change rowSum) error {
	tally, err := t.Tally(ctx, projectID)
	if rule.CodeOf(err) == rule.CodeNotFound {
		return nil // of an older database; Recount counts it whole
	}
	if err != nil {
		return err
	}
	sum, err := readSum(tally.Digest)
	if err != nil {
		return err
	}
	sum.mix(change)
	_, err = t.exec(ctx, "count rules", "UPDATE corpus_tallies SET corpus_version = ?, rules = rules + ?, digest = ? WHERE project_id = ?",
		cv, added, hex.EncodeToString(sum[:]), projectID)
	return err
}

func readSum(digest string) (sum rowSum, err error) {
	if n, err := hex.Decode(sum[:], []byte(digest)); err != nil || n != len(sum) || len(digest) != 2*len(sum) {
		return sum, fmt.Errorf("sqlstore: the stored digest %q of a corpus cannot be read", digest)
	}
	return sum, nil
}

// Recount implements store.RuleTx.
func (t ruleTable) Recount(ctx context.Context, projectID string, cv int64) (store.Tally, error) {
	if err := t.lock(ctx, corpusOf(projectID)); err != nil {
		return store.Tally{}, err
	}
	var got counted
	for next := t.wholePages(projectID); ; {
		p := next(ctx)
		if p.err != nil {
			return store.Tally{}, p.err
		}
		if len(p.bodies) == 0 {
			break
		}
		if _, err := p.decode(projectID); err != nil {
			return store.Tally{}, err
		}
		got.add(&p)
	}
	tally := store.Tally{Version: cv, Rules: got.rules, Digest: hex.EncodeToString(got.sum[:])}
	_, err := t.exec(ctx, "count rules", `INSERT INTO corpus_tallies (project_id, corpus_version, rules, digest) VALUES (?, ?, ?, ?)
		ON CONFLICT (project_id) DO UPDATE SET corpus_version = excluded.corpus_version, rules = excluded.rules, digest = excluded.digest`,
		projectID, tally.Version, tally.Rules, tally.Digest)
	return tally, err
}

// counted is the tally of the rows that were read.
type counted struct {
	rules int
	sum   rowSum
}

func (c *counted) add(p *rulePage) {
	c.rules += len(p.bodies)
	for _, hash := range p.hashes {
		c.sum.mix(sumOf(hash))
	}
}

// compare returns an error if the rows that were read are not those that were counted as they were written.
func (c *counted) compare(ctx context.Context, t ruleTable, projectID string) error {
	tally, err := t.Tally(ctx, projectID)
	switch {
	case rule.CodeOf(err) == rule.CodeNotFound:
		return nil
	case err != nil:
		return err
	case tally.Rules != c.rules:
		return damaged("project %q has %d rules in the database, but %d were counted when they were last changed (corpus version %d)",
			projectID, c.rules, tally.Rules, tally.Version)
	case tally.Digest != hex.EncodeToString(c.sum[:]):
		return damaged("the %d rules of project %q in the database are not as they were written (corpus version %d)", c.rules, projectID, tally.Version)
	}
	return nil
}

// damaged returns the error of a corpus that is not as it was written.
func damaged(format string, args ...any) error {
	return rule.Errorf(rule.CodeUnavailable, "%s: nothing is evaluated by a damaged corpus. Restore the database from a backup, or accept the rules as they are "+
		"with tenet audit accept-corpus --reason TEXT%w", fmt.Sprintf(format, args...), store.ErrDamaged)
}
