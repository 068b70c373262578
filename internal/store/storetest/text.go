package storetest

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// testHostileText looks up names that no database text can hold, or that have a meaning in SQL.
func testHostileText(t *testing.T, f *fixture) {
	f.insert(newRule(1, nil))
	if err := f.appendAudit(entryAt(1, nil)); err != nil {
		t.Fatal(err)
	}
	for _, ref := range []string{
		"R-1\x00", "\x00", "R-1\x00x", "R-\xff", "\xff\xfe", "R-1' OR '1'='1", "%", "R-_", "R-1 ", "$1", "?", strings.Repeat("R", 1<<20),
	} {
		_, err := f.s.Rules.Get(f.ctx, "p", ref)
		code(t, "rule", err, rule.CodeNotFound)
		_, err = f.s.Rules.Get(f.ctx, ref, "R-1")
		code(t, "rule of project", err, rule.CodeNotFound)
		_, err = f.s.Rules.Version(f.ctx, "p", ref, 1)
		code(t, "rule version", err, rule.CodeNotFound)
		_, _, err = f.s.Rules.Versions(f.ctx, "p", ref, 0, 1)
		code(t, "rule versions", err, rule.CodeNotFound)
		_, err = f.s.Projects.Get(f.ctx, ref)
		code(t, "project", err, rule.CodeNotFound)
		_, err = f.s.Rules.Changes(f.ctx, ref, 0, func(store.RuleState) error { return nil })
		code(t, "changes", err, rule.CodeNotFound)
		_, err = f.s.Audit.Get(f.ctx, "p", ref)
		code(t, "audit entry", err, rule.CodeNotFound)
		_, err = f.s.Keys.GetByHash(f.ctx, ref)
		code(t, "key", err, rule.CodeNotFound)
		if found, err := f.s.Rules.GetMany(f.ctx, "p", []string{"R-1", ref}); err != nil || len(found) != 1 {
			t.Errorf("rules beside %.20q: %d, %v; want the one that exists", ref, len(found), err)
		}
		for about, filter := range map[string]store.AuditFilter{
			"kind": {ProjectID: "p", Kind: ref}, "actor": {ProjectID: "p", Actor: ref}, "project": {ProjectID: ref},
		} {
			filter.Limit = 1
			if list, n, err := f.s.Audit.Find(f.ctx, filter); err != nil || n != 0 || len(list) != 0 {
				t.Errorf("audit of %s %.20q: %d, %v; want none", about, ref, n, err)
			}
		}
		if list, err := f.s.Rules.Relationships(f.ctx, "p", ref); err != nil || len(list) != 0 {
			t.Errorf("relationships of %.20q: %d, %v; want none", ref, len(list), err)
		}
		f.fails(rule.CodeNotFound, func(tx store.Tx) error {
			_, err := tx.Projects.RaiseCorpus(f.ctx, ref)
			return err
		})
		f.fails(rule.CodeNotFound, func(tx store.Tx) error { return tx.Keys.Revoke(f.ctx, "p", ref, at) })
	}
	for _, name := range []string{"a\x00b", "a\xffb"} {
		f.fails(rule.CodeInvalid, func(tx store.Tx) error {
			return tx.Keys.Insert(f.ctx, store.Key{ProjectID: "p", ID: "1", Hash: "h", Name: name})
		})
		f.fails(rule.CodeInvalid, func(tx store.Tx) error { return tx.Projects.Create(f.ctx, rule.Project{ID: "q", Name: name}) })
	}
}

