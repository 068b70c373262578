package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	jsonv2 "github.com/go-json-experiment/json"

	"tenet/internal/rule"
)

// chunk bounds the rows of one statement, so that its parameters stay below every database's limit (SQLite: 32,766).
const chunk = 400

// marks is n question marks in groups of the given width: (?, ?), (?, ?).
func marks(n, width int) string {
	group := "(" + strings.TrimSuffix(strings.Repeat("?, ", width), ", ") + ")"
	return strings.TrimSuffix(strings.Repeat(group+", ", n), ", ")
}

// decodeRule reads a stored rule. The second version of the JSON package reads twice as fast as the first, which halves
// the cold start of a large corpus.
func decodeRule(body []byte) (rule.Rule, error) {
	var r rule.Rule
	if err := jsonv2.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
	}
	return r, nil
}

func encodeRule(r *rule.Rule) (string, error) {
	b, err := json.Marshal(r)
	if err != nil {
		return "", fmt.Errorf("sqlstore: rule %s: %w", r.ID, err)
	}
	return string(b), nil
}

// Rule implements store.Reader.
func (r *reader) Rule(ctx context.Context, projectID, ref string) (rule.Rule, error) {
	query, arg := "SELECT body FROM rules WHERE project_id = ? AND slug = ? AND status <> 'RETIRED'", ref
	if rule.IsID(ref) {
		query, arg = "SELECT body FROM rules WHERE project_id = ? AND id = ?", strings.ToLower(ref)
	}
	if ref == "" {
		return rule.Rule{}, rule.NotFound("rule", ref)
	}
	return r.oneRule(ctx, ref, query, projectID, arg)
}

func (r *reader) oneRule(ctx context.Context, ref, query string, args ...any) (rule.Rule, error) {
	var body []byte
	err := r.row(ctx, "rule", query, args, &body)
	if errors.Is(err, sql.ErrNoRows) {
		return rule.Rule{}, rule.NotFound("rule", ref)
	}
	if err != nil {
		return rule.Rule{}, err
	}
	return decodeRule(body)
}

// Rules implements store.Reader.
func (r *reader) Rules(ctx context.Context, projectID string, refs []string) (map[string]rule.Rule, error) {
	byName := make(map[string][]string, len(refs)) // id or slug to the refs that mean it
	names := make([]string, 0, len(refs))
	for _, ref := range refs {
		name := ref
		if rule.IsID(ref) {
			name = strings.ToLower(ref)
		}
		if name == "" || strings.ContainsRune(name, 0) || !utf8.ValidString(name) {
			continue // no rule has such a name
		}
		byName[name] = append(byName[name], ref)
		names = append(names, name)
	}
	found := make(map[string]rule.Rule, len(refs))
	if len(names) == 0 {
		return found, nil
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("sqlstore: names of rules: %w", err)
	}
	query := "SELECT body FROM rules WHERE project_id = ? AND id IN " + r.d.list +
		" UNION ALL SELECT body FROM rules WHERE project_id = ? AND slug <> '' AND status <> 'RETIRED' AND slug IN " + r.d.list
	args := []any{projectID, string(list), projectID, string(list)}
	err = r.each(ctx, "rules", query, args, func(rows *sql.Rows) error {
		var body []byte
		if err := rows.Scan(&body); err != nil {
			return err
		}
		one, err := decodeRule(body)
		for _, ref := range byName[one.ID] {
			found[ref] = one
		}
		if one.Status != rule.Retired {
			for _, ref := range byName[one.Slug] {
				found[ref] = one
			}
		}
		return err
	})
	return found, err
}

// RuleVersion implements store.Reader.
func (r *reader) RuleVersion(ctx context.Context, projectID, ruleID string, version int) (rule.Rule, error) {
	id := strings.ToLower(ruleID)
	return r.oneRule(ctx, fmt.Sprintf("%s version %d", ruleID, version),
		`SELECT body FROM rules WHERE project_id = ? AND id = ? AND version = ?
		UNION ALL SELECT body FROM rule_versions WHERE project_id = ? AND rule_id = ? AND version = ?`,
		projectID, id, version, projectID, id, version)
}

// RuleVersions implements store.Reader. Versions count from 1 without gaps, so the current one tells how many there are.
func (r *reader) RuleVersions(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Rule, int, error) {
	id := strings.ToLower(ruleID)
	current, err := r.oneRule(ctx, ruleID, "SELECT body FROM rules WHERE project_id = ? AND id = ?", projectID, id)
	if err != nil {
		return nil, 0, err
	}
	list := []rule.Rule{}
	highest := current.Version - offset
	if offset == 0 && limit > 0 {
		list = append(list, current)
		highest--
		limit--
	}
	err = r.each(ctx, "rule versions",
		"SELECT body FROM rule_versions WHERE project_id = ? AND rule_id = ? AND version <= ? ORDER BY version DESC LIMIT ?",
		[]any{projectID, id, highest, max(limit, 0)}, func(rows *sql.Rows) error {
			var body []byte
			if err := rows.Scan(&body); err != nil {
				return err
			}
			old, err := decodeRule(body)
			list = append(list, old)
			return err
		})
	return list, current.Version, err
}

