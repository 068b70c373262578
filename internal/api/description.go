package api

import (
	"fmt"
	"io"
	"reflect"

	"github.com/danielgtaylor/huma/v2"

	"tenet/internal/agent"
	"tenet/internal/audit"
	"tenet/internal/catalog"
	"tenet/internal/conflict"
	"tenet/internal/document"
	"tenet/internal/evaluate"
	"tenet/internal/judge"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/search"
	"tenet/internal/subject"
)

const about = `Tenet keeps an organisation's rules in one governed corpus and answers, per rule and with evidence, whether a change, a
payment or an agent's next action keeps them.

Errors are application/problem+json (RFC 9457) with a code and the fields that are wrong. Unknown fields and parameters are
refused. Send a key as Authorization: Bearer or as X-API-Key; each key has a role (viewer, evaluator, reviewer, admin; each may
do what those before it may) in one project or in all.`

// names gives schemas a name where the type's own would not tell what it is.
var names = map[reflect.Type]string{
	reflect.TypeFor[agent.Answer]():              "AgentAnswer",
	reflect.TypeFor[agent.Failure]():             "AgentFailure",
	reflect.TypeFor[agent.AskResult]():           "AgentAskResult",
	reflect.TypeFor[agent.CheckResult]():         "AgentCheckResult",
	reflect.TypeFor[agent.AuthorResult]():        "AgentAuthorResult",
	reflect.TypeFor[agent.ReviewResult]():        "AgentReviewResult",
	reflect.TypeFor[agent.Sentence]():            "AgentSentence",
	reflect.TypeFor[agent.Citation]():            "AgentCitation",
	reflect.TypeFor[agent.Draft]():               "RuleDraft",
	reflect.TypeFor[agent.DraftCase]():           "RuleDraftCase",
	reflect.TypeFor[agent.Comment]():             "ReviewComment",
	reflect.TypeFor[catalog.Input]():             "RuleInput",
	reflect.TypeFor[catalog.InputRelationship](): "RelationshipInput",
	reflect.TypeFor[catalog.File]():              "RuleFile",
	reflect.TypeFor[evaluate.Summary]():          "EvaluationSummary",
	reflect.TypeFor[evaluate.Record]():           "EvaluationRecord",
	reflect.TypeFor[audit.Report]():              "AuditReport",
	reflect.TypeFor[audit.Problem]():             "AuditProblem",
	reflect.TypeFor[judge.Call]():                "ModelCall",
	reflect.TypeFor[judge.Reused]():              "ReusedVerdict",
	reflect.TypeFor[subject.Input]():             "RecordedSubject",
	reflect.TypeFor[RuleSearch]():                "RuleSearchPage",
	reflect.TypeFor[search.Item]():               "RuleSearchItem",
	reflect.TypeFor[search.Conflict]():           "RuleConflict",
	reflect.TypeFor[search.Status]():             "SearchStatus",
	reflect.TypeFor[conflict.Side]():             "ConflictSide",
	reflect.TypeFor[Page[conflict.Conflict]]():   "ConflictPage",
	reflect.TypeFor[DocumentSearch]():            "DocumentSearchPage",
	reflect.TypeFor[document.Item]():             "DocumentSearchItem",
	reflect.TypeFor[document.Highlight]():        "DocumentHighlight",
	reflect.TypeFor[document.Degraded]():         "DocumentDegraded",
	reflect.TypeFor[Page[document.Document]]():   "DocumentPage",
	reflect.TypeFor[evaluate.Submission]():       "SubmissionState",
	reflect.TypeFor[evaluate.Failure]():          "SubmissionFailure",
	reflect.TypeFor[rule.FieldError]():           "SubmissionFieldError",
	reflect.TypeFor[redact.Found]():              "Redaction",
	reflect.TypeFor[judge.Reused]():              "ReusedVerdict",
	reflect.TypeFor[evaluate.Quality]():          "RuleQuality",
	reflect.TypeFor[evaluate.Tally]():            "RuleTally",
	reflect.TypeFor[rule.Rate]():                 "RuleRate",
	reflect.TypeFor[evaluate.Confidence]():       "RuleConfidence",
	reflect.TypeFor[Page[rule.Rule]]():           "RulePage",
	reflect.TypeFor[Page[rule.Relationship]]():   "RelationshipPage",
	reflect.TypeFor[Page[rule.Project]]():        "ProjectPage",
	reflect.TypeFor[Page[evaluate.Summary]]():    "EvaluationPage",
	reflect.TypeFor[Page[Key]]():                 "KeyPage",
}

func schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name, ok := names[t]; ok {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}

// description begins the API description, to which the routes add themselves.
func description(s *server) huma.Config {
	format := huma.Format{
		Marshal: func(w io.Writer, v any) error {
			encode(w, v)
			return nil
		},
		Unmarshal: func([]byte, any) error { return fmt.Errorf("bodies are not read here") },
	}
	return huma.Config{
		OpenAPI: &huma.OpenAPI{
			OpenAPI: "3.1.0",
			Info: &huma.Info{
				Title: "Tenet", Version: s.cfg.Version, Description: about,
				License: &huma.License{Name: "Apache-2.0", Identifier: "Apache-2.0"},
			},
			Components: &huma.Components{
				Schemas: huma.NewMapRegistry("#/components/schemas/", schemaName),
				SecuritySchemes: map[string]*huma.SecurityScheme{
					"bearer": {Type: "http", Scheme: "bearer", Description: "An API key (tnt_...)."},
					"apiKey": {Type: "apiKey", In: "header", Name: "X-API-Key", Description: "An API key (tnt_...)."},
				},
			},
			Tags: []*huma.Tag{
				{Name: evaluateTag, Description: "Ask whether something keeps the rules, and read what was answered."},
				{Name: ruleTag, Description: "The corpus: rules, their versions, relationships, import and export."},
				{Name: conflictTag, Description: "Rules that contradict each other, as they are found, and what people decide on them."},
				{Name: documentTag, Description: "Policies, standards and other files that rules come from, and the searches over them."},
				{Name: searchTag, Description: "Find rules: by words, by meaning, by what they are, and by whom or what they concern."},
				{Name: federationTag, Description: "What rules hold where in an organization: inherited from above, added and overridden below."},
				{Name: agentTag, Description: "Ask in plain words: questions about the rules, actions to check, changes to review, rules to draft."},
				{Name: projectTag, Description: "Tenants. There is always a project default."},
				{Name: keyTag, Description: "API keys. Without any, the server answers the local user alone."},
				{Name: cacheTag, Description: "Verdicts of the judge that are kept, so that what did not change is not judged again."},
				{Name: auditTag, Description: "The hash chain of everything that happened in a project."},
			},
		},
		Formats:       map[string]huma.Format{jsonType: format, "json": format}, // json stands for +json
		DefaultFormat: jsonType,
		Transformers:  []huma.Transformer{s.humaProblem},
	}
}
