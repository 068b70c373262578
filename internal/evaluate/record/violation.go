package record

import (
	"context"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// violationPage is how many evaluations a look for a violation reads: the newest.
const violationPage = 50

// Violations returns the violations whose fingerprints begin with a prefix, one for each fingerprint and repository, the newest first. It is
// invalid if the prefix is too short.
func (a *Archive) Violations(ctx context.Context, projectID, prefix string) (wire.Violations, error) {
	prefix = strings.ToLower(strings.TrimSpace(prefix))
	if prefix == "" {
		var p rule.Problems
		p.Add("fingerprint", "is empty; give its beginning, as reports show it")
		return wire.Violations{}, p.Err("the query is invalid")
	}
	found, err := a.index.Find(ctx, projectID, wire.EvaluationQuery{Fingerprint: prefix, PageQuery: wire.PageQuery{Page: 1, PageSize: violationPage}})
	if err != nil {
		return wire.Violations{}, err
	}
	type identity struct{ fingerprint, repository string }
	seen := map[identity]bool{}
	out := wire.Violations{Items: []wire.Violation{}, Unsearched: found.Unsearched}
	for i := range found.Entries {
		rec, err := decode(found.Entries[i])
		if IsPruned(err) {
			continue
		}
		if err != nil {
			return wire.Violations{}, err
		}
		for j := range rec.Evaluation.RuleVerdicts {
			v := &rec.Evaluation.RuleVerdicts[j]
			is := identity{v.Fingerprint, rule.CleanRepository(rec.Subject.Repository)}
			if !strings.HasPrefix(v.Fingerprint, prefix) || seen[is] {
				continue
			}
			seen[is] = true
			out.Items = append(out.Items, wire.Violation{
				Fingerprint: v.Fingerprint, Repository: is.repository, RuleID: v.RuleID, Slug: v.RuleSlug, Statement: v.RuleStatement, Severity: v.Severity,
				Issue: v.Why(), Locations: append([]rule.Location{}, v.Locations...), Waiver: v.Waiver, EvaluationID: rec.Evaluation.EvaluationID, At: rec.Evaluation.Timestamp,
			})
		}
	}
	out.Total = len(out.Items)
	return out, nil
}
