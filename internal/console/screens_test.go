package console_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"tenet/internal/client"
	"tenet/internal/console/browsertest"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// screen is the content that a page must show. A new screen gets a row in the table: it is then opened with and without JavaScript, at 360 pixels,
// in the light and in the dark, and asked for barriers.
type screen struct {
	name, path string
	heading    string
	shows      []string // without JavaScript too
}

func screens(change, payment string, ids nodes) []screen {
	return []screen{
		{"evaluations", "/p/default/evaluations", "Evaluations", []string{"DENY", "acme/payments"}},
		{"no evaluations", "/p/default/evaluations?verdict=NEEDS_CONFIRMATION&actor=nobody", "Evaluations", []string{"No evaluation matches these filters."}},
		{"a search for a fact", "/p/default/evaluations?fact=payment_id:PMT-1&rule=FIN-001&rule_verdict=violated", "Evaluations", []string{"DENY", "1 to 1 of 1"}},
		{"a wrong filter", "/p/default/evaluations?verdict=maybe", "Evaluations", []string{"verdict"}},
		{"a denied change", "/p/default/evaluations/" + change, "DENY", []string{
			"1 rule violated", "SEC-001", "Code must not call eval.", "eval runs text as code.", "app.py:2", "Parse the text.", "x = eval(input())", "Waive this violation",
			"Decided by a check", "Audit chain",
		}},
		{"a denied change side by side", "/p/default/evaluations/" + change + "?view=sides", "DENY", []string{"Side by side", "eval(input())"}},
		{"a denied change for paper", "/p/default/evaluations/" + change + "?print=1", "DENY", []string{"Code must not call eval.", "entry"}},
		{"a denied payment", "/p/default/evaluations/" + payment, "DENY", []string{"FIN-001", "25000", "payment_id", "PMT-1", "decided"}},
		{"rules", "/p/default/rules", "Rules", []string{"SEC-001", "Code must not call eval.", "FIN-001"}},
		{"rules, other columns", "/p/default/rules?col=health&col=source&col=tests&cites=cwe-95&has_tests=false&sort=-health", "Rules", []string{"SEC-001", "CWE-95", "Health", "1 to 1 of 1"}},
		{"search, nothing typed", "/p/default/search", "Search", []string{"Find a rule by what you know of it.", "GDPR Art. 32"}},
		{"search", "/p/default/search?q=eval+CWE-95+in+force+now", "Search", []string{
			"Read as", "Citation CWE-95", "Words eval", "In force on 2", "Code must not call eval.", "refers to CWE-95", "Read it as words", "1 to 1 of 1",
		}},
		{"search, narrowed", "/p/default/search?q=must&status=EFFECTIVE", "Search", []string{"FIN-001", "take this filter away", "CRITICAL 1", "1 to 2 of 2"}},
		{"search, nothing found", "/p/default/search?q=GDPR+Art.+99+zebra", "Search", []string{"No rule is found.", "Search for the words"}},
		{"search, a wrong date", "/p/default/search?q=in-force:soon", "Search", []string{"names no date"}},
		{"queue", "/queue", "Queue", []string{"Deployments must be announced.", "OPS-001, version 1", "Pay the supplier", "1 to 2 of 2"}},
		{"queue, filtered", "/queue?kind=snapshot&severity_min=HIGH", "Queue", []string{"Nothing that waits matches these filters."}},
		{"queue, a wrong filter", "/queue?kind=song", "Queue", []string{"kind"}},
		{"a rule", "/p/default/rules/SEC-001", "SEC-001\nEFFECTIVE\nHIGH\nMUST NOT", []string{"It runs text as code.", "Notebooks.", `\beval\(`, "CWE-95", "Improper neutralization", "Last denials", "acme/payments", "Retire", "Score", "Where it holds", "No federation node has it"}},
		{"a rule without a check", "/p/default/rules/OPS-001", "OPS-001\nREVIEW\nMEDIUM\nMUST", []string{"a model judges the rule", "Approve", "Nothing is waived."}},
		{"the nodes of a rule", "/p/default/rules/SEC-001/nodes?state=attached", "SEC-001 nodes", []string{"No federation node has it", "There is no such node."}},
		{"the form that changes a rule", "/p/default/rules/FIN-001/edit", "Change FIN-001", []string{"Statement", "This must hold", "Replay the last 20", "Ask the model", "Press Check to see"}},
		{"the versions of a rule", "/p/default/rules/SEC-001/versions", "SEC-001 versions", []string{"Version 1", "The first version."}},
		{"try a payment", "/p/default/try?scope=finance/payments", "Try a decision", []string{"1 rule applies.", "Amount", "approvers", "Read by FIN-001.", "Other facts", "Drop files here"}},
		{"try an action", "/p/default/try?kind=action", "Try a decision", []string{"What is to be done"}},
		{"rules that apply to files", "/p/default/search/applicable?paths=app%2Frun.py&scope=hr", "Rules that apply", []string{"Asked 1", "SEC-001", "it is about code_change", "FIN-001", "the scope is hr", "DOC-001", "it is DRAFT"}},
		{"rules that apply to a payment", "/p/default/search/applicable?kind=transaction&f:amount=5&rule=FIN-001", "Rules that apply", []string{"Amount", "Asked", "its condition holds"}},
		{"rules that apply, a wrong rule", "/p/default/search/applicable?rule=NO-1", "Rules that apply", []string{"NO-1"}},
		{"a new rule", "/p/default/rules/new", "New rule", []string{"From a sentence", "What it concerns", "Kinds of subject", "Examples, kept as test cases", "Check"}},
		{"overview", "/p/default/overview", "Overview", []string{"Why verdicts are undecided", "Most denied", "SEC-001", "Never asked", "acme/payments", "Monthly report", "The numbers by day"}},
		{"overview of a team", "/p/default/overview?team=appsec&days=7", "Overview appsec", []string{"Verdicts of the team's rules", "appsec"}},
		{"overview, a wrong filter", "/p/default/overview?team=a&node_id=b", "Overview", []string{"exclude each other"}},
		{"overview of all projects", "/overview", "All projects", []string{"Rules in force"}},
		{"rules by health", "/p/default/overview/rules", "Rules by health", []string{"SEC-001", "Measured"}},
		{"rules of a band of health", "/p/default/overview/rules?score_min=1&score_max=100", "Rules by health", []string{"SEC-001", "Lowest score"}},
		{"waivers", "/p/default/overview/waivers?ends=30", "Waivers", []string{"There is no such waiver."}},
		{"waivers, a wrong filter", "/p/default/overview/waivers?ends=30&rule=SEC-001", "Waivers", []string{"goes without rule_id"}},
		{"repositories", "/p/default/overview/repositories", "Repositories", []string{"acme/payments", "DENY", "at no node"}},
		{"sampled verdicts", "/p/default/overview/samples", "Sampled verdicts", []string{"The judge disagreed with no sample of this period."}},
		{"repositories that were never judged", "/p/default/overview/unjudged", "Not covered", []string{"Nothing matches: every bound repository was judged."}},
		{"monthly report", "/p/default/report?verify=1&month=" + time.Now().UTC().Format("2006-01"), time.Now().UTC().Format("January 2006"), []string{"verified, yes", "Denied, by rule", "SEC-001", "The month has not ended.", "Lapsing next month", "import: created"}},
		{"operations", "/operations", "Operations", []string{"live", "v-test", "No model is configured.", "Background jobs", "Models in 14 days"}},
		{"background jobs", "/operations/jobs", "Background jobs", []string{"evaluations.index", "succeeded", "Last error"}},
		{"keys", "/operations/keys", "API keys", []string{"There is no key here.", "New key", "evaluator: has things judged"}},
		{"agents", "/p/default/agents", "Agents", []string{"No agent has asked for an evaluation.", "Suspend an agent", "Only for this person"}},
		{"edges", "/p/default/fleet", "Edges", []string{"till-7", "stale rules", "records wait", "v2 <b>", "cannot reach <i>", "Re-read"}},
		{"no edges", "/p/guild/fleet", "Edges", []string{"No edge has reported.", "tenet edge --bundle"}},
		{"projects", "/operations/projects", "Projects", []string{"default", "New project", "Tests required"}},
		{"a project's operations", "/p/default/operations", "Project default", []string{"Where no rule covers the subject", "decision request", "Floor", "Stored verdicts", "record_retention"}},
		{"retention", "/p/default/operations/retention", "Retention", []string{"Records of evaluations", "without limit", "There is no legal hold.", "Place a legal hold"}},
		{"usage", "/p/default/operations/usage", "Usage", []string{"No model was asked in this time."}},
		{"settings", "/operations/settings?source=set", "Settings", []string{"listen", "flag", "--listen", "OPENAI_API_KEY", "not set"}},
		{"federation", "/p/guild/federation", "Federation", []string{"example", "payments", "web <b>", "1 override", "1 weaker", "Where does a repository belong?"}},
		{"federation, nodes found", "/p/guild/federation?q=ledger", "Federation", []string{"example/payments/ledger"}},
		{"a node", "/p/guild/federation/" + ids.payments, "payments\nteam", []string{"PAY-001", "Instead of", "Weaker:", "The treasury signs them.", "example/pay-*", "Attach a rule"}},
		{"the difference of a node", "/p/guild/federation/" + ids.payments + "?view=diff", "payments\nteam", []string{"PAY-001", "instead of", "allowed by local", "two signatures"}},
		{"the nodes below a node", "/p/guild/federation/" + ids.payments + "?view=below", "payments\nteam", []string{"ledger"}},
		{"where a repository belongs", "/p/guild/federation/resolve?repository=example/pay-api", "Where a repository belongs", []string{"belongs to", "payments", "example/**"}},
		{"the form of a node", "/p/guild/federation/" + ids.web + "/edit", "Change web <b>", []string{"Parent", "Repositories", "The preview lists"}},
		{"the preview of a change", "/p/guild/federation/" + ids.web + "/detach?rule=WEB-001", "Detach WEB-001 from web <b>", []string{"Stops to hold", "WEB-001", "Detach the rule"}},
		{"no such page", "/nothing/here", "Not found", []string{"To the start"}},
	}
}

