package wire

import "tenet/internal/rule"

// record appends the record of an evaluation.
func (t *jsonText) record(r *EvaluationRecord) {
	t.open()
	if r.Identity != nil {
		t.other("identity", r.Identity)
	}
	t.name("evaluation")
	if r.Evaluation == nil {
		t.b = append(t.b, "null"...)
	} else {
		t.open()
		t.evaluation(r.Evaluation)
		t.end()
	}
	t.name("subject")
	t.subject(&r.Subject)
	t.text("subject_hash", r.SubjectHash)
	listIf(t, "subject_kinds", r.Kinds, oneText)
	t.textIf("subject_kept", string(r.Kept))
	if len(r.Redactions) > 0 {
		t.other("redactions", r.Redactions)
	}
	t.textIf("node_id", r.NodeID)
	t.textIf("environment", r.Environment)
	t.number("max_rules", int64(r.MaxRules))
	t.text("severity_min", string(r.SeverityMin))
	list(t, "rules", r.Rules, func(t *jsonText, r *RecordedRule) {
		t.open()
		t.text("rule_id", r.RuleID)
		t.number("version", int64(r.Version))
		t.text("content_hash", r.ContentHash)
		t.end()
	})
	t.textIf("prompt_version", r.Prompt)
	if len(r.Calls) > 0 {
		t.other("calls", r.Calls)
	}
	if len(r.Reused) > 0 {
		t.other("reused", r.Reused)
	}
	if len(r.Stored) > 0 {
		t.other("stored", r.Stored)
	}
	if r.Triage != nil {
		t.other("triage", r.Triage)
	}
	if r.Personal != nil {
		t.other("personal", r.Personal)
	}
	if r.Audit != nil {
		t.other("audit", r.Audit)
	}
	if len(r.Holds) > 0 {
		t.other("holds", r.Holds)
	}
	t.end()
}

// batch appends records of an edge.
func batch(t *jsonText, b *EdgeBatch) {
	t.open()
	list(t, "entries", b.Entries, func(t *jsonText, r *EdgeBatchRecord) {
		t.open()
		t.number("seq", r.Seq)
		t.text("id", r.ID)
		t.text("kind", r.Kind)
		t.time("at", r.At)
		t.text("actor", r.Actor)
		t.textIf("verdict", r.Verdict)
		t.textIf("mode", r.Mode)
		t.text("prev_hash", r.PrevHash)
		t.text("hash", r.Hash)
		t.name("body")
		t.b = appendBase64(t.b, r.Body)
		t.end()
	})
	t.text("note", b.Note)
	t.end()
}

func (t *jsonText) subject(s *RecordedSubject) {
	t.open()
	t.textIf("kind", string(s.Kind))
	t.textIf("diff", s.Diff)
	if len(s.Files) > 0 {
		t.other("files", s.Files)
	}
	if len(s.Facts) > 0 {
		t.name("facts")
		t.fact(s.Facts)
	}
	t.textIf("action", s.Action)
	t.textIf("intent", s.Intent)
	t.textIf("repository", s.Repository)
	t.textIf("scope", s.Scope)
	t.trueIf("redacted", s.Redacted)
	t.end()
}

// evaluation appends the fields of an evaluation.
func (t *jsonText) evaluation(e *rule.Evaluation) {
	t.text("evaluation_id", e.EvaluationID)
	t.text("project_id", e.ProjectID)
	t.text("overall_verdict", string(e.OverallVerdict))
	list(t, "rule_verdicts", e.RuleVerdicts, (*jsonText).verdict)
	list(t, "violations", e.Violations, (*jsonText).verdict)
	list(t, "warnings", e.Warnings, (*jsonText).verdict)
	t.number("rules_evaluated", int64(e.RulesEvaluated))
	t.number("rules_passed", int64(e.RulesPassed))
	t.number("rules_violated", int64(e.RulesViolated))
	t.number("rules_uncertain", int64(e.RulesUncertain))
	t.number("rules_waived", int64(e.RulesWaived))
	t.text("fix_summary", e.FixSummary)
	list(t, "model_ids_used", e.ModelIDsUsed, oneText)
	t.number("total_latency_ms", e.TotalLatencyMS)
	t.time("timestamp", e.Timestamp)
	t.text("mode", string(e.Mode))
	t.name("coverage")
	t.coverage(&e.Coverage)
	listIf(t, "narrowed", e.Narrowed, func(t *jsonText, n *rule.Narrowed) {
		t.open()
		t.text("parameter", n.Parameter)
		t.text("asked", n.Asked)
		t.text("default", n.Default)
		t.textIf("floor", n.Floor)
		t.end()
	})
	listIf(t, "notices", e.Notices, oneText)
	list(t, "overridden", e.Overridden, func(t *jsonText, o *rule.Overridden) {
		t.open()
		t.text("rule_id", o.RuleID)
		t.textIf("rule_slug", o.RuleSlug)
		t.text("overridden_by", o.OverriddenBy)
		t.textIf("overridden_by_slug", o.OverriddenBySlug)
		t.end()
	})
	t.textIf("node_id", e.NodeID)
	if e.Approval != nil {
		t.other("approval", e.Approval)
	}
	t.name("snapshot_id")
	if e.SnapshotID == nil {
		t.b = append(t.b, "null"...)
	} else {
		t.quote(*e.SnapshotID)
	}
	t.number("corpus_version", e.CorpusVersion)
	t.textIf("bundle", e.Bundle)
	if e.BundleAge != nil {
		t.number("bundle_age_s", *e.BundleAge)
	}
	t.textIf("bundle_stale", string(e.BundleStale))
	if len(e.FailModes) > 0 {
		t.other("fail_modes", e.FailModes)
	}
	t.name("cost")
	t.open()
	t.number("calls", int64(e.Cost.Calls))
	t.number("input_tokens", int64(e.Cost.InputTokens))
	t.number("output_tokens", int64(e.Cost.OutputTokens))
	t.number("cached_calls", int64(e.Cost.CachedCalls))
	t.numberIf("triage_calls", e.Cost.TriageCalls)
	t.end()
	if e.Identity != nil {
		t.other("identity", e.Identity)
	}
	if e.Suspended != nil {
		t.other("suspended", e.Suspended)
	}
}

