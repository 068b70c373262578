package main

import (
	"fmt"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// The people and services of Acme.
var (
	reviewers = []string{"mara.lindt", "jo.okafor"}
	requested = []string{"dana.ito", "sam.reyes", "kim.vogel", "noor.aziz", "tom.berg"}
	approvers = []string{"ana.silva", "lee.park", "ines.roux"}
	services  = map[string]string{"payments": "key:payments-api", "platform": "key:ci", "people": "key:hr-desk", "agents": "key:coding-agent"}
	agents    = []string{"coding-agent", "coding-agent", "release-bot", "ledger-assistant", "night-runner"}
)

// own returns Acme's own rules: what the starter packs do not say, in three domains, up to a number of rules in all with those of the packs.
func own(number int) []wire.RuleInput {
	var lists [3][]wire.RuleInput
	for i, c := range countries {
		limit := 20_000 - 200*(i%40)
		lists[0] = append(lists[0], demoRule(fmt.Sprintf("ACME-PAY-%03d", i+1), "treasury", "finance/payments",
			fmt.Sprintf("Payments to %s above %d need a named treasurer.", c.name, limit), rule.High, []rule.SourceRef{{Kind: "policy", URI: "https://acme.example/policies/treasury", Section: fmt.Sprintf("3.%d", i+1)}},
			&rule.Check{
				When:    fmt.Sprintf("'beneficiary_country' in facts && facts.beneficiary_country == '%s'", c.code),
				CEL:     fmt.Sprintf("facts.amount <= %d || facts.treasurer != ''", limit),
				Message: "The payment is above the limit for " + c.name + " and names no treasurer.", Fix: "Have the treasurer of the region approve it, and name that person in treasurer.",
			}, "facts", "transaction"))
	}
	for i, l := range libraries {
		lists[1] = append(lists[1], demoRule(fmt.Sprintf("ACME-ENG-%03d", i+1), "platform", "platform",
			fmt.Sprintf("Code must not import %s; use %s.", l.name, l.instead), rule.Medium, []rule.SourceRef{{Kind: "document", URI: "https://acme.example/engineering/libraries", Section: l.name}},
			&rule.Check{Pattern: &rule.Pattern{Regex: `(?:import|require|from)\b[^\n]*['" ]` + l.name + `\b`}, Message: "The code imports " + l.name + ".", Fix: "Use " + l.instead + "."}, "code_change"))
	}
	for i, e := range expenses {
		limit := 50 + 10*(i%30)
		lists[2] = append(lists[2], demoRule(fmt.Sprintf("ACME-EXP-%03d", i+1), "people", "people/expenses",
			fmt.Sprintf("Expenses for %s above %d must name the manager who approved them.", e, limit), rule.Medium, []rule.SourceRef{{Kind: "policy", URI: "https://acme.example/policies/expenses", Section: fmt.Sprintf("5.%d", i+1)}},
			&rule.Check{
				When: fmt.Sprintf("'category' in facts && facts.category == '%s'", e), CEL: fmt.Sprintf("facts.amount <= %d || facts.manager != ''", limit),
				Message: "No manager has approved the expense.", Fix: "Name the manager who approved it in manager.",
			}, "facts"))
	}
	var all []wire.RuleInput
	for i := 0; len(all) < number; i++ {
		list := lists[i%3]
		if i/3 >= len(list) {
			if i/3 >= max(len(lists[0]), len(lists[1]), len(lists[2])) {
				break
			}
			continue
		}
		all = append(all, list[i/3])
	}
	return all
}

func demoRule(slug, owner, scope, statement string, severity rule.Severity, sources []rule.SourceRef, check *rule.Check, kinds ...string) wire.RuleInput {
	return wire.RuleInput{
		Slug: &slug, Owner: &owner, Scope: []string{scope}, Statement: statement, Severity: severity, Status: rule.Effective, Tags: []string{"acme", owner}, SourceRefs: sources,
		Check: check, AppliesTo: &rule.AppliesTo{Kinds: kinds},
	}
}

// local are rules that hold at one node in the place of rules of the team above: one demands less, the other more.
func local() []wire.RuleInput {
	instead := func(slug, code, name string, limit int, severity rule.Severity) wire.RuleInput {
		return demoRule(slug, "treasury", "finance/payments", fmt.Sprintf("Payments to %s above %d need a named treasurer.", name, limit), severity,
			[]rule.SourceRef{{Kind: "policy", URI: "https://acme.example/policies/treasury", Section: "7.1"}},
			&rule.Check{
				When:    fmt.Sprintf("'beneficiary_country' in facts && facts.beneficiary_country == '%s'", code),
				CEL:     fmt.Sprintf("facts.amount <= %d || facts.treasurer != ''", limit),
				Message: "The payment is above the limit for " + name + " and names no treasurer.", Fix: "Have the treasurer of the region approve it.",
			}, "facts", "transaction")
	}
	return []wire.RuleInput{instead("ACME-REF-001", "NL", "Netherlands", 40_000, rule.Medium), instead("ACME-REF-002", "DE", "Germany", 5_000, rule.High)}
}

// projects are the nodes below the team payments.
func projects() []wire.FileNode {
	refunds, ledger := "Refunds of customers, which are small and many.", "The books."
	return []wire.FileNode{
		{
			Name: "refunds", Level: rule.LevelProject, Description: &refunds, Repositories: []string{"acme/pay-refunds", "acme/refund-desk"},
			Overrides: []wire.FileOverride{
				{Rule: "ACME-REF-001", InsteadOf: "ACME-PAY-001", AllowWeakening: true, Reason: "Refunds to the Netherlands go back to the account they came from."},
				{Rule: "ACME-REF-002", InsteadOf: "ACME-PAY-002", Reason: "The bank in Germany wants a name from 5000 on."},
			},
		},
		{Name: "ledger", Level: rule.LevelProject, Description: &ledger, Repositories: []string{"acme/pay-ledger"}},
	}
}

// below returns a node with nodes below it.
func below(n wire.FileNode, children []wire.FileNode) wire.FileNode {
	n.Children = children
	return n
}

// waiting are rules that people have yet to decide about: some to be approved, some that contradict another.
func waiting() []wire.RuleInput {
	text := func(slug, owner, statement string, status rule.Status) wire.RuleInput {
		return wire.RuleInput{Slug: &slug, Owner: &owner, Statement: statement, Status: status, Severity: rule.Medium, Scope: []string{owner + "/drafts"}, Tags: []string{"acme"}}
	}
	return []wire.RuleInput{
		text("ACME-NEW-001", "treasury", "Invoices must be paid within 14 days.", rule.Effective),
		text("ACME-NEW-002", "treasury", "Invoices must be paid in at most 30 days.", rule.Review),
		text("ACME-NEW-003", "people", "Access logs must be kept for 90 days.", rule.Effective),
		text("ACME-NEW-004", "platform", "Access logs must be kept for 30 days.", rule.Review),
		text("ACME-NEW-005", "platform", "Backups must be encrypted.", rule.Effective),
		text("ACME-NEW-006", "platform", "Backups must not be encrypted.", rule.Draft),
		text("ACME-NEW-007", "treasury", "Refunds above 500 need the approval of the shift lead.", rule.Review),
		text("ACME-NEW-008", "people", "Interview notes must be deleted six months after the decision.", rule.Review),
		text("ACME-NEW-009", "platform", "Releases on Fridays need the approval of the engineer on call.", rule.Review),
		text("ACME-NEW-010", "treasury", "Supplier contracts above 50000 need two quotes.", rule.Draft),
		text("ACME-NEW-011", "people", "Contractors get no access to payroll.", rule.Review),
		text("ACME-NEW-012", "platform", "Public endpoints must have a rate limit.", rule.Review),
	}
}

var countries = func() []struct{ code, name string } {
	const list = "NL Netherlands|DE Germany|FR France|US United States|JP Japan|GB United Kingdom|ES Spain|IT Italy|PL Poland|SE Sweden|DK Denmark|NO Norway|FI Finland|" +
		"BE Belgium|AT Austria|CH Switzerland|PT Portugal|IE Ireland|CZ Czechia|HU Hungary|RO Romania|BG Bulgaria|GR Greece|HR Croatia|SI Slovenia|SK Slovakia|LT Lithuania|" +
		"LV Latvia|EE Estonia|LU Luxembourg|MT Malta|CY Cyprus|IS Iceland|CA Canada|MX Mexico|BR Brazil|AR Argentina|CL Chile|CO Colombia|PE Peru|AU Australia|NZ New Zealand|" +
		"SG Singapore|KR South Korea|TW Taiwan|TH Thailand|MY Malaysia|ID Indonesia|PH Philippines|VN Vietnam|IN India|ZA South Africa|KE Kenya|GH Ghana|MA Morocco|EG Egypt|" +
		"TR Turkey|IL Israel|AE United Arab Emirates|SA Saudi Arabia|UY Uruguay|CR Costa Rica|PA Panama|EC Ecuador|JO Jordan|QA Qatar|KZ Kazakhstan|GE Georgia"
	var all []struct{ code, name string }
	for _, c := range split(list) {
		all = append(all, struct{ code, name string }{c[:2], c[3:]})
	}
	return all
}()

var libraries = func() []struct{ name, instead string } {
	const list = "moment=date-fns|request=fetch|left-pad=padStart|underscore=the standard library|jquery=the DOM|bluebird=promises|q=promises|async=promises|lodash=the standard library|" +
		"node-uuid=crypto.randomUUID|colors=chalk|faker=our fixtures|event-stream=streams|xmldom=saxes|node-fetch=fetch|axios=fetch|superagent=fetch|winston=our logger|bunyan=our logger|" +
		"pickle=json|telnetlib=ssh|ftplib=sftp|imp=importlib|optparse=argparse|nose=pytest|mock=unittest.mock|simplejson=json|pycrypto=cryptography|md5=hashlib|crypt=argon2|" +
		"distutils=setuptools|asyncore=asyncio|smtpd=our mail service|xmlrpclib=our client|urllib2=httpx|httplib2=httpx|requests_ntlm=single sign-on|ujson=json|pytz=zoneinfo|dateutil=datetime|" +
		"logrus=log/slog|glog=log/slog|pkg_errors=errors|gorilla=net/http|negroni=net/http|martini=net/http|gorm=our store|dgrijalva=golang-jwt|satori=google/uuid|codegangsta=kong|" +
		"boltdb=bbolt|ioutil=os|context_x=context|mgo=our store|redigo=our cache|sarama=our queue|cobra_old=kong|viper_old=our settings|hystrix=our client|statsd=Prometheus|" +
		"opentracing=OpenTelemetry|jaeger_client=OpenTelemetry|zipkin=OpenTelemetry|raven=our reporter|newrelic=OpenTelemetry|segment=our events|mixpanel=our events|amplitude=our events"
	var all []struct{ name, instead string }
	for _, l := range split(list) {
		for i := range l {
			if l[i] == '=' {
				all = append(all, struct{ name, instead string }{l[:i], l[i+1:]})
				break
			}
		}
	}
	return all
}()

var expenses = split("taxi|train|flight|hotel|dinner|lunch|conference|training|books|software|hardware|phone|parking|fuel|gifts|flowers|postage|printing|stationery|coworking|internet|" +
	"furniture|monitor|headset|keyboard|camera|catering|venue|speaker|translation|visa|passport|vaccination|insurance|laundry|tips|tolls|ferry|car rental|bicycle|relocation|moving|" +
	"storage|courier|membership|subscription|certification|exam|coaching|therapy|sports|team event|offsite|hackathon|prizes|swag|samples|tools|safety shoes|uniform|batteries|cables|" +
	"adapters|chargers|backup drive|domain names|hosting|advertising")
