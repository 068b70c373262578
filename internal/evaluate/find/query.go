package find

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Bounds of a query.
const (
	maxFactFilters = 10
	maxQueryWords  = 20
	maxValue       = 200 // bytes of a value in a message
)

// query is a filter as the index takes it: evaluations have at least one term of each condition, and a time.
type query struct {
	// conditions are in the order in which they probably leave fewest records.
	conditions   [][]store.Term
	inside       int // of them, those about facts and words, which come first
	since, until *time.Time
}

// plan reads a filter. Its error names every parameter that is wrong.
func (x *Index) plan(ctx context.Context, projectID string, f *wire.EvaluationQuery) (*query, error) {
	var p rule.Problems
	q := &query{since: f.Since, until: f.Until}
	q.facts(&p, f.Fact)
	q.words(&p, f.Words)
	q.inside = len(q.conditions)
	if f.SnapshotID != "" {
		q.one(snapshot, strings.ToLower(f.SnapshotID))
	}
	if err := x.planRule(ctx, projectID, &p, q, f); err != nil {
		return nil, err
	}
	q.fingerprint(&p, f.Fingerprint)
	q.repository(&p, f.Repository)
	if f.NodeID != "" {
		q.one(node, f.NodeID)
	}
	if e := enum(&p, "environment", f.Environment, wire.Environments); e != "" {
		q.one(environment, string(e))
	}
	if u := enum(&p, "undecided", f.Undecided, rule.UndecidedReasons); u != "" {
		q.one(undecided, string(u))
	}
	if f.Actor != "" {
		q.one(actor, f.Actor)
	}
	if f.PersonalKey != "" {
		q.one(personalKey, strings.ToLower(f.PersonalKey))
	}
	q.identity(f.Person, f.Agent, f.Session)
	if f.Scope != "" {
		path := rule.CleanScope(f.Scope)
		switch {
		case path == "" || strings.Contains(path, "*"):
			p.Add("scope", "is %q; give a scope such as finance/payments, whose narrower scopes are found too", clip(f.Scope))
		case strings.Count(path, "/") >= maxScope:
			p.Add("scope", "has more than %d segments", maxScope)
		default:
			q.one(scope, path)
		}
	}
	if k := enum(&p, "subject_kind", f.SubjectKind, wire.SubjectKinds); k != "" {
		q.one(kind, string(k))
	}
	if m := enum(&p, "mode", f.Mode, rule.Modes); m != "" {
		q.one(mode, string(m))
	}
	if v := enum(&p, "verdict", f.Verdict, rule.Verdicts); v != "" {
		q.one(verdict, string(v))
	}
	if len(q.conditions) == 0 {
		q.one(evaluated)
	}
	return q, p.Err("the query is invalid")
}

// one adds the condition that a property has a value.
func (q *query) one(p property, value ...string) {
	q.conditions = append(q.conditions, []store.Term{termOf(p, value...)})
}

// identity adds the conditions that an evaluation names a person, an agent and a session.
func (q *query) identity(personName, agentName, sessionName string) {
	for _, c := range []struct {
		property
		value string
	}{{session, sessionName}, {person, personName}, {agent, agentName}} {
		if c.value != "" {
			q.one(c.property, rule.FoldName(c.value))
		}
	}
}

// facts adds the conditions that facts have values.
func (q *query) facts(p *rule.Problems, facts []string) {
	if len(facts) > maxFactFilters {
		p.Add("fact", "is given %d times; at most %d are possible", len(facts), maxFactFilters)
		return
	}
	for _, f := range facts {
		i := strings.IndexAny(f, ":=")
		if i <= 0 || strings.TrimSpace(f[:i]) == "" {
			p.Add("fact", "is %q; give a name and a value, such as payment_id:PMT-123 or customer.country=FR", clip(f))
			continue
		}
		name, value := factText(f[:i]), factText(f[i+1:])
		terms := []store.Term{termOf(fact, name, value)}
		if x, err := strconv.ParseFloat(value, 64); err == nil {
			terms = append(terms, termOf(factNumber, name, factNumberText(x)))
		}
		q.conditions = append(q.conditions, terms)
	}
}

