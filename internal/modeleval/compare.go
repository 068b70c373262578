package modeleval

import (
	"math"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Alpha is how improbable a drop must be as a whim of chance to count as one.
const Alpha = 0.05

// Comparison is the difference between a run and an older one on the cases that both have, by the first verdict of each.
type Comparison struct {
	// Shared counts the cases that both runs have, with the same content. Other cases are not compared.
	Shared int `json:"shared"`
	// Correct compares what is right; safe compares what is no false ALLOW; triage compares which broken rules triage has not ruled
	// out, on the cases for which both runs measured it.
	Correct Change `json:"correct"`
	Safe    Change `json:"safe"`
	Triage  Change `json:"triage"`
	// Triaged counts those cases.
	Triaged int `json:"triaged"`
}

// Change counts the cases in which something was the case before and is now.
type Change struct {
	Before int `json:"before"`
	After  int `json:"after"`
	// Lost was the case and no longer is, Gained the other way round.
	Lost   int `json:"lost"`
	Gained int `json:"gained"`
	// P is the probability to lose at least so many, were losing and gaining equally likely: the exact one-sided form of
	// McNemar's test.
	P float64 `json:"p"`
}

// Dropped reports whether the change is a drop that chance hardly explains.
func (c Change) Dropped() bool { return c.Lost > c.Gained && c.P < Alpha }

// Dropped reports whether the run is significantly worse: fewer right verdicts, more false ALLOWs, or more broken
// rules that triage has ruled out.
func (c *Comparison) Dropped() bool {
	return c.Correct.Dropped() || c.Safe.Dropped() || c.Triage.Dropped()
}

// Compare compares a run with an older one. It fails with an error of code invalid if they have no case in common.
//
// Both runs judge the same cases, so their results are pairs, and only the pairs that differ carry information: McNemar, Note on
// the sampling error of the difference between correlated proportions or percentages, Psychometrika 12 (1947). Such pairs are
// often few, so the binomial distribution is used itself and not the chi-squared approximation.
func Compare(before, after *Report) (*Comparison, error) {
	old := make(map[string]*Result, len(before.Results))
	for i := range before.Results {
		old[before.Results[i].ID] = &before.Results[i]
	}
	var c Comparison
	for i := range after.Results {
		now := &after.Results[i]
		was, ok := old[now.ID]
		if !ok || was.Hash != now.Hash || len(was.Verdicts) == 0 || len(now.Verdicts) == 0 {
			continue
		}
		c.Shared++
		c.Correct.count(was.Verdicts[0] == was.Expected, now.Verdicts[0] == now.Expected)
		c.Safe.count(was.safe(), now.safe())
		if was.Triage != "" && now.Triage != "" {
			c.Triaged++
			c.Triage.count(was.Triage != wire.TriageRuledOut, now.Triage != wire.TriageRuledOut)
		}
	}
	if c.Shared == 0 {
		return nil, rule.Errorf(rule.CodeInvalid, "the two reports have no case in common, so they cannot be compared")
	}
	c.Triage.P = atLeast(c.Triage.Lost, c.Triage.Gained)
	c.Correct.P, c.Safe.P = atLeast(c.Correct.Lost, c.Correct.Gained), atLeast(c.Safe.Lost, c.Safe.Gained)
	return &c, nil
}

// safe reports whether the first verdict is no false ALLOW.
func (r *Result) safe() bool { return r.Verdicts[0] != rule.Allow || r.Expected == rule.Allow }

func (c *Change) count(was, is bool) {
	if was {
		c.Before++
	}
	if is {
		c.After++
	}
	switch {
	case was && !is:
		c.Lost++
	case is && !was:
		c.Gained++
	}
}

// atLeast is the probability of lost or more heads in lost + gained throws of a fair coin.
func atLeast(lost, gained int) float64 {
	n := lost + gained
	p := 0.0
	all, _ := math.Lgamma(float64(n + 1))
	for k := lost; k <= n; k++ {
		a, _ := math.Lgamma(float64(k + 1))
		b, _ := math.Lgamma(float64(n - k + 1))
		p += math.Exp(all - a - b - float64(n)*math.Ln2)
	}
	return min(p, 1)
}