// InsertRules implements store.Tx.
func (t *tx) InsertRules(ctx context.Context, cv int64, rules []rule.Rule) error {
	if err := t.free(ctx, rules); err != nil {
		return err
	}
	for part := range slices.Chunk(rules, chunk) {
		args := make([]any, 0, 7*len(part))
		for i := range part {
			r := &part[i]
			body, err := encodeRule(r)
			if err != nil {
				return err
			}
			args = append(args, r.ProjectID, r.ID, r.Slug, r.Version, string(r.Status), cv, body)
		}
		_, err := t.exec(ctx, "insert rules",
			"INSERT INTO rules (project_id, id, slug, version, status, corpus_version, body) VALUES "+marks(len(part), 7), args...)
		if err != nil {
			return t.taken(err)
		}
	}
	return nil
}

// free checks that ids and slugs of new rules are not taken, so that the error can name the rule. Changes of a project's
// rules are serialised by RaiseCorpus, so what is free now stays free.
func (t *tx) free(ctx context.Context, rules []rule.Rule) error {
	if len(rules) == 0 {
		return nil
	}
	refs := make([]string, 0, 2*len(rules))
	seen := make(map[string]bool, 2*len(rules))
	for i := range rules {
		for _, name := range []string{rules[i].ID, rules[i].Slug} {
			if name == "" || (name == rules[i].Slug && rules[i].Status == rule.Retired) {
				continue
			}
			if seen[name] {
				return rule.Errorf(rule.CodeConflict, "two of the rules have the id or slug %q", name)
			}
			seen[name] = true
			refs = append(refs, name)
		}
	}
	taken, err := t.Rules(ctx, rules[0].ProjectID, refs)
	if err != nil {
		return err
	}
	for _, ref := range refs {
		if r, ok := taken[ref]; ok {
			return rule.Errorf(rule.CodeConflict, "there is a rule %q already (%s)", ref, r.ID)
		}
	}
	return nil
}

// taken turns a violated unique key into a conflict.
func (t *tx) taken(err error) error {
	if t.d.duplicate(err) {
		return rule.Errorf(rule.CodeConflict, "a rule with this id or slug exists already: %w", err)
	}
	return err
}

// UpdateRules implements store.Tx. All rules step aside for their past versions first and take their new slugs then, so
// that rules may exchange slugs.
func (t *tx) UpdateRules(ctx context.Context, cv int64, rules []rule.Rule) error {
	for i := range rules {
		if err := t.archive(ctx, &rules[i]); err != nil {
			return err
		}
	}
	for i := range rules {
		r := &rules[i]
		body, err := encodeRule(r)
		if err != nil {
			return err
		}
		_, err = t.exec(ctx, "update rule",
			"UPDATE rules SET slug = ?, version = ?, status = ?, corpus_version = ?, body = ? WHERE project_id = ? AND id = ?",
			r.Slug, r.Version, string(r.Status), cv, body, r.ProjectID, r.ID)
		if t.d.duplicate(err) {
			return rule.Errorf(rule.CodeConflict, "the slug %q belongs to another rule: %w", r.Slug, err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// archive keeps the current version of a rule as a past one and gives up its slug.
func (t *tx) archive(ctx context.Context, r *rule.Rule) error {
	n, err := t.exec(ctx, "archive rule",
		`INSERT INTO rule_versions (project_id, rule_id, version, body)
		SELECT project_id, id, version, body FROM rules WHERE project_id = ? AND id = ? AND version = ?`,
		r.ProjectID, r.ID, r.Version-1)
	if err != nil {
		return err
	}
	if n == 0 {
		current, err := t.oneRule(ctx, r.ID, "SELECT body FROM rules WHERE project_id = ? AND id = ?", r.ProjectID, r.ID)
		if err != nil {
			return err
		}
		return rule.Errorf(rule.CodePrecondition, "rule %s is at version %d, not %d; read it again", r.ID, current.Version, r.Version-1)
	}
	_, err = t.exec(ctx, "free slug", "UPDATE rules SET slug = '' WHERE project_id = ? AND id = ? AND slug <> ? AND slug <> ''",
		r.ProjectID, r.ID, r.Slug)
	return err
}
