package evaluate

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"tenet/internal/auth"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// MaxNote is the length of a note, in characters.
const MaxNote = 4000

// Feedback is what a person says about the verdict of one rule in one evaluation.
type Feedback struct {
	EvaluationID string       `json:"evaluation_id" doc:"The evaluation."`
	RuleID       string       `json:"rule_id" doc:"The rule."`
	RuleVersion  int          `json:"rule_version" doc:"Version of the rule that was judged."`
	Verdict      rule.Verdict `json:"verdict" enum:"ALLOW,DENY,NEEDS_CONFIRMATION" doc:"The verdict that was given."`
	Correct      bool         `json:"correct" doc:"Whether it was right."`
	Note         string       `json:"note" doc:"Why."`
	Actor        string       `json:"actor" doc:"Who says so."`
	At           time.Time    `json:"at" doc:"When."`
}

// GiveFeedback notes whether the verdict of a rule, named by id or slug, in an evaluation was right, in place of what the
// same actor has said about it before. The error is not_found without the evaluation, and invalid if it has no verdict of the rule.
func (e *Evaluator) GiveFeedback(ctx context.Context, projectID, evaluationID, ruleRef string, correct bool, note string) (*Feedback, error) {
	var p rule.Problems
	if n := utf8.RuneCountInString(note); n > MaxNote {
		p.Add("note", "has %d characters; at most %d are allowed", n, MaxNote)
	}
	if err := p.Err("the feedback is invalid"); err != nil {
		return nil, err
	}
	rec, err := e.Get(ctx, projectID, evaluationID)
	if err != nil {
		return nil, err
	}
	v, content := rec.verdict(ruleRef)
	if v == nil {
		p.Add("rule_id", "is %q, which has no verdict in this evaluation", ruleRef)
		return nil, p.Err("the feedback is invalid")
	}
	f := store.Feedback{
		ProjectID: projectID, EvaluationID: rec.Evaluation.EvaluationID, RuleID: v.RuleID, Actor: auth.ActorFrom(ctx).Name, Correct: correct, Note: note,
		RuleVersion: v.RuleVersion, ContentHash: content, Verdict: v.Verdict, Judged: judged(v.DecidedBy),
		At: e.cfg.Now().UTC().Truncate(time.Microsecond),
	}
	if err := e.cfg.Records.Update(ctx, func(tx store.Tx) error { return tx.PutFeedback(ctx, f) }); err != nil {
		return nil, err
	}
	e.measured.forget(projectID)
	return feedbackOf(f), nil
}

// verdict finds the verdict of a rule, named by id or slug, and the hash of the content that was judged.
func (rec *Record) verdict(ref string) (*rule.RuleVerdict, string) {
	for i := range rec.Evaluation.RuleVerdicts {
		v := &rec.Evaluation.RuleVerdicts[i]
		if !strings.EqualFold(v.RuleID, ref) && (v.RuleSlug == "" || v.RuleSlug != ref) {
			continue
		}
		for _, r := range rec.Rules {
			if r.RuleID == v.RuleID {
				return v, r.ContentHash
			}
		}
	}
	return nil, ""
}

func judged(by rule.DecidedBy) bool { return by == rule.ByModel || by == rule.ByCache }

func feedbackOf(f store.Feedback) *Feedback {
	return &Feedback{
		EvaluationID: f.EvaluationID, RuleID: f.RuleID, RuleVersion: f.RuleVersion, Verdict: f.Verdict, Correct: f.Correct, Note: f.Note,
		Actor: f.Actor, At: f.At,
	}
}

// Feedback lists the feedback on an evaluation, by rule and actor; not_found without the evaluation.
func (e *Evaluator) Feedback(ctx context.Context, projectID, evaluationID string) ([]Feedback, error) {
	if _, err := e.Get(ctx, projectID, evaluationID); err != nil && !isPruned(err) {
		return nil, err
	}
	list, err := e.cfg.Records.Feedback(ctx, projectID, evaluationID)
	if err != nil {
		return nil, err
	}
	out := make([]Feedback, len(list))
	for i, f := range list {
		out[i] = *feedbackOf(f)
	}
	return out, nil
}

// Quality is how often a rule, with its present content, was right.
type Quality struct {
	RuleID      string `json:"rule_id" doc:"The rule."`
	RuleVersion int    `json:"rule_version" doc:"Its current version."`
	ContentHash string `json:"content_hash" doc:"SHA-256 of what it says. Feedback on other contents does not count."`
	Feedback    Tally  `json:"feedback" doc:"From feedback."`
	TestCases   Tally  `json:"test_cases" doc:"From test cases that a person stands by and that have run on this content, by their latest run."`
	// Confidence is what judged verdicts carry; absent as long as there is too little feedback.
	Confidence *Confidence `json:"confidence,omitempty" doc:"Confidence that judged verdicts of the rule carry; absent with less than 20 pieces of feedback on them."`
	Judged     int         `json:"judged" doc:"Pieces of feedback on verdicts that a model gave."`
}

// Tally counts verdicts that were right and wrong. A DENY counts as positive. NEEDS_CONFIRMATION decides nothing, and counts
// as unsure.
type Tally struct {
	TruePositives  int        `json:"true_positives" doc:"DENY, and right."`
	FalsePositives int        `json:"false_positives" doc:"DENY, and wrong."`
	TrueNegatives  int        `json:"true_negatives" doc:"ALLOW, and right."`
	FalseNegatives int        `json:"false_negatives" doc:"ALLOW, and wrong."`
	Unsure         int        `json:"unsure" doc:"NEEDS_CONFIRMATION."`
	Precision      *rule.Rate `json:"precision,omitempty" doc:"Part of the DENY verdicts that were right; absent without any."`
	Recall         *rule.Rate `json:"recall,omitempty" doc:"Part of what should have been DENY that was; absent without any."`
}

