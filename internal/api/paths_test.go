package api

import "tenet/internal/wire/op"

// Paths that the tests put together with ids and queries.
var (
	deploymentsPath = op.ListDeployments.Path
	documentsPath   = op.ListDocuments.Path
	evaluatePath    = op.Evaluate.Path
	evaluationsPath = op.ListEvaluations.Path
	federationPath  = op.ListNodes.Path
	jobsPath        = op.ListJobs.Path
	keysPath        = op.ListKeys.Path
	policiesPath    = op.ListPolicies.Path
	projectsPath    = op.ListProjects.Path
	rulesPath       = op.ListRules.Path
	scansPath       = op.ListScans.Path
	snapshotsPath   = op.ListSnapshots.Path
	submissionsPath = op.Submit.Path
	testRunsPath    = op.StartTestRun.Path
	waiversPath     = op.ListWaivers.Path
)

const (
	discoverPath    = "/api/v1/discover"
	ingestPath      = "/api/v1/gateway/ingest"
	searchPath      = "/api/v1/search"
	simulationsPath = "/api/v1/simulations"
)
