package evaluate

import (
	"context"
	"slices"
	"sync"

	"tenet/internal/judge"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// question is one call of the judge: rules that concern the same part of the subject.
type question struct {
	part   *part
	places []int // of the rules among the chosen
	rules  []*rule.Rule
	result judge.Result
}

// askJudge lets the judge decide the open rules, each on the part of the subject that it concerns. A rule that the judge
// leaves out stays undecided.
func (r *run) askJudge(ctx context.Context) error {
	questions := r.questions()
	var wg sync.WaitGroup
	var joining sync.Mutex
	for _, q := range questions {
		wg.Go(func() {
			q.result = r.judge.Decide(ctx, q.part.subject, q.rules)
			joining.Lock()
			defer joining.Unlock()
			q.join(r.answer, r.sel.chosen)
			for _, at := range q.places {
				r.final(at)
			}
		})
	}
	wg.Wait()
	for _, q := range questions {
		r.answer.Cost.Add(q.result.Cost)
		for _, model := range q.result.Models {
			if !slices.Contains(r.answer.ModelIDsUsed, model) {
				r.answer.ModelIDsUsed = append(r.answer.ModelIDsUsed, model)
			}
		}
		r.calls, r.reused = append(r.calls, q.result.Calls...), append(r.reused, q.result.Reused...)
		r.examined.add(q)
	}
	return nil
}

// questions groups the open rules by the part of the subject that they concern.
func (r *run) questions() (list []*question) {
	byPart := map[*part]*question{}
	for _, at := range r.open {
		c := &r.sel.chosen[at]
		p := r.part(c.Entry)
		q := byPart[p]
		if q == nil {
			q = &question{part: p}
			byPart[p] = q
			list = append(list, q)
		}
		q.places, q.rules = append(q.places, at), append(q.rules, c.Rule)
	}
	return list
}

// join takes the verdicts of a question into the answer.
func (q *question) join(answer *rule.Evaluation, rules []chosen) {
	place := make(map[string]int, len(q.places))
	for _, at := range q.places {
		place[rules[at].Rule.ID] = at
		answer.RuleVerdicts[at].Reasoning = "The judge gave no answer for this rule."
	}
	for _, v := range q.result.Verdicts {
		at, ok := place[v.RuleID]
		if !ok {
			continue
		}
		verdict := blank(rules[at].Rule)
		verdict.Verdict, verdict.DecidedBy, verdict.Confidence = v.Verdict, v.DecidedBy, v.Confidence
		verdict.Reasoning, verdict.IssueDescription, verdict.FixSuggestion = v.Reasoning, v.IssueDescription, v.FixSuggestion
		verdict.Locations, verdict.Evidence = orEmpty(v.Locations), orEmpty(v.Evidence)
		answer.RuleVerdicts[at] = verdict
	}
}

// examined is how much of the subject the judge has examined, over all questions.
type examined struct {
	hunks, bytes int
	// missedHunks and missedBytes are how much of what it was asked about no answered call has shown.
	missedHunks, missedBytes int
	unexamined               []rule.Unexamined
	redacted                 int
}

// add takes in what the judge has examined for one question. Without a call it examined nothing, and the verdicts say why.
func (all *examined) add(q *question) {
	if q.result.Cost.Calls+q.result.Cost.CachedCalls == 0 {
		return
	}
	all.redacted = max(all.redacted, q.result.Redacted)
	size := q.part.subject.Size()
	all.hunks, all.bytes = max(all.hunks, min(q.result.HunksExamined, size.Hunks)), max(all.bytes, min(q.result.BytesExamined, size.Bytes))
	all.missedHunks = max(all.missedHunks, size.Hunks-q.result.HunksExamined)
	all.missedBytes = max(all.missedBytes, size.Bytes-q.result.BytesExamined)
	for _, u := range q.result.Unexamined {
		if !slices.Contains(all.unexamined, u) {
			all.unexamined = append(all.unexamined, u)
		}
	}
}

// cover fills in how much of a subject was examined: all of it if a check has run, else what the calls of the judge have shown.
func (all *examined) cover(c *rule.Coverage, s *subject.Subject, checked bool) {
	if !checked && all.hunks+all.bytes == 0 {
		if !s.Empty() {
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: "all", Reason: "no check and no model has looked at the subject"})
		}
		return
	}
	c.Redacted = all.redacted
	c.HunksExamined, c.BytesExamined = all.hunks, all.bytes
	if checked {
		c.HunksExamined, c.BytesExamined = c.HunksTotal-all.missedHunks, c.BytesTotal-all.missedBytes
	}
	for i := range s.Files {
		f := &s.Files[i]
		switch {
		case f.Missing:
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: f.Path, Reason: "its content is not given"})
		case f.Binary:
			c.Unexamined = append(c.Unexamined, rule.Unexamined{Part: f.Path, Reason: "the file is binary"})
		default:
			c.FilesExamined++
		}
	}
	c.Unexamined = append(c.Unexamined, all.unexamined...)
}
