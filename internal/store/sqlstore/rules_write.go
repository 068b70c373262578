package sqlstore

import (
	"context"
	"database/sql"

	"tenet/internal/rule"
	"tenet/internal/store"
)

const insertRules = "INSERT INTO rules (project_id, id, slug, version, status, corpus_version, body) VALUES "

// lockRules locks the corpus of the one project of rules and returns the project with the ids and the stored versions of the
// rules. Without rules it locks nothing.
func (t ruleTable) lockRules(ctx context.Context, rules []rule.Rule) (projectID string, ids []string, stored map[string]storedRule, err error) {
	if len(rules) == 0 {
		return "", nil, nil, nil
	}
	projectID, ids = rules[0].ProjectID, make([]string, len(rules))
	for i := range rules {
		ids[i] = rules[i].ID
		if rules[i].ProjectID != projectID {
			return "", nil, nil, rule.Errorf(rule.CodeInvalid, "rules of the projects %q and %q cannot be stored together", projectID, rules[i].ProjectID)
		}
	}
	in, list := t.d.in("id", ids)
	stored, err = byKey(ctx, t.session, corpusOf(projectID), "stored rules", "SELECT id, version, slug FROM rules WHERE project_id = ? AND "+in,
		[]any{projectID, list}, func(id *string, r *storedRule) []any { return []any{id, &r.version, &r.slug} })
	return projectID, ids, stored, err
}

// Insert implements store.RuleTx.
func (t ruleTable) Insert(ctx context.Context, cv int64, rules []rule.Rule) error {
	projectID, _, stored, err := t.lockRules(ctx, rules)
	if err != nil || len(rules) == 0 {
		return err
	}
	seen := make(map[string]bool, len(rules))
	for i := range rules {
		id := rules[i].ID
		if _, ok := stored[id]; ok || seen[id] {
			return rule.Errorf(rule.CodeConflict, "there is a rule with the id %s already (%s)", id, nameOf(&rules[i]))
		}
		seen[id] = true
	}
	if err := t.slugsFree(ctx, projectID, rules); err != nil {
		return err
	}
	sum, err := t.putRules(ctx, "insert rules", cv, rules, "")
	if err != nil {
		return err
	}
	return count(ctx, t, projectID, cv, len(rules), sum)
}

// Update implements store.RuleTx. All rules give up their old slugs first and take the new ones then, so that rules may
// exchange slugs.
func (t ruleTable) Update(ctx context.Context, cv int64, rules []rule.Rule) error {
	projectID, ids, stored, err := t.lockRules(ctx, rules)
	if err != nil || len(rules) == 0 {
		return err
	}
	var leaving []string
	for i := range rules {
		r := &rules[i]
		old, ok := stored[r.ID]
		switch {
		case !ok:
			return rule.NotFound("rule", r.ID)
		case old.version != r.Version-1:
			return rule.Errorf(rule.CodePrecondition, "rule %s (%s) is at version %d, not %d; read it again", r.ID, nameOf(r), old.version, r.Version-1)
		case old.slug != "" && (old.slug != r.Slug || r.Status == rule.Retired):
			leaving = append(leaving, r.ID)
		}
		stored[r.ID] = storedRule{version: r.Version} // once more in the same call is based on an old version
	}
	before, err := inForceTable(t).read(ctx, projectID, store.RuleInForce, ids, t.d.keepRows)
	if err != nil {
		return err
	}
	inForceTable(t).noteBefore(projectID, before)
	var gone rowSum
	for _, r := range before {
		gone.mix(sumOf(r.Hash))
	}
	if err := t.inProject(ctx, "archive rules",
		"INSERT INTO rule_versions (project_id, rule_id, version, body) SELECT project_id, id, version, body FROM rules", projectID, ids); err != nil {
		return err
	}
	if err := t.inProject(ctx, "give up slugs", "UPDATE rules SET slug = ''", projectID, leaving); err != nil {
		return err
	}
	if err := t.slugsFree(ctx, projectID, rules); err != nil {
		return err
	}
	sum, err := t.putRules(ctx, "update rules", cv, rules, ` ON CONFLICT (project_id, id) DO UPDATE SET slug = excluded.slug,
		version = excluded.version, status = excluded.status, corpus_version = excluded.corpus_version, body = excluded.body`)
	if err != nil {
		return err
	}
	if err := conflictTable(t).rulesChanged(ctx, rules); err != nil {
		return err
	}
	sum.mix(gone)
	return count(ctx, t, projectID, cv, 0, sum)
}

// nameOf returns the name of a rule in messages.
func nameOf(r *rule.Rule) string {
	if r.Slug != "" {
		return r.Slug
	}
	return "without a slug"
}

type storedRule struct {
	version int
	slug    string
}

// slugsFree checks that no two of the rules, and no other rule in force, have the same slug. A corpus has one
// change at a time, so a free slug stays free.
func (t ruleTable) slugsFree(ctx context.Context, projectID string, rules []rule.Rule) error {
	claims := make(map[string]string, len(rules)) // slug to rule id
	slugs := make([]string, 0, len(rules))
	for i := range rules {
		r := &rules[i]
		if r.Slug == "" || r.Status == rule.Retired {
			continue
		}
		if other, ok := claims[r.Slug]; ok && other != r.ID {
			return rule.Errorf(rule.CodeConflict, "two of the rules have the slug %q (%s and %s)", r.Slug, other, r.ID)
		}
		claims[r.Slug] = r.ID
		slugs = append(slugs, r.Slug)
	}
	in, list := t.d.in("slug", slugs)
	return t.each(ctx, "slugs", "SELECT id, slug FROM rules WHERE project_id = ? AND "+unretired+" AND "+in, []any{projectID, list},
		func(rows *sql.Rows) error {
			var id, slug string
			if err := rows.Scan(&id, &slug); err != nil {
				return err
			}
			if claims[slug] != id {
				return rule.Errorf(rule.CodeConflict, "the slug %q belongs to the rule %s; choose another", slug, id)
			}
			return nil
		})
}

// inProject runs a statement for some rules of a project.
func (t ruleTable) inProject(ctx context.Context, doing, statement, projectID string, ids []string) error {
	if len(ids) == 0 {
		return nil
	}
	in, list := t.d.in("id", ids)
	_, err := t.exec(ctx, doing, statement+" WHERE project_id = ? AND "+in, projectID, list)
	return err
}

// putRules writes the rows of rules and returns the exclusive or of their sums.
func (t ruleTable) putRules(ctx context.Context, doing string, cv int64, rules []rule.Rule, after string) (sum rowSum, err error) {
	args := make([]any, 0, 7*len(rules))
	for i := range rules {
		r := &rules[i]
		body, err := encodeRule(*r)
		if err != nil {
			return sum, err
		}
		hash := ruleHash(r.ID, int64(r.Version), []byte(body))
		t.noteInForce(forceKey{r.ProjectID, store.RuleInForce, r.ID}, &hash)
		sum.mix(sumOf(hash))
		args = append(args, r.ProjectID, r.ID, r.Slug, r.Version, string(r.Status), cv, body)
	}
	return sum, t.execRows(ctx, doing, insertRules, 7, after, args)
}
