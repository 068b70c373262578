package record

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// List returns a page of the evaluations that match a query, newest first; see [find.Index.Find].
func (a *Archive) List(ctx context.Context, projectID string, q wire.EvaluationQuery) (wire.EvaluationPage, error) {
	found, err := a.index.Find(ctx, projectID, q)
	if err != nil {
		return wire.EvaluationPage{}, err
	}
	list := make([]wire.EvaluationSummary, len(found.Entries))
	for i := range found.Entries {
		if list[i], err = summary(&found.Entries[i]); err != nil {
			return wire.EvaluationPage{}, err
		}
	}
	return wire.EvaluationPage{
		Page:       wire.Page[wire.EvaluationSummary]{Items: list, Total: found.Total, Page: q.Page, PageSize: q.PageSize},
		NextCursor: found.Next, Partial: found.Partial, Unsearched: found.Unsearched,
	}, nil
}

// summary returns what a list shows of an evaluation: of one whose record was removed, what its entry in the chain holds.
func summary(entry *store.AuditEntry) (wire.EvaluationSummary, error) {
	o, err := OutlineOf(entry)
	if IsPruned(err) {
		return wire.EvaluationSummary{
			EvaluationID: entry.ID, OverallVerdict: rule.Verdict(entry.Verdict), Mode: rule.Mode(entry.Mode), Actor: entry.Actor,
			Timestamp: entry.At, Pruned: true,
		}, nil
	}
	if err != nil {
		return wire.EvaluationSummary{}, err
	}
	ev := &o.Evaluation
	s := wire.EvaluationSummary{
		EvaluationID: ev.ID, OverallVerdict: ev.Overall, Mode: ev.Mode, Actor: entry.Actor, Identity: ev.Identity,
		Repository: o.Subject.Repository, Scope: o.Subject.Scope, Environment: o.Environment, SnapshotID: ev.SnapshotID, NodeID: ev.NodeID,
		RulesEvaluated: len(ev.Verdicts), RulesViolated: o.Count(rule.Deny), RulesUncertain: o.Count(rule.NeedsConfirmation), Timestamp: ev.Timestamp,
	}
	if len(o.Kinds) > 0 {
		s.SubjectKind = string(o.Kinds[0])
	}
	return s, nil
}

// Recent returns the newest recorded evaluations with an overall verdict, limit at most. Those whose record was removed by
// retention are left out.
func (a *Archive) Recent(ctx context.Context, projectID string, verdict rule.Verdict, limit int) ([]*wire.EvaluationRecord, error) {
	entries, _, err := a.store.Audit.Find(ctx, store.AuditFilter{
		ProjectID: projectID, Kind: audit.KindEvaluation, Verdict: string(verdict), Limit: limit,
	})
	if err != nil {
		return nil, err
	}
	list := make([]*wire.EvaluationRecord, 0, len(entries))
	for _, entry := range entries {
		if len(entry.Body) == 0 {
			continue
		}
		rec, err := a.open(ctx, entry)
		if err != nil {
			return nil, err
		}
		list = append(list, rec)
	}
	return list, nil
}

// Subject returns what was judged in a recorded evaluation, and its verdicts; not_found without it, conflict if its record
// does not hold the subject.
func (a *Archive) Subject(ctx context.Context, projectID, id string) (subject.Input, []rule.RuleVerdict, error) {
	record, err := a.Get(ctx, projectID, id)
	if err != nil {
		return subject.Input{}, nil, err
	}
	if record.Kept == wire.KeepNone {
		return subject.Input{}, nil, rule.Errorf(rule.CodeConflict, "the record of evaluation %s does not hold the subject (setting record_subjects: none)", id)
	}
	if record.Personal != nil {
		return subject.Input{}, nil, rule.Errorf(rule.CodeConflict, "the subject of evaluation %s has personal data, which a copy would hold for good; write a sample without them", id)
	}
	return record.Subject, record.Evaluation.RuleVerdicts, nil
}

// Past returns those of the latest limit evaluations of a project that have a verdict of a rule, newest first. Those whose
// records do not hold the whole subject, or not any more, are left out: a rule would be tried on something else.
func (a *Archive) Past(ctx context.Context, projectID, ruleID string, limit int) ([]subject.Past, error) {
	entries, _, err := a.store.Audit.Find(ctx, store.AuditFilter{ProjectID: projectID, Kind: audit.KindEvaluation, Limit: limit})
	if err != nil {
		return nil, err
	}
	var past []subject.Past
	for _, entry := range entries {
		record, err := a.open(ctx, entry)
		if IsPruned(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if record.Kept == wire.KeepNone || len(record.Redactions) > 0 || !record.Whole() {
			continue
		}
		for i := range record.Evaluation.RuleVerdicts {
			if v := &record.Evaluation.RuleVerdicts[i]; v.RuleID == ruleID {
				past = append(past, subject.Past{EvaluationID: entry.ID, Subject: record.Subject, Verdict: v.Verdict})
			}
		}
	}
	return past, nil
}