func (t *jsonText) verdict(v *rule.RuleVerdict) {
	t.open()
	t.text("rule_id", v.RuleID)
	t.textIf("rule_slug", v.RuleSlug)
	t.text("rule_statement", v.RuleStatement)
	t.number("rule_version", int64(v.RuleVersion))
	t.text("severity", string(v.Severity))
	t.text("modality", string(v.Modality))
	t.text("enforcement", string(v.Enforcement))
	t.text("verdict", string(v.Verdict))
	t.text("decided_by", string(v.DecidedBy))
	t.name("confidence")
	t.float(v.Confidence)
	t.text("reasoning", v.Reasoning)
	t.text("issue_description", v.IssueDescription)
	t.text("fix_suggestion", v.FixSuggestion)
	list(t, "locations", v.Locations, func(t *jsonText, l *rule.Location) {
		t.open()
		t.text("file_path", l.FilePath)
		t.number("start_line", int64(l.StartLine))
		t.number("end_line", int64(l.EndLine))
		t.text("function_name", l.FunctionName)
		t.text("snippet", l.Snippet)
		t.end()
	})
	list(t, "evidence", v.Evidence, func(t *jsonText, e *rule.Evidence) {
		t.open()
		t.text("kind", e.Kind)
		t.textIf("quote", e.Quote)
		t.textIf("file_path", e.FilePath)
		t.numberIf("line", e.Line)
		t.textIf("fact", e.Fact)
		t.textIf("value", e.Value)
		t.end()
	})
	t.textIf("fingerprint", v.Fingerprint)
	if v.Waiver != nil {
		t.other("waiver", v.Waiver)
	}
	if v.Approval != nil {
		t.other("approval", v.Approval)
	}
	t.truth("concerned", v.Concerned)
	listIf(t, "unexamined", v.Unexamined, (*jsonText).unexamined)
	t.textIf("source_node_id", v.SourceNodeID)
	t.end()
}

func (t *jsonText) unexamined(u *rule.Unexamined) {
	t.open()
	t.text("part", u.Part)
	t.text("reason", u.Reason)
	t.end()
}

func (t *jsonText) coverage(c *rule.Coverage) {
	t.open()
	t.number("rules_in_scope", int64(c.RulesInScope))
	t.number("rules_selected", int64(c.RulesSelected))
	t.number("rules_concerned", int64(c.RulesConcerned))
	t.number("rules_judged", int64(c.RulesJudged))
	t.number("rules_cut", int64(c.RulesCut))
	t.number("rules_not_asked", int64(c.RulesNotAsked))
	if len(c.RulesUndecided) > 0 {
		t.other("rules_undecided", c.RulesUndecided)
	}
	t.number("rules_triaged_out", int64(c.RulesTriagedOut))
	t.number("rules_unlisted", int64(c.RulesUnlisted))
	t.numberIf("rules_unlisted_broken", c.RulesUnlistedBroken)
	t.number("files_total", int64(c.FilesTotal))
	t.number("files_examined", int64(c.FilesExamined))
	t.number("hunks_total", int64(c.HunksTotal))
	t.number("hunks_examined", int64(c.HunksExamined))
	t.number("bytes_total", int64(c.BytesTotal))
	t.number("bytes_examined", int64(c.BytesExamined))
	t.number("redacted", int64(c.Redacted))
	t.textIf("uncovered", string(c.Uncovered))
	t.trueIf("uncovered_by_default", c.UncoveredByDefault)
	t.trueIf("uncovered_approved", c.UncoveredApproved)
	list(t, "unexamined", c.Unexamined, (*jsonText).unexamined)
	t.end()
}
