// Package op lists the operations of the HTTP API: the method and the path of each, the body that it takes and the answer that it gives.
package op

import (
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"time"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// Op is an operation that takes an In as its body and answers with an Out. [wire.None] means no body, []byte one that is not JSON.
type Op[In, Out any] struct {
	Method, Path string
	// Again is true if clients may send it again although the server may have carried it out.
	Again bool
	// Anywhere is true if it does not concern one project.
	Anywhere bool
	// Large is true if its answer may have hundreds of megabytes.
	Large bool
	// Query and Header are those of one call.
	Query  url.Values
	Header http.Header
}

func get[Out any](path string) Op[wire.None, Out] {
	return Op[wire.None, Out]{Method: http.MethodGet, Path: path, Again: true}
}

func post[In, Out any](path string) Op[In, Out] {
	return Op[In, Out]{Method: http.MethodPost, Path: path}
}

func put[In, Out any](path string) Op[In, Out] {
	return Op[In, Out]{Method: http.MethodPut, Path: path}
}

func patch[In, Out any](path string) Op[In, Out] {
	return Op[In, Out]{Method: http.MethodPatch, Path: path}
}

func remove[Out any](path string) Op[wire.None, Out] {
	return Op[wire.None, Out]{Method: http.MethodDelete, Path: path}
}

func (o Op[In, Out]) again() Op[In, Out] {
	o.Again = true
	return o
}

func (o Op[In, Out]) anywhere() Op[In, Out] {
	o.Anywhere = true
	return o
}

func (o Op[In, Out]) large() Op[In, Out] {
	o.Large = true
	return o
}

// Route returns the method and the path, as the server's mux takes them.
func (o Op[In, Out]) Route() string { return o.Method + " " + o.Path }

// At returns the operation with the parameters of its path filled in, escaped.
func (o Op[In, Out]) At(parameters ...string) Op[In, Out] {
	for _, p := range parameters {
		before, rest, _ := strings.Cut(o.Path, "{")
		_, after, _ := strings.Cut(rest, "}")
		o.Path = before + url.PathEscape(p) + after
	}
	return o
}

// Where returns the operation with the fields of structs in its query: those that have the tag query and are not zero. Times are sent
// in UTC.
func (o Op[In, Out]) Where(filters ...any) Op[In, Out] {
	query := url.Values{}
	maps.Copy(query, o.Query)
	for _, f := range filters {
		add(query, reflect.ValueOf(f))
	}
	o.Query = query
	return o
}

func add(query url.Values, filter reflect.Value) {
	for field, v := range filter.Fields() {
		name := field.Tag.Get("query")
		switch {
		case field.Anonymous:
			add(query, v)
		case name == "" || v.IsZero():
		case v.Kind() == reflect.Slice:
			for i := range v.Len() {
				query.Add(name, v.Index(i).String())
			}
		default:
			query.Set(name, text(v.Interface()))
		}
	}
}

func text(v any) string {
	switch v := v.(type) {
	case *time.Time:
		return text(*v)
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return fmt.Sprint(v)
}

// With returns the operation with a header, unless the value is empty.
func (o Op[In, Out]) With(header, value string) Op[In, Out] {
	if value != "" {
		o.Header = o.Header.Clone()
		if o.Header == nil {
			o.Header = http.Header{}
		}
		o.Header.Set(header, value)
	}
	return o
}

// IfMatch returns the operation for one version of what it changes; 0 is any.
func (o Op[In, Out]) IfMatch(version int) Op[In, Out] {
	if version == 0 {
		return o
	}
	return o.With("If-Match", strconv.Quote(strconv.Itoa(version)))
}

// later asks for an answer before the work is done.
func (o Op[In, Out]) later() Op[In, Out] { return o.With("Prefer", "respond-async") }

// Evaluations.
var (
	Evaluate         = post[any, rule.Evaluation]("/api/v1/evaluate").again()
	EvaluateQuick    = post[wire.QuickRequest, rule.Evaluation]("/api/v1/evaluate/quick").again()
	ApplicableRules  = post[wire.ApplicableRequest, []rule.Rule]("/api/v1/evaluate/applicable-rules").again()
	ExplainRules     = post[wire.ExplainRequest, wire.ExplainedRules]("/api/v1/evaluate/applicable-rules/explain").again()
	ListFacts        = get[wire.FactList]("/api/v1/evaluate/facts")
	Submit           = post[any, wire.SubmissionAnswer]("/api/v1/submissions").again()
	SubmitLater      = post[any, wire.SubmissionState]("/api/v1/submissions").again().later()
	GetSubmission    = get[wire.SubmissionState]("/api/v1/submissions/{id}")
	ListEvaluations  = get[wire.EvaluationPage]("/api/v1/evaluations")
	ProveEvaluation  = get[[]byte]("/api/v1/evaluations/{id}/proof").large()
	GetEvaluation    = get[wire.EvaluationRecord]("/api/v1/evaluations/{id}")
	ListViolations   = get[wire.Violations]("/api/v1/violations")
	ReplayEvaluation = post[wire.ReplayRequest, wire.Replay]("/api/v1/evaluations/{id}/replay").again()
	GiveFeedback     = post[wire.FeedbackRequest, wire.Feedback]("/api/v1/evaluations/{id}/feedback").again()
	ListFeedback     = get[wire.FeedbackList]("/api/v1/evaluations/{id}/feedback")
	KeepEvaluation   = post[wire.KeepEvaluation, wire.Case]("/api/v1/evaluations/{id}/test-cases")
)

// Rules.
var (
	ListRules          = get[wire.Page[rule.Rule]]("/api/v1/rules")
	CreateRule         = post[wire.CreateRule, rule.Rule]("/api/v1/rules")
	SimilarRules       = post[wire.SimilarRequest, wire.SimilarRules]("/api/v1/rules/similar").again()
	GetRule            = get[rule.Rule]("/api/v1/rules/{id}")
	ReviseRule         = patch[map[string]any, rule.Rule]("/api/v1/rules/{id}")
	PreviewRevision    = post[wire.PreviewRevision, wire.RevisionPreview]("/api/v1/rules/{id}/preview").again()
	TransitionRule     = post[wire.Transition, rule.Rule]("/api/v1/rules/{id}/transitions")
	RetireRule         = remove[wire.None]("/api/v1/rules/{id}")
	ListRuleVersions   = get[wire.Page[rule.Rule]]("/api/v1/rules/{id}/versions")
	GetRuleVersion     = get[rule.Rule]("/api/v1/rules/{id}/versions/{n}")
	ListRevisions      = get[wire.Page[wire.RevisionDetail]]("/api/v1/rules/pending")
	ListRuleRevisions  = get[wire.Page[wire.RevisionDetail]]("/api/v1/rules/{id}/pending")
	ApproveRevision    = post[wire.DecideRevision, rule.Rule]("/api/v1/rules/{id}/pending/{n}/approve")
	RejectRevision     = post[wire.DecideRevision, rule.Revision]("/api/v1/rules/{id}/pending/{n}/reject")
	WithdrawRevision   = post[wire.DecideRevision, rule.Revision]("/api/v1/rules/{id}/pending/{n}/withdraw")
	ImportRules        = post[*wire.RuleFile, rule.ImportResult]("/api/v1/rules/import")
	ExportRules        = get[[]byte]("/api/v1/rules/export").large()
	ListRelationships  = get[wire.Page[rule.Relationship]]("/api/v1/rules/{id}/relationships")
	CreateRelationship = post[wire.RelationshipInput, rule.Relationship]("/api/v1/rules/{id}/relationships")
	DeleteRelationship = remove[wire.None]("/api/v1/rules/{id}/relationships/{relationship_id}")
	ListRuleNodes      = get[wire.RuleNodes]("/api/v1/rules/{id}/nodes")
	RuleQuality        = get[wire.RuleQuality]("/api/v1/rules/{id}/quality")
	RuleHealth         = get[wire.Health]("/api/v1/rules/{id}/health")
)

// Test cases and the playground.
var (
	ListTestCases      = get[[]wire.Case]("/api/v1/rules/{id}/test-cases")
	CreateTestCase     = post[wire.CreateTestCase, wire.Case]("/api/v1/rules/{id}/test-cases")
	DeleteTestCase     = remove[wire.None]("/api/v1/rules/{id}/test-cases/{case_id}")
	ConfirmTestCase    = post[wire.None, wire.Case]("/api/v1/rules/{id}/test-cases/{case_id}/confirm")
	RunTestCases       = post[wire.None, wire.Report]("/api/v1/rules/{id}/test-cases/run").again()
	GenerateTestCases  = post[wire.GenerateCases, []wire.Case]("/api/v1/rules/{id}/test-cases/generate")
	ProposeCheck       = post[wire.None, wire.Proposals]("/api/v1/rules/{id}/check/propose")
	StartTestRun       = post[wire.RunFilter, wire.TestRun]("/api/v1/test-runs")
	GetTestRun         = get[wire.TestRun]("/api/v1/test-runs/{run_id}")
	PlaygroundEvaluate = post[wire.PlaygroundRequest, wire.PlaygroundAnswer]("/api/v1/playground/evaluate").again()
)

// Search.
var (
	SearchFulltext = post[any, wire.RuleSearchPage]("/api/v1/search/fulltext").again()
	SearchVector   = post[any, wire.RuleSearchPage]("/api/v1/search/vector").again()
	SearchHybrid   = post[any, wire.RuleSearchPage]("/api/v1/search/hybrid").again()
	SearchCategory = post[wire.CategoryRequest, wire.RuleSearchPage]("/api/v1/search/category").again()
	SearchContext  = post[wire.ContextRequest, wire.RuleSearchPage]("/api/v1/search/context").again()
	SearchTemporal = post[wire.None, wire.RuleSearchPage]("/api/v1/search/temporal").again()
	SearchCitation = post[wire.None, wire.RuleSearchPage]("/api/v1/search/citation").again()
	SearchSubject  = post[wire.None, wire.RuleSearchPage]("/api/v1/search/subject").again()
	SearchConflict = post[wire.None, wire.RuleConflicts]("/api/v1/search/conflict").again()
	SearchStatus   = get[wire.SearchStatus]("/api/v1/search/status")
	SearchBox      = get[wire.FoundRules]("/api/v1/search")
)

// Documents.
var (
	UploadDocument          = post[[]byte, wire.Document]("/api/v1/documents")
	ListDocuments           = get[wire.Page[wire.Document]]("/api/v1/documents")
	GetDocument             = get[wire.Document]("/api/v1/documents/{id}")
	GetDocumentContent      = get[[]byte]("/api/v1/documents/{id}/content").large()
	DeleteDocument          = remove[wire.None]("/api/v1/documents/{id}")
	SearchDocuments         = post[wire.RelationalRequest, wire.DocumentSearchPage]("/api/v1/search/documents").again()
	SearchDocumentsFulltext = post[wire.DocumentRequest, wire.DocumentSearchPage]("/api/v1/search/documents/fulltext").again()
	SearchDocumentsVector   = post[wire.DocumentRequest, wire.DocumentSearchPage]("/api/v1/search/documents/vector").again()
	SearchDocumentsHybrid   = post[wire.DocumentRequest, wire.DocumentSearchPage]("/api/v1/search/documents/hybrid").again()
	SearchBySourceDocument  = post[wire.BySourceRequest, wire.SourcedRules]("/api/v1/search/by-source-document").again()
)

// Discovery.
var (
	StartScan         = post[wire.ScanRequest, wire.Scan]("/api/v1/discover/scan")
	ExtractRules      = post[wire.None, wire.Scan]("/api/v1/documents/{id}/extract")
	ListScans         = get[wire.Page[wire.Scan]]("/api/v1/discover/scans")
	GetScan           = get[wire.Scan]("/api/v1/discover/scans/{scan_id}")
	ListCandidates    = get[wire.Candidates]("/api/v1/discover/scans/{scan_id}/candidates")
	GetCandidate      = get[wire.CandidateDetail]("/api/v1/discover/candidates/{candidate_id}")
	ScanArchive       = post[[]byte, wire.Scan]("/api/v1/discover/scan/archive")
	ListScanFiles     = get[wire.Page[wire.ScanFile]]("/api/v1/discover/scans/{scan_id}/files")
	MergeCandidate    = post[wire.MergeCandidate, wire.Decided]("/api/v1/discover/candidates/{candidate_id}/merge")
	ReopenCandidate   = post[wire.None, wire.Decided]("/api/v1/discover/candidates/{candidate_id}/reopen")
	GetReliability    = get[wire.Reliability]("/api/v1/discover/reliability")
	ListExclusions    = get[wire.Page[wire.Exclusion]]("/api/v1/discover/exclusions")
	CreateExclusion   = post[wire.CreateExclusion, wire.ExclusionMade]("/api/v1/discover/exclusions")
	DeleteExclusion   = remove[wire.Lifted]("/api/v1/discover/exclusions/{exclusion_id}")
	ApproveCandidate  = post[wire.CandidateApproval, wire.Decided]("/api/v1/discover/candidates/{candidate_id}/approve")
	DismissCandidate  = post[wire.DismissCandidate, wire.Decided]("/api/v1/discover/candidates/{candidate_id}/dismiss")
	ApproveCandidates = post[wire.ApproveCandidates, wire.Bulk]("/api/v1/discover/scans/{scan_id}/candidates/approve")
	DismissCandidates = post[wire.DismissCandidates, wire.Bulk]("/api/v1/discover/scans/{scan_id}/candidates/dismiss")
)

// Federation.
var (
	ListNodes      = get[wire.NodeTree]("/api/v1/federations").large()
	CreateNode     = post[wire.CreateNode, wire.ChangedNode]("/api/v1/federations")
	PreviewNodes   = post[wire.PreviewNodes, wire.PreviewedNodes]("/api/v1/federations/preview")
	FindNodes      = get[wire.Page[wire.NodeSummary]]("/api/v1/federations/nodes")
	ResolveNode    = get[wire.ResolvedRepository]("/api/v1/federations/resolve")
	GetNode        = get[wire.NodeDetail]("/api/v1/federations/{node_id}")
	ChangeNode     = patch[map[string]any, wire.ChangedNode]("/api/v1/federations/{node_id}")
	DeleteNode     = remove[wire.None]("/api/v1/federations/{node_id}")
	AttachRule     = post[wire.AttachRule, wire.Attached]("/api/v1/federations/{node_id}/rules")
	ListNodeRules  = get[wire.Page[wire.HeldRule]]("/api/v1/federations/{node_id}/rules")
	DetachRule     = remove[wire.None]("/api/v1/federations/{node_id}/rules/{rule_id}")
	EffectiveRules = get[wire.EffectiveRules]("/api/v1/federations/{node_id}/effective-rules").large()
	DiffNode       = get[wire.FederationDiff]("/api/v1/federations/{node_id}/diff")
)

// Releases.
var (
	CreateSnapshot   = post[wire.CreateSnapshot, wire.Snapshot]("/api/v1/snapshots")
	ListSnapshots    = get[wire.Snapshots]("/api/v1/snapshots")
	GetSnapshot      = get[wire.Snapshot]("/api/v1/snapshots/{snapshot_id}")
	DiffSnapshots    = get[wire.Difference]("/api/v1/snapshots/{snapshot_id}/diff/{other_id}")
	VerifySnapshot   = post[wire.None, wire.Verification]("/api/v1/snapshots/{snapshot_id}/verify").again()
	SimulateSnapshot = post[wire.SimulateSnapshot, wire.Simulation]("/api/v1/snapshots/{snapshot_id}/simulate")
	StartSimulation  = post[wire.SimulateSnapshot, wire.SimulationRun]("/api/v1/snapshots/{snapshot_id}/simulate").later()
	ListSimulations  = get[wire.Page[wire.SimulationRun]]("/api/v1/simulations")
	ListEnvironments = get[[]wire.EnvironmentSummary]("/api/v1/environments")
	ListSteps        = get[wire.Page[wire.HistoryEntry]]("/api/v1/deployments")
	GetSimulation    = get[wire.SimulationRun]("/api/v1/simulations/{simulation_id}")
	DeploySnapshot   = post[wire.DeploySnapshot, wire.Deployment]("/api/v1/snapshots/{snapshot_id}/deploy")
	RollbackSnapshot = post[wire.RollbackSnapshot, wire.RolledBack]("/api/v1/snapshots/{snapshot_id}/rollback")
	ListDeployments  = get[[]wire.ActiveDeployment]("/api/v1/snapshots/deployments")
	GetEnvironment   = get[wire.EnvironmentState]("/api/v1/snapshots/deployments/{environment}")
	GetGates         = get[wire.Gates]("/api/v1/environments/{environment}/gates")
	SetGates         = put[wire.Gates, wire.Gates]("/api/v1/environments/{environment}/gates")
	CheckGates       = get[[]wire.GateResult]("/api/v1/environments/{environment}/gates/{snapshot_id}")
	ApproveSnapshot  = post[wire.ApproveSnapshot, wire.Approval]("/api/v1/snapshots/{snapshot_id}/approvals")
)

// Alerts, insights and conflicts.
var (
	ListAlerts       = get[wire.Alerts]("/api/v1/alerts")
	GetAlert         = get[rule.Alert]("/api/v1/alerts/{alert_id}")
	AcknowledgeAlert = post[wire.None, rule.Alert]("/api/v1/alerts/{alert_id}/acknowledge").again()
	ResolveAlert     = post[wire.ResolveAlert, rule.Alert]("/api/v1/alerts/{alert_id}/resolve").again()
	GetInsights      = get[wire.Overview]("/api/v1/insights")
	MeasureInsights  = post[wire.None, wire.MeasuredNow]("/api/v1/insights/measure").again()
	MeasuredRules    = get[wire.MeasuredPage]("/api/v1/insights/rules")
	GetReport        = get[wire.MonthReport]("/api/v1/insights/report")
	ListRepositories = get[wire.Page[wire.RepositoryFigure]]("/api/v1/insights/repositories")
	GetSamples       = get[wire.Samples]("/api/v1/insights/samples")
	ListUnjudged     = get[wire.Page[wire.UnjudgedRepository]]("/api/v1/insights/repositories/unjudged")
	InsightProjects  = get[wire.Page[wire.ProjectFigure]]("/api/v1/insights/projects").anywhere()
	ListConflicts    = get[wire.ConflictPage]("/api/v1/conflicts")
	GetConflict      = get[wire.Conflict]("/api/v1/conflicts/{id}")
	ConfirmConflict  = post[wire.DecideConflict, wire.Conflict]("/api/v1/conflicts/{id}/confirm").again()
	RejectConflict   = post[wire.DecideConflict, wire.Conflict]("/api/v1/conflicts/{id}/reject").again()
	MendConflict     = post[wire.MendConflict, wire.MendedConflict]("/api/v1/conflicts/{id}/mend")
	ScanConflicts    = post[wire.ScanConflicts, wire.Job]("/api/v1/conflicts/scan")
)

// Queue.
var (
	ListQueue   = get[wire.Queue]("/api/v1/queue")
	DecideQueue = post[wire.DecideQueue, wire.QueueDecided]("/api/v1/queue/decisions")
	MarkQueue   = post[wire.MarkQueue, wire.QueueDecided]("/api/v1/queue/marks").again()
)

// Approvals.
var (
	CreateApproval   = post[wire.CreateApproval, rule.Approval]("/api/v1/approvals")
	ListApprovals    = get[wire.ApprovalPage]("/api/v1/approvals")
	GetApproval      = get[wire.ApprovalDetail]("/api/v1/approvals/{id}")
	ApproveApproval  = post[wire.DecideApproval, rule.Approval]("/api/v1/approvals/{id}/approve")
	RejectApproval   = post[wire.DecideApproval, rule.Approval]("/api/v1/approvals/{id}/reject")
	WithdrawApproval = post[wire.DecideApproval, rule.Approval]("/api/v1/approvals/{id}/withdraw")
)

// Edges.
var (
	ListFleet       = get[wire.Fleet]("/api/v1/fleet")
	GetEdge         = get[wire.FleetEdge]("/api/v1/fleet/{edge}")
	ChangeEdge      = patch[wire.ChangeEdge, wire.FleetEdge]("/api/v1/fleet/{edge}")
	ForgetEdge      = remove[wire.None]("/api/v1/fleet/{edge}")
	ReportEdge      = post[wire.EdgeReport, wire.EdgeOrders]("/api/v1/fleet/{edge}/reports").again()
	SendEdgeRecords = post[wire.EdgeRecords, wire.AuditHead]("/api/v1/fleet/{edge}/records").again()
)

// Bundles.
var (
	GetBundle      = get[[]byte]("/api/v1/bundles/{environment}").large()
	DescribeBundle = get[wire.BundleInfo]("/api/v1/bundles/{environment}/info")
)

// Retention and legal holds.
var (
	GetRetention      = get[wire.Retention]("/api/v1/retention")
	ChangeRetention   = patch[wire.ChangeRetention, wire.Retention]("/api/v1/retention")
	ConfirmRetention  = post[wire.None, wire.Retention]("/api/v1/retention/proposal/confirm")
	WithdrawRetention = remove[wire.Retention]("/api/v1/retention/proposal")
	ListHolds         = get[wire.Page[rule.LegalHold]]("/api/v1/holds")
	PlaceHold         = post[wire.PlaceHold, rule.LegalHold]("/api/v1/holds")
	GetHold           = get[rule.LegalHold]("/api/v1/holds/{id}")
	LiftHold          = post[wire.LiftHold, rule.LegalHold]("/api/v1/holds/{id}/lift")
)

// Personal data.
var (
	GetPrivacy   = get[wire.Privacy]("/api/v1/privacy")
	FindPerson   = post[wire.PersonRef, wire.PersonKept]("/api/v1/privacy/find")
	ForgetPerson = post[wire.ForgetPerson, wire.ForgottenPerson]("/api/v1/privacy/forget")
)

// Waivers.
var (
	CreateWaiver  = post[wire.CreateWaiver, rule.Waiver]("/api/v1/waivers")
	ListWaivers   = get[wire.Page[rule.Waiver]]("/api/v1/waivers")
	GetWaiver     = get[rule.Waiver]("/api/v1/waivers/{id}")
	ApproveWaiver = post[wire.None, rule.Waiver]("/api/v1/waivers/{id}/approve")
	RevokeWaiver  = remove[rule.Waiver]("/api/v1/waivers/{id}")
)

// Webhooks.
var (
	CreatePolicy       = post[wire.CreatePolicy, wire.PolicyWithSecret]("/api/v1/gateway/policies")
	ListPolicies       = get[wire.Page[wire.Policy]]("/api/v1/gateway/policies")
	GetPolicy          = get[wire.Policy]("/api/v1/gateway/policies/{id}")
	ChangePolicy       = patch[wire.ChangePolicy, wire.Policy]("/api/v1/gateway/policies/{id}")
	DeletePolicy       = remove[wire.None]("/api/v1/gateway/policies/{id}")
	RotatePolicySecret = post[wire.RotateSecret, wire.PolicyWithSecret]("/api/v1/gateway/policies/{id}/secret")
	TestPolicy         = post[wire.None, wire.TestResult]("/api/v1/gateway/policies/{id}/test")
	ListDeliveries     = get[wire.Page[wire.Delivery]]("/api/v1/gateway/policies/{id}/deliveries")
	Redeliver          = post[wire.None, wire.Delivery]("/api/v1/gateway/policies/{id}/deliveries/{delivery_id}/redeliver")
	IngestGithub       = post[[]byte, wire.Receipt]("/api/v1/gateway/ingest/github")
	IngestGeneric      = post[wire.SubmissionRequest, wire.SubmissionState]("/api/v1/gateway/ingest/generic")
)

// Jobs, servers, keys, projects, the audit chain and the cache of verdicts.
var (
	ListJobs      = get[wire.Page[wire.Job]]("/api/v1/jobs")
	GetJob        = get[wire.Job]("/api/v1/jobs/{id}")
	RetryJob      = post[wire.None, wire.Job]("/api/v1/jobs/{id}/retry")
	CountJobs     = get[wire.JobCounts]("/api/v1/jobs/counts").anywhere()
	ListServers   = get[wire.Page[wire.Server]]("/api/v1/servers").anywhere()
	GetSettings   = get[wire.Settings]("/api/v1/settings").anywhere()
	GetUsage      = get[wire.Usage]("/api/v1/usage")
	CancelJob     = post[wire.None, wire.Job]("/api/v1/jobs/{id}/cancel")
	ListKeys      = get[wire.Page[wire.Key]]("/api/v1/keys")
	CreateKey     = post[wire.CreateKey, wire.CreatedKey]("/api/v1/keys").anywhere()
	RotateKey     = post[wire.RotateKey, wire.CreatedKey]("/api/v1/keys/{id}/rotate")
	ChangeKey     = patch[wire.ChangeKey, wire.Key]("/api/v1/keys/{id}")
	RevokeKey     = remove[wire.None]("/api/v1/keys/{id}").again()
	ListActing    = get[wire.Page[wire.ActingAgent]]("/api/v1/acting-agents")
	SuspendAgent  = post[wire.SuspendAgent, rule.Suspension]("/api/v1/suspensions")
	Suspensions   = get[wire.Page[rule.Suspension]]("/api/v1/suspensions")
	ReportTools   = post[wire.ToolReport, wire.None]("/api/v1/gateway/tools")
	LiftSuspended = post[wire.LiftSuspension, rule.Suspension]("/api/v1/suspensions/{id}/lift")
	SignInWays    = get[wire.SignInWays]("/api/v1/signin").anywhere()
	Whoami        = get[wire.Whoami]("/api/v1/whoami").anywhere()
	ListProjects  = get[wire.Page[rule.Project]]("/api/v1/projects").anywhere()
	GetProject    = get[rule.Project]("/api/v1/projects/{id}").anywhere()
	CreateProject = post[wire.CreateProject, rule.Project]("/api/v1/projects").anywhere()
	ChangeProject = patch[wire.ChangeProject, rule.Project]("/api/v1/projects/{id}").anywhere()
	GetAuditHead  = get[wire.AuditHead]("/api/v1/audit/head")
	AcceptCorpus  = post[wire.AcceptCorpus, wire.Corpus]("/api/v1/audit/corpus/accept")
	GetAuditLog   = get[wire.AuditLog]("/api/v1/audit/log")
	CompareAudit  = post[wire.CompareAudit, wire.AuditComparison]("/api/v1/audit/compare").again()
	VerifyAudit   = get[wire.AuditReport]("/api/v1/audit/verify")
	ListAudit     = get[wire.AuditPage]("/api/v1/audit")
	GetAuditEntry = get[wire.AuditEntryDetail]("/api/v1/audit/entries/{seq}")
	ExportAudit   = get[[]byte]("/api/v1/audit/export").large()
	GetCache      = get[wire.CacheStats]("/api/v1/cache")
	PruneCache    = post[wire.PruneCache, wire.CacheDeleted]("/api/v1/cache/prune")
	ClearCache    = remove[wire.CacheDeleted]("/api/v1/cache").again()
)

// Agent is the operation of an agent with a result of type T: of a built-in one, or of one that the operator has declared.
func Agent[T any](name string) Op[any, wire.AgentAnswerOf[T]] {
	return post[any, wire.AgentAnswerOf[T]]("/agent/{name}").At(name)
}