// fingerprint adds the condition that a verdict has a fingerprint with a beginning.
func (q *query) fingerprint(p *rule.Problems, prefix string) {
	switch prefix = strings.ToLower(strings.TrimSpace(prefix)); {
	case prefix == "":
	case len(prefix) < FingerprintPrefix || len(prefix) > 64 || strings.Trim(prefix, "0123456789abcdef") != "":
		p.Add("fingerprint", "is %q; give %d to 64 of the characters 0 to 9 and a to f, as reports show them", clip(prefix), FingerprintPrefix)
	default:
		q.one(fingerprint, prefix[:FingerprintPrefix])
	}
}

// words adds the conditions that the subject has words.
func (q *query) words(p *rule.Problems, text string) {
	if text == "" {
		return
	}
	seen := map[string]bool{}
	corpus.EachWord(text, func(w corpus.Word) bool {
		if !seen[w.Term] {
			seen[w.Term] = true
			q.one(word, w.Term)
		}
		return len(seen) <= maxQueryWords
	})
	switch {
	case len(seen) == 0:
		p.Add("q", "is %q, which has no word", clip(text))
	case len(seen) > maxQueryWords:
		p.Add("q", "has more than %d words", maxQueryWords)
	}
}

// repository adds the condition that the subject is of a repository. One that names no host may be on any, and on the given one.
func (q *query) repository(p *rule.Problems, name string) {
	if name == "" {
		return
	}
	r := rule.ParseRepository(name)
	switch {
	case r.Path == "":
		p.Add("repository", "is %q, which names no repository; give one such as acme/billing", clip(name))
	case r.Host == "":
		q.one(repositoryPath, r.Path)
	default:
		q.conditions = append(q.conditions, []store.Term{termOf(repository, r.String()), termOf(repository, r.Path)})
	}
}

// planRule adds the condition that a rule has a verdict.
func (x *Index) planRule(ctx context.Context, projectID string, p *rule.Problems, q *query, f *wire.EvaluationQuery) error {
	outcome := enum(p, "rule_verdict", f.RuleVerdict, wire.RuleOutcomes)
	if f.Rule == "" {
		if f.RuleVerdict != "" {
			p.Add("rule_verdict", "needs rule: whose verdict it is")
		}
		return nil
	}
	r, err := x.cfg.Store.Rules.Get(ctx, projectID, f.Rule)
	if rule.CodeOf(err) == rule.CodeNotFound {
		p.Add("rule", "is %q, which is the id or the slug of no rule; a retired rule goes by its id", clip(f.Rule))
		return nil
	}
	if err != nil {
		return err
	}
	if outcome == "" {
		q.one(ruleID, r.ID)
	} else {
		q.one(ruleOutcome, r.ID, string(outcome))
	}
	return nil
}

func enum[T ~string](p *rule.Problems, name, value string, all []T) T {
	if value == "" {
		return ""
	}
	v, ok := rule.Parse(value, all)
	if !ok {
		p.Add(name, "is %q; use one of %s", clip(value), rule.Names(all))
	}
	return v
}

func clip(s string) string {
	if len(s) <= maxValue {
		return s
	}
	return strings.ToValidUTF8(s[:maxValue], "") + "..."
}

// cursorOf returns the cursor of the records before an entry.
func cursorOf(seq int64) string { return strconv.FormatInt(seq, 36) }

// parseCursor returns the entry of a cursor.
func parseCursor(s string) (int64, error) {
	seq, err := strconv.ParseInt(s, 36, 64)
	if err != nil || seq <= 0 {
		return 0, fmt.Errorf("is %q; give the next_cursor of the page before", clip(s))
	}
	return seq, nil
}
