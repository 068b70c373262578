// Package api serves Tenet over HTTP: one small struct per resource, in front of the capabilities that it needs. The
// frame that all resources share is package rest.
package api

import (
	"reflect"

	"tenet/internal/api/rest"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Tags of the API description, which group the operations.
const (
	evaluateTag   = "Evaluation"
	ruleTag       = "Rules"
	conflictTag   = "Conflicts"
	documentTag   = "Documents"
	searchTag     = "Search"
	federationTag = "Federation"
	agentTag      = "Agents"
	actingTag     = "Acting agents"
	projectTag    = "Projects"
	keyTag        = "Keys"
	cacheTag      = "Cache"
	auditTag      = "Audit"
	sandboxTag    = "Sandbox"
	webhookTag    = "Webhooks"
	jobTag        = "Jobs"
	releaseTag    = "Releases"
	discoverTag   = "Discovery"
	insightTag    = "Insights"
	alertTag      = "Alerts"
	waiverTag     = "Waivers"
	retentionTag  = "Retention"
	privacyTag    = "Privacy"
	approvalTag   = "Approvals"
	queueTag      = "Queue"
	operationsTag = "Operations"
)

const about = `Tenet keeps an organisation's rules in one governed corpus and answers, per rule and with evidence, whether a change, a
payment or an agent's next action keeps them.

Errors are application/problem+json (RFC 9457) with a code and the fields that are wrong. Unknown fields and parameters are
refused. Send a key as Authorization: Bearer or as X-API-Key; each key has a role (viewer, evaluator, reviewer, admin; each may
do what those before it may) in one project or in all.

Every answer of an edge has its bundle in Tenet-Bundle, and in Tenet-Bundle-Age the seconds since a server vouched for it.`

// Description is the head of the API description of a version of the program.
func Description(version string) rest.Description {
	return rest.Description{
		Info: rest.Info{
			Title: "Tenet", Version: version, Description: about, License: rest.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
		},
		Tags: []rest.Tag{
			{Name: evaluateTag, Description: "Evaluate changes, payments and actions against the rules, and read the records."},
			{Name: ruleTag, Description: "The corpus: rules, their versions, relationships, import and export."},
			{Name: conflictTag, Description: "Rules that contradict each other, and the decisions on them."},
			{Name: queueTag, Description: "What waits for a person, over all projects: list it, decide, assign, put aside."},
			{Name: operationsTag, Description: "The servers of the cluster, what models are asked and cost, and the settings in force."},
			{Name: documentTag, Description: "Policies, standards and other sources of rules, and the searches over them."},
			{Name: searchTag, Description: "Find rules by words, meaning, fields, time, source, person or conflict."},
			{Name: federationTag, Description: "The rules that apply at each node of an organization: inherited from above, added and overridden below."},
			{Name: agentTag, Description: "Ask in plain words: questions on the rules, actions to check, changes to review, rules to draft."},
			{Name: actingTag, Description: "The agents that act for people and ask for evaluations: list, suspend and resume them."},
			{Name: projectTag, Description: "Tenants. The project default always exists."},
			{Name: keyTag, Description: "API keys. Without any, the server answers the local user alone."},
			{Name: cacheTag, Description: "Stored verdicts of the judge, reused for unchanged subjects and rules."},
			{Name: auditTag, Description: "The hash chain of all events in a project."},
			{Name: sandboxTag, Description: "Try rules before they hold: the playground, test cases and runs of them."},
			{Name: webhookTag, Description: "Send events to other systems, and take in theirs: policies, deliveries, secrets, signed requests."},
			{Name: jobTag, Description: "Background work: list it, follow it, cancel it, run it again."},
			{Name: releaseTag, Description: "Snapshots of the rules: compare, simulate, approve, deploy to environments, roll back."},
			{Name: discoverTag, Description: "Find rules in files that exist already; a person decides what becomes one."},
			{Name: insightTag, Description: "What the rules do: verdicts over time, what denies most, what is dormant or unwell, by project and node."},
			{Name: alertTag, Description: "What needs attention: list it, acknowledge it, resolve it."},
			{Name: retentionTag, Description: "How long records are kept, and legal holds, under which no job deletes them."},
			{Name: privacyTag, Description: "Personal data in records, encrypted under a key of each person, and their removal for good."},
			{Name: waiverTag, Description: "Let a denial pass until a date, with a reason and an approver."},
			{Name: approvalTag, Description: "Ask people for the confirmation that a verdict needs, wait for it, decide."},
		},
		Examples: requestExamples(),
		Names: map[reflect.Type]string{
			reflect.TypeFor[rule.Approval]():                     "ActionApproval",
			reflect.TypeFor[wire.AgentList]():                    "ListOutputBody",
			reflect.TypeFor[wire.Page[wire.Document]]():          "DocumentPage",
			reflect.TypeFor[rule.FieldError]():                   "SubmissionFieldError",
			reflect.TypeFor[rule.Rate]():                         "RuleRate",
			reflect.TypeFor[wire.Page[rule.Rule]]():              "RulePage",
			reflect.TypeFor[wire.Page[rule.Relationship]]():      "RelationshipPage",
			reflect.TypeFor[wire.Page[rule.Project]]():           "ProjectPage",
			reflect.TypeFor[wire.Page[wire.EvaluationSummary]](): "EvaluationPage",
			reflect.TypeFor[wire.Page[wire.Key]]():               "KeyPage",
		},
	}
}
