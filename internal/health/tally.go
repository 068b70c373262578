package health

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// recorded is the part of the record of an evaluation that is counted.
type recorded struct {
	Evaluation *rule.RecordedEvaluation `json:"evaluation"`
	Subject    struct {
		Repository string `json:"repository"`
	} `json:"subject"`
	Calls []call `json:"calls"`
}

type call struct {
	Model        string   `json:"model"`
	Rules        []string `json:"rules"`
	Error        string   `json:"error"`
	DurationMS   int64    `json:"duration_ms"`
	InputTokens  int64    `json:"input_tokens"`
	OutputTokens int64    `json:"output_tokens"`
	CachedTokens int64    `json:"cached_tokens"`
}

type dayKey struct {
	day  store.Day
	name string // of a rule or model
}

// sums collects counts by their keys.
type sums struct {
	rules  map[dayKey]*store.RuleCount
	days   map[store.Day]*store.DayCount
	models map[dayKey]*store.ModelCount
	grouped
}

func newSums() *sums {
	return &sums{map[dayKey]*store.RuleCount{}, map[store.Day]*store.DayCount{}, map[dayKey]*store.ModelCount{}, newGrouped()}
}

// tally counts entries of a chain. Of a record that the retention setting has removed, or that is damaged, it counts only the
// overall verdict, which is in the chain; it reports damaged ones to damaged. It returns the time of the last such record, or
// nil.
func (s *sums) tally(entries []store.AuditEntry, damaged func(id string, err error)) (blind *time.Time) {
	for i := range entries {
		e := &entries[i]
		if e.Kind != audit.KindEvaluation {
			if err := s.change(e); err != nil {
				damaged(e.ID, err)
			}
			continue
		}
		rec, err := read(e)
		if err != nil {
			damaged(e.ID, err)
		}
		if rec == nil {
			at := e.At
			blind = &at
			s.evaluation(e, 0)
			continue
		}
		s.evaluation(e, rec.Evaluation.TotalLatencyMS)
		s.verdicts(e, rec)
		s.group(e, rec)
		for k := range rec.Calls {
			s.call(store.DayOf(e.At), &rec.Calls[k])
		}
	}
	return blind
}

// into puts the counts in a fixed order, in which all nodes touch rows.
func (s *sums) into(c *store.Counts) {
	for _, k := range sorted(s.rules) {
		c.Rules = append(c.Rules, *s.rules[k])
	}
	for _, k := range sorted(s.models) {
		c.Models = append(c.Models, *s.models[k])
	}
	for _, d := range s.days {
		c.Days = append(c.Days, *d)
	}
	slices.SortFunc(c.Days, func(a, b store.DayCount) int { return int(a.Day - b.Day) })
	s.grouped.into(c)
}

// read reads a record; nil if it is there no more, or on an error.
func read(e *store.AuditEntry) (*recorded, error) {
	if len(e.Body) == 0 {
		return nil, nil
	}
	body, err := audit.Body(*e)
	if err != nil {
		return nil, err
	}
	var rec recorded
	// Faster than encoding/json, which counts where evaluations need the processor too. It is strict about what that lets pass.
	if err := json.Unmarshal(body, &rec, jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true)); err != nil {
		return nil, err
	}
	if rec.Evaluation == nil {
		return nil, errors.New("it holds no evaluation")
	}
	return &rec, nil
}

// sorted orders keys by day and name.
func sorted[T any](m map[dayKey]T) []dayKey {
	keys := make([]dayKey, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b dayKey) int {
		if a.day != b.day {
			return int(a.day - b.day)
		}
		return strings.Compare(a.name, b.name)
	})
	return keys
}

func (s *sums) evaluation(e *store.AuditEntry, latency int64) {
	day := store.DayOf(e.At)
	d := s.days[day]
	if d == nil {
		d = &store.DayCount{Day: day}
		s.days[day] = d
	}
	d.Evaluations++
	count(rule.Verdict(e.Verdict), &d.Allowed, &d.Denied, &d.Unsure)
	if rule.Verdict(e.Verdict) == rule.Deny && rule.Mode(e.Mode) == rule.Posthoc {
		d.Incidents++
	}
	d.LatencyMS += latency
	d.MaxLatencyMS = max(d.MaxLatencyMS, latency)
}

// storedVerdict is a verdict of an entry or of counts.
func storedVerdict(s string) rule.Verdict { return rule.Verdict(s) }

// count adds a verdict; one that is unknown counts as NEEDS_CONFIRMATION.
func count(v rule.Verdict, allowed, denied, unsure *int64) {
	switch v {
	case rule.Allow:
		*allowed++
	case rule.Deny:
		*denied++
	case rule.NeedsConfirmation:
		*unsure++
	default:
		*unsure++
	}
}

func (s *sums) rule(day store.Day, id string) *store.RuleCount {
	k := dayKey{day, id}
	r := s.rules[k]
	if r == nil {
		r = &store.RuleCount{Day: day, RuleID: id}
		s.rules[k] = r
	}
	return r
}

func (s *sums) verdicts(e *store.AuditEntry, rec *recorded) {
	day := store.DayOf(e.At)
	whole := &s.days[day].Rules
	judged := map[string]bool{}
	for i := range rec.Evaluation.RuleVerdicts {
		v := &rec.Evaluation.RuleVerdicts[i]
		judged[v.RuleID] = true
		r := s.rule(day, v.RuleID)
		for _, c := range []*store.RuleCount{r, whole} {
			count(v.Verdict, &c.Allowed, &c.Denied, &c.Unsure)
			decided(v.DecidedBy, c)
		}
		if e.At.After(r.LastAt) {
			r.LastAt = e.At
		}
	}
	for i := range rec.Calls {
		k := &rec.Calls[i]
		tokens, n := k.InputTokens+k.OutputTokens, int64(len(k.Rules))
		for j, id := range k.Rules {
			if !judged[id] {
				continue
			}
			r := s.rule(day, id)
			r.Calls++
			r.CallMS += k.DurationMS
			r.Tokens += tokens / n
			if int64(j) < tokens%n {
				r.Tokens++
			}
		}
	}
}

// decided counts verdicts by what decided them: a check, the judge, an approval.
func decided(by rule.DecidedBy, c *store.RuleCount) {
	switch by {
	case rule.ByCheck:
		c.ByCheck++
	case rule.ByModel:
		c.ByModel++
	case rule.ByCache:
		c.ByCache++
	case rule.ByTriage:
		c.ByTriage++
	case rule.ByApproval:
		c.ByApproval++
	case rule.ByNone:
	}
}

func (s *sums) call(day store.Day, k *call) {
	key := dayKey{day, k.Model}
	m := s.models[key]
	if m == nil {
		m = &store.ModelCount{Day: day, Model: k.Model}
		s.models[key] = m
	}
	m.Calls++
	if k.Error != "" {
		m.Failed++
	}
	m.InputTokens += k.InputTokens
	m.OutputTokens += k.OutputTokens
	m.CachedTokens += k.CachedTokens
	m.DurationMS += k.DurationMS
}
