package api

import (
	"net/http"
	"net/url"
	"slices"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// finds returns the ids that a query lists.
func (n *node) finds(query string) []string {
	n.t.Helper()
	var ids []string
	for _, e := range into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?"+query, nil).want(http.StatusOK)).Items {
		ids = append(ids, e.EvaluationID)
	}
	return ids
}

func TestFindEvaluations(t *testing.T) {
	t.Parallel()
	onBoth(t, testFindEvaluations)
}

func testFindEvaluations(t *testing.T, n *node) {
	n.judgedRules()
	n.call("POST", rulesPath, fields{
		"slug": "PAY-1", "statement": "Payments above 1000 need a second person.", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= 1000"},
	}).want(http.StatusCreated)
	n.judging(nil)
	code := n.evaluates(fields{"diff": badDiff, "repository": "https://github.com/Acme/App.git", "scope": "platform/api"})
	payment := n.evaluates(fields{"facts": fields{"payment_id": "PMT-123", "amount": 5000, "customer": fields{"country": "FR"}}, "scope": "finance/payments/eu"})
	small := n.evaluates(fields{"facts": fields{"payment_id": "PMT-124", "amount": 5, "note": "key " + fakeSecret()}, "scope": "finance", "mode": "posthoc"})
	all := []string{small.EvaluationID, payment.EvaluationID, code.EvaluationID}

	look := func() {
		t.Helper()
		for query, want := range map[string][]string{
			"rule=PAY-1&rule_verdict=violated":              {payment.EvaluationID},
			"rule=PAY-1&rule_verdict=KEPT":                  {small.EvaluationID},
			"rule=SEC-1&rule_verdict=violated":              {code.EvaluationID},
			"scope=finance":                                 {small.EvaluationID, payment.EvaluationID},
			"scope=finance/payments":                        {payment.EvaluationID},
			"repository=acme/app":                           {code.EvaluationID},
			"repository=git@github.com:acme/app.git":        {code.EvaluationID},
			"repository=git@gitlab.com:acme/app.git":        nil,
			"subject_kind=code_change":                      {code.EvaluationID},
			"fact=payment_id:pmt-123":                       {payment.EvaluationID},
			"fact=amount=5000.0":                            {payment.EvaluationID},
			"fact=amount=5000&fact=payment_id:PMT-124":      nil,
			"fact=customer.country:FR&scope=finance":        {payment.EvaluationID},
			"q=eval":                                        {code.EvaluationID},
			"q=PMT-124":                                     {small.EvaluationID},
			"q=" + url.QueryEscape(fakeSecret()):            nil,
			"mode=posthoc&fact=amount:5":                    {small.EvaluationID},
			"environment=production":                        nil,
			"node_id=00000000-0000-7000-8000-000000000001":  nil,
			"snapshot_id=none":                              nil,
			"scope=finance&until=2999-01-01T00:00:00Z":      {small.EvaluationID, payment.EvaluationID},
			"scope=finance&since=2999-01-01T00:00:00Z":      nil,
			"scope=finance&page_size=1&page=2":              {payment.EvaluationID},
			"rule=" + payment.RuleVerdicts[0].RuleID + "":   n.finds("rule=" + payment.RuleVerdicts[0].RuleSlug),
			"verdict=deny&scope=finance&actor=" + n.actor(): {payment.EvaluationID},
		} {
			if got := n.finds(query); !slices.Equal(got, want) {
				t.Errorf("?%s gives %v, want %v", query, got, want)
			}
		}
		first := into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?page_size=2", nil).want(http.StatusOK))
		if first.Total != 3 || first.NextCursor == "" {
			t.Fatalf("first page %+v", first)
		}
		n.evaluates(fields{"facts": fields{"payment_id": "PMT-900", "amount": 1}}) // moves pages, not cursors
		next := into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?page_size=2&cursor="+first.NextCursor, nil).want(http.StatusOK))
		if len(next.Items) != 1 || next.Items[0].EvaluationID != all[2] || next.Total != 4 || next.NextCursor != "" {
			t.Errorf("the page after the cursor: %+v", next)
		}
		if s := next.Items[0]; s.SubjectKind != "code_change" || s.Scope != "platform/api" {
			t.Errorf("summary %+v", s)
		}
	}
	look()
	n.evaluates(fields{"facts": fields{"payment_id": "PMT-900"}})
	if err := newIndex(n.store).Handle(t.Context(), wire.Job{}, func(int, int) {}); err != nil {
		t.Fatal(err)
	}
	if behind, err := newIndex(n.store).Behind(t.Context()); err != nil || behind != 0 {
		t.Fatalf("%d entries are left, %v", behind, err)
	}
	for query, want := range map[string][]string{"fact=payment_id:pmt-123": {payment.EvaluationID}, "q=eval": {code.EvaluationID}} {
		if got := n.finds(query); !slices.Equal(got, want) {
			t.Errorf("indexed: ?%s gives %v, want %v", query, got, want)
		}
	}
	for query, field := range map[string]string{
		"rule=NONE-1": "rule", "rule_verdict=kept": "rule_verdict", "fact=payment": "fact", "subject_kind=car": "subject_kind", "environment=moon": "environment",
		"cursor=!": "cursor", "scope=a/*": "scope", "q=!": "q",
	} {
		n.call("GET", evaluationsPath+"?"+query, nil).wantProblem(http.StatusUnprocessableEntity, rule.CodeInvalid, field)
	}
}

// actor is the name under which the node's requests are recorded.
func (n *node) actor() string {
	n.t.Helper()
	return into[wire.EvaluationPage](n.call("GET", evaluationsPath+"?page_size=1", nil).want(http.StatusOK)).Items[0].Actor
}
