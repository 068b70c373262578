package record

import (
	"context"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// minFeedback is how many pieces of feedback on judged verdicts a rule needs before their confidence follows from it.
const minFeedback = 20

// ruleFeedback counts the feedback on judged verdicts of one content of a rule.
type ruleFeedback struct {
	judged                             int
	allowRight, allow, denyRight, deny int
}

func (f *ruleFeedback) add(c store.FeedbackCount) {
	if !c.Judged {
		return
	}
	f.judged += c.Count
	right := 0
	if c.Correct {
		right = c.Count
	}
	switch c.Verdict { //nolint:exhaustive // NEEDS_CONFIRMATION has no confidence
	case rule.Allow:
		f.allow, f.allowRight = f.allow+c.Count, f.allowRight+right
	case rule.Deny:
		f.deny, f.denyRight = f.deny+c.Count, f.denyRight+right
	}
}

func (f *ruleFeedback) confidence(v rule.Verdict) float64 {
	if v == rule.Deny {
		return posterior(f.denyRight, f.deny)
	}
	return posterior(f.allowRight, f.allow)
}

// posterior is the mean of the Beta distribution that k right ones of n leave of a uniform prior.
func posterior(k, n int) float64 { return float64(k+1) / float64(n+2) }

// ruleContent names one content of a rule.
type ruleContent struct{ ruleID, contentHash string }

// Calibration holds the confidence of judged verdicts that follows from the feedback in a project.
type Calibration map[ruleContent]*ruleFeedback

// Apply sets the confidence of a judged verdict of a rule with the given content, if it has enough feedback.
func (c Calibration) Apply(v *rule.RuleVerdict, contentHash string) {
	if !judged(v.DecidedBy) || v.Verdict == rule.NeedsConfirmation {
		return
	}
	if f := c[ruleContent{v.RuleID, contentHash}]; f != nil && f.judged >= minFeedback {
		v.Confidence = f.confidence(v.Verdict)
	}
}

// feedbackCache remembers the calibrations of projects for a while, so that evaluations do not ask the database each time.
type feedbackCache struct {
	mu       sync.Mutex
	projects map[string]cachedCalibration
}

type cachedCalibration struct {
	at    time.Time
	rules Calibration
}

const (
	// calibrationAge is how long a calibration is used before it is read again: feedback given at another node counts after
	// that.
	calibrationAge = 15 * time.Second
	// maxCalibrations is for how many projects calibrations are remembered.
	maxCalibrations = 10_000
)

func (m *feedbackCache) forget(projectID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.projects, projectID)
}

func (m *feedbackCache) get(projectID string) (cachedCalibration, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	c, ok := m.projects[projectID]
	return c, ok
}

func (m *feedbackCache) put(projectID string, c cachedCalibration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.projects == nil || len(m.projects) >= maxCalibrations {
		m.projects = map[string]cachedCalibration{}
	}
	m.projects[projectID] = c
}

// Calibration returns what feedback says about the judged verdicts of a project. If feedback cannot be read, it returns the
// last calibration or an empty one: the judge's own figures are lower, so no verdict is trusted more than it should be.
func (a *Archive) Calibration(ctx context.Context, projectID string) Calibration {
	now := a.now()
	last, ok := a.feedback.get(projectID)
	if ok && now.Sub(last.at) < calibrationAge {
		return last.rules
	}
	counts, err := a.store.Feedback.Count(ctx, projectID, "")
	if err != nil {
		return last.rules
	}
	rules := Calibration{}
	for _, c := range counts {
		key := ruleContent{c.RuleID, c.ContentHash}
		if rules[key] == nil {
			rules[key] = &ruleFeedback{}
		}
		rules[key].add(c)
	}
	a.feedback.put(projectID, cachedCalibration{now, rules})
	return rules
}
