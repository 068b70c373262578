package sqlstore

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"tenet/internal/rule"
)

// decodeRule reads a rule's stored JSON. The v2 decoder reads what encoding/json has written to the same values, two and
// a half times as fast, which is what a cold start with many rules waits for.
func decodeRule(body []byte) (rule.Rule, error) {
	var r rule.Rule
	if err := jsonv2.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
	}
	return r, nil
}

func encodeRule(r rule.Rule) (string, error) {
	r.CreatedAt, r.UpdatedAt = cut(r.CreatedAt), cut(r.UpdatedAt)
	for _, t := range []**time.Time{&r.EffectivePeriod.From, &r.EffectivePeriod.Until} {
		if *t != nil {
			c := cut(**t)
			*t = &c
		}
	}
	b, err := json.Marshal(&r)
	if err != nil {
		return "", fmt.Errorf("sqlstore: rule %s: %w", r.ID, err)
	}
	return string(b), nil
}

// cut is a time as it is stored: in UTC and microseconds.
func cut(t time.Time) time.Time { return t.UTC().Truncate(time.Microsecond) }

// canonical is a rule id, or a slug, as it is stored.
func canonical(ref string) string {
	if rule.IsID(ref) {
		return strings.ToLower(ref)
	}
	return ref
}

// live is the condition of the index rules_by_slug.
const live = "slug <> '' AND status <> 'RETIRED'"

// Rule implements store.Reader.
func (r *reader) Rule(ctx context.Context, projectID, ref string) (rule.Rule, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return rule.Rule{}, err
	}
	name := canonical(ref)
	return r.oneRule(ctx, ref,
		"SELECT body FROM rules WHERE project_id = ? AND id = ? UNION ALL SELECT body FROM rules WHERE project_id = ? AND "+live+" AND slug = ? LIMIT 1",
		projectID, name, projectID, name)
}

func (r *reader) oneRule(ctx context.Context, ref, query string, args ...any) (rule.Rule, error) {
	var body []byte
	if err := r.row(ctx, "rule", query, args, &body); err != nil {
		return rule.Rule{}, missing(err, "rule", ref)
	}
	return decodeRule(body)
}

// Rules implements store.Reader.
func (r *reader) Rules(ctx context.Context, projectID string, refs []string) (map[string]rule.Rule, error) {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = canonical(ref)
	}
	idIn, list := r.d.in("id", names)
	slugIn, _ := r.d.in("slug", names)
	query := "SELECT body FROM rules WHERE project_id = ? AND " + idIn +
		" UNION ALL SELECT body FROM rules WHERE project_id = ? AND " + live + " AND " + slugIn
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return nil, err
	}
	byID, bySlug := map[string]rule.Rule{}, map[string]rule.Rule{}
	err := r.each(ctx, "rules", query, []any{projectID, list, projectID, list}, func(rows *sql.Rows) error {
		var body sql.RawBytes
		if err := rows.Scan(&body); err != nil {
			return err
		}
		one, err := decodeRule(body)
		byID[one.ID] = one
		if one.Slug != "" && one.Status != rule.Retired {
			bySlug[one.Slug] = one
		}
		return err
	})
	found := make(map[string]rule.Rule, len(refs))
	for i, ref := range refs {
		if one, ok := byID[names[i]]; ok {
			found[ref] = one
		} else if one, ok := bySlug[names[i]]; ok {
			found[ref] = one
		}
	}
	return found, err
}

// RuleVersion implements store.Reader.
func (r *reader) RuleVersion(ctx context.Context, projectID, ruleID string, version int) (rule.Rule, error) {
	if err := r.hold(ctx, corpusOf(projectID)); err != nil {
		return rule.Rule{}, err
	}
	id := canonical(ruleID)
	return r.oneRule(ctx, fmt.Sprintf("%s version %d", ruleID, version),
		`SELECT body FROM rules WHERE project_id = ? AND id = ? AND version = ?
		UNION ALL SELECT body FROM rule_versions WHERE project_id = ? AND rule_id = ? AND version = ?`,
		projectID, id, version, projectID, id, version)
}

// RuleVersions implements store.Reader.
func (r *reader) RuleVersions(ctx context.Context, projectID, ruleID string, offset, limit int) ([]rule.Rule, int, error) {
	id := canonical(ruleID)
	list, total := []rule.Rule{}, 0
	err := r.holding(ctx, corpusOf(projectID), func(r *reader) error {
		err := r.row(ctx, "count rule versions",
			`SELECT 1 + (SELECT COUNT(*) FROM rule_versions v WHERE v.project_id = r.project_id AND v.rule_id = r.id)
			FROM rules r WHERE project_id = ? AND id = ?`, []any{projectID, id}, &total)
		if err != nil {
			return missing(err, "rule", ruleID)
		}
		return r.each(ctx, "rule versions",
			`SELECT body FROM (
				SELECT version, body FROM rules WHERE project_id = ? AND id = ?
				UNION ALL SELECT version, body FROM rule_versions WHERE project_id = ? AND rule_id = ?
			) AS v ORDER BY version DESC LIMIT ? OFFSET ?`,
			[]any{projectID, id, projectID, id, max(limit, 0), max(offset, 0)}, func(rows *sql.Rows) error {
				var body sql.RawBytes
				if err := rows.Scan(&body); err != nil {
					return err
				}
				one, err := decodeRule(body)
				list = append(list, one)
				return err
			})
	})
	return list, total, err
}
