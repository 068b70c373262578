package console

import (
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// samplesPage shows how often the judge disagrees with what was decided without it.
func samplesPage(p *page) error {
	s, err := client.Get(p.ctx, p.api, op.GetSamples.Where(wire.SamplesQuery{PeriodDays: periodOf(p), Rule: p.r.URL.Query().Get("rule")}))
	problem, err := refusedFilter(err)
	if name := p.r.URL.Query().Get("rule"); name != "" && rule.CodeOf(err) == rule.CodeNotFound {
		problem, err = "There is no rule "+name+".", nil
	}
	if err != nil {
		return err
	}
	return p.show(head{Title: "Sampled verdicts", Nav: "overview"}, samplesView(p, &s, problem))
}

// missed writes a miss rate with its interval.
func missed(r *rule.Rate) string {
	if r == nil {
		return "unknown"
	}
	return percent(r.Value)
}

// between writes the interval of a rate.
func between(r *rule.Rate) string {
	if r == nil {
		return "nothing judged yet"
	}
	return "95 %: " + percent(r.Low) + " to " + percent(r.High)
}
