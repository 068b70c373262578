package judge

import (
	"context"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// ReplayTriage does a triage again from its record, as [Replay] does a Decide: with the same subject and rules it has the same
// outcomes. Calls may hold those of other purposes.
func ReplayTriage(ctx context.Context, s *subject.Subject, rules []*rule.Rule, calls []wire.ModelCall, reused []wire.ReusedTriage) Triaged {
	calls = slices.DeleteFunc(slices.Clone(calls), func(c wire.ModelCall) bool { return !isTriage(&c) })
	if len(rules) == 0 || s == nil || s.Empty() {
		return openTriage(len(rules), "the subject is empty")
	}
	var seed, nonces, written string
	switch {
	case len(calls) > 0:
		seed, nonces, written = calls[0].Seed, calls[0].Nonce, calls[0].Plan
	case len(reused) > 0:
		seed, written = reused[0].Seed, reused[0].Plan
	default:
		return openTriage(len(rules), triageNoModel)
	}
	p, ok := parseTriagePlan(written)
	if !ok {
		return openTriage(len(rules), "the record was made with another version of its prompt and cannot be replayed")
	}
	j := New(Config{})
	s, secrets := j.redactor.Subject(s)
	t := j.newTriage(s, rules, p, len(secrets))
	r := &recordedSource{calls: map[string][]wire.ModelCall{}, verdicts: map[[2]string]string{}}
	byRules := map[string]string{}
	for _, c := range calls {
		r.calls[callKey(&c)] = append(r.calls[callKey(&c)], c)
		byRules[strings.Join(c.Rules, ",")] = c.Nonce
	}
	for _, u := range reused {
		r.verdicts[[2]string{u.Unit, u.Batch}] = u.Entry
	}
	t.source = r
	fillHex(t.seed[:], seed)
	fillHex(t.nonce[:], nonces[:len(nonces)/2])
	t.batchNonce = func(b *triageBatch) (n nonce) {
		nonces := byRules[strings.Join(b.ruleIDs(), ",")]
		fillHex(n[:], nonces[len(nonces)/2:])
		return n
	}
	t.run(ctx)
	return t.conclude()
}

// isTriage reports whether a call was made by a triage.
func isTriage(c *wire.ModelCall) bool {
	return c.Purpose == CallTriage || c.Purpose == CallTriageRepair
}
