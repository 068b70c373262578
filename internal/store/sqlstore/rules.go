package sqlstore

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"tenet/internal/rule"
)

// decodeRule reads a rule's stored JSON. The v2 decoder reads the output of encoding/json to the same values, two and a half
// times as fast; a cold start with many rules waits for it.
func decodeRule(body []byte) (rule.Rule, error) {
	var r rule.Rule
	if err := jsonv2.Unmarshal(body, &r); err != nil {
		return r, fmt.Errorf("sqlstore: a stored rule cannot be read: %w", err)
	}
	return r, nil
}

func encodeRule(r rule.Rule) (string, error) {
	r.CreatedAt, r.UpdatedAt = rule.Instant(r.CreatedAt), rule.Instant(r.UpdatedAt)
	for _, t := range []**time.Time{&r.EffectivePeriod.From, &r.EffectivePeriod.Until} {
		if *t != nil {
			c := rule.Instant(**t)
			*t = &c
		}
	}
	b, err := json.Marshal(&r)
	if err != nil {
		return "", fmt.Errorf("sqlstore: rule %s: %w", r.ID, err)
	}
	return string(b), nil
}

// canonical returns a rule id, or a slug, as it is stored.
func canonical(ref string) string {
	if rule.IsID(ref) {
		return strings.ToLower(ref)
	}
	return ref
}

// unretired is the condition of the index rules_by_slug.
const unretired = "slug <> '' AND status <> 'RETIRED'"

// Get implements store.RuleReader.
func (t ruleTable) Get(ctx context.Context, projectID, ref string) (rule.Rule, error) {
	name := canonical(ref)
	if err := keepRules(ctx, t, projectID, "id = ? OR ("+unretired+" AND slug = ?)", name, name); err != nil {
		return rule.Rule{}, err
	}
	return t.oneRule(ctx, ref,
		"SELECT body FROM rules WHERE project_id = ? AND id = ? UNION ALL SELECT body FROM rules WHERE project_id = ? AND "+unretired+" AND slug = ? LIMIT 1",
		projectID, name, projectID, name)
}

// keepRules keeps everybody else from changing rules that a transaction reads until it ends: what is read from them is written again.
func keepRules(ctx context.Context, t ruleTable, projectID, where string, args ...any) error {
	if keeping(t.session) == "" {
		return nil
	}
	_, err := t.lockedExec(ctx, corpusOf(projectID), "keep rules", "SELECT 1 FROM rules WHERE project_id = ? AND ("+where+")"+keeping(t.session), append([]any{projectID}, args...)...)
	return err
}

// oneRule reads a rule; args begin with its project.
func (t ruleTable) oneRule(ctx context.Context, ref, query string, args ...any) (rule.Rule, error) {
	r, err := one(ctx, t.session, corpusOf(args[0].(string)), "rule", query, args, ruleFields)
	return r, notFound(err, "rule", ref)
}

// ruleFields is a row of one stored rule.
func ruleFields(r *rule.Rule) []any { return []any{ruleColumn{r}} }

// ruleColumn reads a stored rule.
type ruleColumn struct{ r *rule.Rule }

// Scan implements sql.Scanner.
func (c ruleColumn) Scan(value any) (err error) {
	*c.r, err = decodeRule(bytesOf(value))
	return err
}

// GetMany implements store.RuleReader.
func (t ruleTable) GetMany(ctx context.Context, projectID string, refs []string) (map[string]rule.Rule, error) {
	names := make([]string, len(refs))
	for i, ref := range refs {
		names[i] = canonical(ref)
	}
	idIn, list := t.d.in("id", names)
	slugIn, _ := t.d.in("slug", names)
	if err := keepRules(ctx, t, projectID, idIn+" OR ("+unretired+" AND "+slugIn+")", list, list); err != nil {
		return nil, err
	}
	query := "SELECT body FROM rules WHERE project_id = ? AND " + idIn +
		" UNION ALL SELECT body FROM rules WHERE project_id = ? AND " + unretired + " AND " + slugIn
	stored, err := many(ctx, t.session, corpusOf(projectID), "rules", query, []any{projectID, list, projectID, list}, ruleFields)
	byID, bySlug := map[string]rule.Rule{}, map[string]rule.Rule{}
	for _, r := range stored {
		byID[r.ID] = r
		if r.Slug != "" && r.Status != rule.Retired {
			bySlug[r.Slug] = r
		}
	}
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

// Version implements store.RuleReader.
func (t ruleTable) Version(ctx context.Context, projectID, ruleID string, version int) (rule.Rule, error) {
	id := canonical(ruleID)
	return t.oneRule(ctx, fmt.Sprintf("%s version %d", ruleID, version),
		`SELECT body FROM rules WHERE project_id = ? AND id = ? AND version = ?
		UNION ALL SELECT body FROM rule_versions WHERE project_id = ? AND rule_id = ? AND version = ?`,
		projectID, id, version, projectID, id, version)
}

// Versions implements store.RuleReader.
func (t ruleTable) Versions(ctx context.Context, projectID, ruleID string, offset, limit int) (list []rule.Rule, total int, err error) {
	id := canonical(ruleID)
	err = t.lockedSnapshot(ctx, corpusOf(projectID), func(s *session) error {
		err := s.row(ctx, "count rule versions",
			`SELECT 1 + (SELECT COUNT(*) FROM rule_versions v WHERE v.project_id = r.project_id AND v.rule_id = r.id)
			FROM rules r WHERE project_id = ? AND id = ?`, []any{projectID, id}, &total)
		if err != nil {
			return notFound(err, "rule", ruleID)
		}
		list, err = many(ctx, s, unlocked, "rule versions",
			`SELECT body FROM (
				SELECT version, body FROM rules WHERE project_id = ? AND id = ?
				UNION ALL SELECT version, body FROM rule_versions WHERE project_id = ? AND rule_id = ?
			) AS v ORDER BY version DESC LIMIT ? OFFSET ?`,
			[]any{projectID, id, projectID, id, max(limit, 0), max(offset, 0)}, ruleFields)
		return err
	})
	return list, total, err
}
