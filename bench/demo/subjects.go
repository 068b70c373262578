package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// question is one evaluation that somebody asks for.
type question struct {
	actor string
	body  client.Evaluate
	facts map[string]any
	// action is asked in plain words instead, if it is not empty; body then has the agent that asks.
	action string
}

// ask draws the n-th question of the year, some time before its end: mostly right payments, expenses and changes of code, and a few wrong
// ones. In the last days, a new form forgets to send the manager with expenses for software.
func ask(r *rand.Rand, n int, left time.Duration) question {
	var q question
	switch x := r.IntN(100); {
	case left < 6*day && x < 18:
		q = expense(r, n)
		q.facts["category"], q.facts["amount"], q.facts["manager"] = "software", 450.0, ""
	case x < 55:
		q = payment(r, n)
	case x < 70:
		q = expense(r, n)
	case x < 97:
		q = change(r)
	default:
		return question{actor: services["agents"], action: pick(r, actions), body: client.Evaluate{Acting: acting(r)}}
	}
	if r.IntN(10) == 0 {
		q.body.MaxRules = 100 // a caller who wants to see what was kept, too
	}
	return q
}

func pick[T any](r *rand.Rand, list []T) T { return list[r.IntN(len(list))] }

func chance(r *rand.Rand, percent float64) bool { return r.Float64()*100 < percent }

var (
	payees   = []string{"Northwind Pumps", "Baltic Freight", "Orchid Office", "Delta Cloud", "Hafen Logistik", "Sol Energia", "Kobe Parts", "Lumen Print"}
	currency = []string{"EUR", "EUR", "EUR", "USD", "JPY"}
	actions  = []string{
		"Restart the staging cluster", "Send the customer list to an external partner", "Delete the backups of March", "Publish the release notes",
		"Grant the contractor read access to payroll", "Rotate the keys of the payment gateway",
	}
)

func payment(r *rand.Rand, n int) question {
	amount := float64(50 + r.IntN(900))
	if chance(r, 30) {
		amount = float64(1000 + 100*r.IntN(250))
	}
	facts := map[string]any{
		"payment_id": fmt.Sprintf("PMT-%06d", n), "payee": pick(r, payees), "beneficiary_country": countries[min(int(r.ExpFloat64()*20), len(countries)-1)].code,
		"amount": amount, "currency": pick(r, currency), "requester": pick(r, requested), "approver": pick(r, approvers[:2]), "second_approver": approvers[2],
		"treasurer": "h.brandt", "invoice_number": fmt.Sprintf("INV-%06d", n), "paid_invoices": []any{},
	}
	switch {
	case chance(r, 2.5):
		facts["approver"] = facts["requester"]
	case chance(r, 1.5):
		facts["second_approver"] = facts["approver"]
	case chance(r, 1):
		facts["currency"] = "euro"
	case chance(r, 1.5):
		delete(facts, "second_approver")
	case chance(r, 2):
		facts["treasurer"] = ""
	case chance(r, 0.8):
		facts["paid_invoices"] = []any{facts["invoice_number"]}
	}
	return question{actor: services["payments"], facts: facts, body: client.Evaluate{Scope: "finance/payments", Repository: "acme/pay-service"}}
}

func expense(r *rand.Rand, n int) question {
	facts := map[string]any{"expense_id": fmt.Sprintf("EXP-%05d", n), "category": pick(r, expenses), "amount": float64(10 + r.IntN(400)), "currency": "EUR", "employee": pick(r, requested), "manager": pick(r, approvers), "requester": pick(r, requested), "approver": pick(r, approvers), "second_approver": ""}
	if chance(r, 6) {
		facts["manager"] = ""
	}
	if chance(r, 1) {
		delete(facts, "manager")
	}
	mode := rule.Mode("")
	if chance(r, 20) {
		mode = rule.Posthoc
	}
	return question{actor: services["people"], facts: facts, body: client.Evaluate{Scope: "people/expenses", Mode: mode}}
}

// change draws a small change of code. A few have one line that breaks a rule.
func change(r *rand.Rand) question {
	kinds := []struct {
		path         string
		good, broken []string
	}{
		{
			"src/%s.py",
			[]string{"total = sum(amounts)", "log.info('done')", "rows = list(read(path))", "return {'state': state}", "with open(path, encoding='utf-8') as f:", "    names.append(name.strip())"},
			[]string{"result = eval(text)", "import pickle", "requests.get(url, verify=False)", "import pytz"},
		},
		{
			"web/%s.ts",
			[]string{"const total = items.length;", "export function label(name: string): string {", "  return name.trim();", "}", "const rows = await store.list();"},
			[]string{"import moment from 'moment';", "el.innerHTML = text;", "import { map } from 'lodash';"},
		},
		{
			"internal/%s.go",
			[]string{"func total(list []int) int {", "\treturn len(list)", "}", "const limit = 20", "var names []string"},
			[]string{"TLSClientConfig: &tls.Config{InsecureSkipVerify: true},", "\tpanic(err)"},
		},
		{"db/%s.sql", []string{"SELECT id, name FROM customers WHERE id = $1;", "CREATE INDEX orders_by_day ON orders (day);"}, []string{"DELETE FROM orders;", "SELECT * FROM customers;"}},
	}
	k := pick(r, kinds)
	lines := make([]string, 2+r.IntN(8))
	for i := range lines {
		lines[i] = pick(r, k.good)
	}
	if chance(r, 9) {
		lines[r.IntN(len(lines))] = pick(r, k.broken)
	}
	path := fmt.Sprintf(k.path, pick(r, []string{"ledger", "billing", "refunds", "orders", "profile", "search", "export", "login"}))
	var d strings.Builder
	fmt.Fprintf(&d, "diff --git a/%s b/%s\nnew file mode 100644\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1,%d @@\n", path, path, path, len(lines))
	for _, l := range lines {
		d.WriteString("+" + l + "\n")
	}
	repository := pick(r, []string{"acme/pay-service", "acme/platform-tools", "acme/platform-web", "acme/people-portal"})
	q := question{actor: services["platform"], body: client.Evaluate{Diff: d.String(), Repository: repository, Scope: "platform", Intent: "Small change of " + path}}
	if chance(r, 35) {
		q.actor, q.body.Acting = services["agents"], acting(r)
	}
	return q
}

// acting draws an agent and the person for whom it asks.
func acting(r *rand.Rand) wire.Acting {
	return wire.Acting{Agent: pick(r, agents), OnBehalfOf: pick(r, requested) + "@acme.example"}
}

// split cuts a list at its bars.
func split(list string) []string { return strings.Split(list, "|") }