// Confidence of judged verdicts, from feedback.
type Confidence struct {
	Allow float64 `json:"allow" doc:"Of an ALLOW."`
	Deny  float64 `json:"deny" doc:"Of a DENY."`
}

// minFeedback is how many pieces of feedback on judged verdicts a rule needs before their confidence follows from it.
const minFeedback = 20

// posterior is the mean of the Beta distribution that k right ones of n leave of a uniform prior.
func posterior(k, n int) float64 { return float64(k+1) / float64(n+2) }

// Quality tells how often a rule was right; not_found without the rule.
func (e *Evaluator) Quality(ctx context.Context, projectID, ruleRef string) (*Quality, error) {
	r, err := e.cfg.Records.Rule(ctx, projectID, ruleRef)
	if err != nil {
		return nil, err
	}
	counts, err := e.cfg.Records.CountFeedback(ctx, projectID, r.ID)
	if err != nil {
		return nil, err
	}
	q := &Quality{RuleID: r.ID, RuleVersion: r.Version, ContentHash: r.ContentHash()}
	var m marks
	for _, c := range counts {
		if c.ContentHash == q.ContentHash {
			q.Feedback.add(c.Verdict, c.Correct, c.Count)
			m.add(c)
		}
	}
	q.Feedback.rate()
	q.Judged = m.judged
	if m.judged >= minFeedback {
		q.Confidence = &Confidence{Allow: m.confidence(rule.Allow), Deny: m.confidence(rule.Deny)}
	}
	cases, err := e.cfg.Records.CountTests(ctx, projectID, []string{r.ID})
	if err != nil {
		return nil, err
	}
	for _, c := range cases {
		if c.Confirmed && c.LastHash == q.ContentHash {
			q.TestCases.add(rule.Verdict(c.LastResult), c.LastResult == c.Expected, c.Total)
		}
	}
	q.TestCases.rate()
	return q, nil
}

func (t *Tally) add(v rule.Verdict, correct bool, n int) {
	switch {
	case v == rule.Deny && correct:
		t.TruePositives += n
	case v == rule.Deny:
		t.FalsePositives += n
	case v == rule.Allow && correct:
		t.TrueNegatives += n
	case v == rule.Allow:
		t.FalseNegatives += n
	default:
		t.Unsure += n
	}
}

func (t *Tally) rate() {
	t.Precision = rule.Wilson(t.TruePositives, t.TruePositives+t.FalsePositives)
	t.Recall = rule.Wilson(t.TruePositives, t.TruePositives+t.FalseNegatives)
}

// marks counts the feedback on judged verdicts of one content of a rule.
type marks struct {
	judged                             int
	allowRight, allow, denyRight, deny int
}

func (m *marks) add(c store.FeedbackCount) {
	if !c.Judged {
		return
	}
	m.judged += c.Count
	right := 0
	if c.Correct {
		right = c.Count
	}
	switch c.Verdict { //nolint:exhaustive // what decides nothing has no confidence
	case rule.Allow:
		m.allow, m.allowRight = m.allow+c.Count, m.allowRight+right
	case rule.Deny:
		m.deny, m.denyRight = m.deny+c.Count, m.denyRight+right
	}
}

func (m *marks) confidence(v rule.Verdict) float64 {
	if v == rule.Deny {
		return posterior(m.denyRight, m.deny)
	}
	return posterior(m.allowRight, m.allow)
}

// measured remembers the marks of projects for a while, so that evaluations do not ask the database each time.
type measured struct {
	mu       sync.Mutex
	projects map[string]marksOf
}

type marksOf struct {
	at    time.Time
	rules map[marksKey]*marks
}

type marksKey struct{ ruleID, contentHash string }

// remembered is how long marks are used before they are read again: feedback given at another node counts after that.
const remembered = 15 * time.Second

func (m *measured) forget(projectID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.projects, projectID)
}

// calibrate sets the confidence of a judged verdict from feedback, where there is enough of it. Where feedback cannot be
// read, the judge's own figure stays: it is lower, so nothing is trusted more than it should be.
func (e *Evaluator) calibrate(ctx context.Context, projectID, contentHash string, v *rule.RuleVerdict) {
	if !judged(v.DecidedBy) || v.Verdict == rule.NeedsConfirmation || e.cfg.Records == nil {
		return
	}
	m := e.marks(ctx, projectID)[marksKey{v.RuleID, contentHash}]
	if m != nil && m.judged >= minFeedback {
		v.Confidence = m.confidence(v.Verdict)
	}
}

func (e *Evaluator) marks(ctx context.Context, projectID string) map[marksKey]*marks {
	now := e.cfg.Now()
	e.measured.mu.Lock()
	known, ok := e.measured.projects[projectID]
	e.measured.mu.Unlock()
	if ok && now.Sub(known.at) < remembered {
		return known.rules
	}
	counts, err := e.cfg.Records.CountFeedback(ctx, projectID, "")
	if err != nil {
		return known.rules
	}
	rules := map[marksKey]*marks{}
	for _, c := range counts {
		key := marksKey{c.RuleID, c.ContentHash}
		if rules[key] == nil {
			rules[key] = &marks{}
		}
		rules[key].add(c)
	}
	e.measured.mu.Lock()
	defer e.measured.mu.Unlock()
	if e.measured.projects == nil || len(e.measured.projects) >= maxMeasured {
		e.measured.projects = map[string]marksOf{}
	}
	e.measured.projects[projectID] = marksOf{now, rules}
	return rules
}

// maxMeasured is for how many projects marks are remembered.
const maxMeasured = 10_000