// testTimes stores times of another zone with nanoseconds everywhere: they come back in UTC, cut to microseconds.
func testTimes(t *testing.T, f *fixture) {
	given := at.Add(999 * time.Nanosecond).In(time.FixedZone("somewhere", 5*3600+1800))
	old := time.Date(1931, 1, 1, 0, 0, 0, 1_999, time.UTC) // before the epoch, cutting goes down all the same
	oldCut := time.Date(1931, 1, 1, 0, 0, 0, 1_000, time.UTC)
	same := func(about string, want, got any, err error) {
		t.Helper()
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", about, err, diff)
		}
	}
	p := rule.Project{ID: "q", CreatedAt: old, UpdatedAt: given}
	key := store.Key{ProjectID: "p", ID: "1", Hash: "h", CreatedAt: given, ExpiresAt: &given}
	f.update(func(tx store.Tx) error {
		return errors.Join(tx.Projects.Create(f.ctx, p), tx.Keys.Insert(f.ctx, key), tx.Keys.Revoke(f.ctx, "p", "1", given))
	})
	p.CreatedAt, p.UpdatedAt = oldCut, at
	gotProject, err := f.s.Projects.Get(f.ctx, "q")
	same("project", p, gotProject, err)
	cut := at
	key.CreatedAt, key.ExpiresAt, key.RevokedAt = at, &cut, &cut
	gotKey, err := f.s.Keys.GetByHash(f.ctx, "h")
	same("key", key, gotKey, err)

	r := newRule(1, func(r *rule.Rule) {
		r.CreatedAt, r.UpdatedAt = old, given
		r.EffectivePeriod = rule.EffectivePeriod{From: &old, Until: &given}
	})
	before := r.Clone()
	f.insert(r, newRule(2, nil))
	wantRule := r
	wantRule.CreatedAt, wantRule.UpdatedAt = oldCut, at
	wantRule.EffectivePeriod = rule.EffectivePeriod{From: &oldCut, Until: &cut}
	gotRule, err := f.s.Rules.Get(f.ctx, "p", r.ID)
	same("rule", wantRule, gotRule, err)
	same("the caller's copy of a rule", before, r, nil)

	rel := rule.Relationship{ID: newRule(7, nil).ID, FromID: newRule(1, nil).ID, ToID: newRule(2, nil).ID, Kind: rule.Refines, CreatedAt: given}
	f.update(func(tx store.Tx) error { return tx.Rules.InsertRelationship(f.ctx, "p", 1, rel) })
	rel.CreatedAt = at
	rels, err := f.s.Rules.Relationships(f.ctx, "p", r.ID)
	same("relationships", []rule.Relationship{rel}, rels, err)

	if err := f.appendAudit(entryAt(1, func(e *store.AuditEntry) { e.At = given })); err != nil {
		t.Fatal(err)
	}
	entry, err := f.s.Audit.Get(f.ctx, "p", entryAt(1, nil).ID)
	same("audit entry", entryAt(1, func(e *store.AuditEntry) { e.At = at }), entry, err)
}

// testErrorsHideDatabase checks that the part of an error for users does not contain the database's words.
func testErrorsHideDatabase(t *testing.T, f *fixture) {
	one := newRule(1, nil)
	f.insert(one, newRule(2, nil))
	key := store.Key{ProjectID: "p", ID: "1", Hash: "secret hash", CreatedAt: at}
	f.update(func(tx store.Tx) error { return tx.Keys.Insert(f.ctx, key) })
	if err := f.appendAudit(entryAt(1, nil)); err != nil {
		t.Fatal(err)
	}
	for about, err := range map[string]error{
		"slug":  f.change(next(one, func(r *rule.Rule) { r.Slug = "R-2" })),
		"key":   f.s.Update(f.ctx, func(tx store.Tx) error { return tx.Keys.Insert(f.ctx, key) }),
		"audit": f.appendAudit(entryAt(2, func(e *store.AuditEntry) { e.ID = entryAt(1, nil).ID })),
	} {
		shown, ok := errors.AsType[*rule.Error](err)
		if !ok {
			t.Errorf("%s: %v cannot be shown", about, err)
			continue
		}
		for _, word := range []string{"SQL", "sql", "constraint", "UNIQUE", "unique", "index", "secret hash", "audit_entries", "rules_by"} {
			if strings.Contains(shown.Error(), word) {
				t.Errorf("%s: users are shown %q, which says %q", about, shown, word)
			}
		}
	}
}