// badDiff is a change that breaks SEC-001.
const badDiff = `{"diff": "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,3 @@\n import os\n+x = eval(input())\n y = 1\n", "repository": "acme/payments", "scope": "finance/payments"}`

// badPayment is a payment that breaks FIN-001.
const badPayment = `{"facts": {"amount": 25000, "approvers": 1, "payment_id": "PMT-1"}, "scope": "finance/payments"}`

func TestScreensInABrowser(t *testing.T) {
	n := newNode(t, nil)
	n.evaluate("default", `{"facts": {"supplier": "S-1"}, "intent": "Pay the supplier"}`)
	change, payment := n.evaluate("default", badDiff), n.evaluate("default", badPayment)
	if _, err := client.Call(t.Context(), n.api, op.MeasureInsights, wire.None{}); err != nil {
		t.Fatal(err)
	}
	if _, err := client.Call(t.Context(), n.api, op.CreateProject, wire.CreateProject{ID: "guild", Name: "Guild"}); err != nil {
		t.Fatal(err)
	}
	ids := n.federate("guild")
	n.reports("till-7")
	tab := browsertest.Open(t, n.url)
	show := func(s screen) {
		t.Run(s.name, func(t *testing.T) {
			tab.Use(t)
			check := func(about string) {
				t.Helper()
				if got := tab.Text("h1"); got != s.heading {
					t.Errorf("%s: the heading is %q, want %q", about, got, s.heading)
				}
				text := browsertest.Eval[string](tab, "document.querySelector('main').textContent.replace(/\\s+/g, ' ')") // with what is folded
				for _, want := range s.shows {
					if !strings.Contains(text, want) {
						t.Errorf("%s: the page does not show %q:\n%s", about, want, text)
					}
				}
				for _, p := range tab.Problems() {
					t.Errorf("%s: %s", about, p)
				}
			}
			none := func(about string, list []string) {
				t.Helper()
				for _, one := range list {
					t.Errorf("%s: %s", about, one)
				}
			}
			tab.Open(s.path)
			check("light")
			none("light", tab.Axe())
			tab.Dark(true)
			none("dark", tab.Colours())
			tab.Dark(false)
			tab.Width(360)
			none("at 360 pixels", tab.Overflows())
			none("at 360 pixels", tab.Axe())
			tab.Width(1280)
			none("at 1280 pixels", append(tab.Overflows(), tab.Wrapped()...))
			tab.Scripts(false)
			tab.Open(s.path)
			tab.Scripts(true)
			check("without JavaScript")
		})
	}
	for _, s := range screens(change, payment, ids) {
		show(s)
	}
	for _, s := range conflictScreens(n) { // these make rules that would wait in the queue above
		show(s)
	}
	for _, s := range approvalScreens(n) { // these ask for what would wait in the queue above
		show(s)
	}
	for _, s := range releaseScreens(n) {
		show(s)
	}
	for _, s := range auditScreens(n) {
		show(s)
	}
	for _, s := range discoveryScreens(n) {
		show(s)
	}
	for _, s := range privacyScreens(n) {
		show(s)
	}
}

// TestPageWeight holds the first visit to 150 KB: the page and all that it loads.
func TestPageWeight(t *testing.T) {
	n := newNode(t, nil)
	v := n.visitor()
	for range 60 {
		n.evaluate("default", badDiff)
	}
	for _, path := range []string{"/p/default/evaluations", "/p/default/rules"} {
		a := v.get(path)
		weight := len(a.body)
		for part := range strings.SplitSeq(a.body, `"`) {
			if strings.HasPrefix(part, "/assets/") {
				loaded := v.get(part)
				if loaded.status != http.StatusOK || !strings.Contains(loaded.header.Get("Cache-Control"), "immutable") {
					t.Errorf("%s: %d, %v", part, loaded.status, loaded.header)
				}
				weight += len(loaded.body)
			}
		}
		if weight > 150<<10 {
			t.Errorf("%s weighs %d bytes with its files, want at most 150 KiB", path, weight)
		}
	}
}
