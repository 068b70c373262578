package console

import (
	"time"

	"tenet/internal/auth"
)

// route is an address and what it shows or does.
type route struct {
	pattern string
	// role is the one that the operations of the screen need in the project of the path.
	role auth.Role
	// open screens are for people who are not signed in too.
	open bool
	// static answers do not depend on who asks.
	static bool
	// upload routes take forms with files, as large as the bodies of requests to the API.
	upload bool
	// patience is the time for an answer that may have to wait for a model; 0 is that of a page.
	patience time.Duration
	show     func(*page) error
}

// routes lists all addresses. {project} is the project of the page.
func routes() []route {
	return []route{
		{pattern: "GET /{$}", show: home, role: auth.Viewer},
		{pattern: "GET /console", show: home, role: auth.Viewer},
		{pattern: "GET /p/{project}/{$}", show: projectHome, role: auth.Viewer},
		{pattern: "GET /p/{project}", show: projectHome, role: auth.Viewer},
		{pattern: "GET /assets/{name}", show: asset, static: true},
		{pattern: "GET /signin", show: signInPage, open: true},
		{pattern: "POST /signin", show: signIn, open: true},
		{pattern: "GET /signin/{provider}", show: beginSignIn, open: true},
		{pattern: "GET /signin/{provider}/callback", show: finishSignIn, open: true},
		{pattern: "POST /signin/backchannel", show: providerSignOut, open: true},
		{pattern: "POST /signout", show: signOut, open: true},
		{pattern: "POST /theme", show: setTheme, open: true},
		{pattern: "GET /project", show: switchProject, role: auth.Viewer},

		{pattern: "GET /overview", show: allProjects, role: auth.Viewer},
		{pattern: "GET /p/{project}/overview", show: overviewPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/overview/rules", show: measuredList, role: auth.Viewer},
		{pattern: "GET /p/{project}/overview/waivers", show: waiverList, role: auth.Viewer},
		{pattern: "GET /p/{project}/overview/repositories", show: repositoryList, role: auth.Viewer},
		{pattern: "GET /p/{project}/overview/samples", show: samplesPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/overview/unjudged", show: unjudgedList, role: auth.Viewer},
		{pattern: "POST /p/{project}/overview/measure", show: measureRules, role: auth.Reviewer},
		{pattern: "GET /p/{project}/report", show: reportPage, role: auth.Viewer, patience: modelTime},

		{pattern: "GET /queue", show: queueList, role: auth.Viewer},
		{pattern: "GET /queue/live", show: liveQueue, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "POST /queue", show: decideQueue, role: auth.Reviewer},
		{pattern: "POST /queue/undo", show: undoQueue, role: auth.Reviewer},

		{pattern: "GET /p/{project}/evaluations", show: evaluationList, role: auth.Viewer},
		{pattern: "GET /p/{project}/evaluations/{id}", show: evaluationPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/evaluations/{id}/diff", show: evaluationDiff, role: auth.Viewer},
		{pattern: "GET /p/{project}/evaluations/{id}/json", show: evaluationJSON, role: auth.Viewer},
		{pattern: "POST /p/{project}/evaluations/{id}/replay", show: replayEvaluation, role: auth.Reviewer},
		{pattern: "POST /p/{project}/evaluations/{id}/feedback", show: giveFeedback, role: auth.Reviewer},
		{pattern: "POST /p/{project}/evaluations/{id}/waivers", show: waiveViolation, role: auth.Reviewer},

		{pattern: "POST /p/{project}/evaluations/{id}/approval", show: askForApproval, role: auth.Evaluator},

		{pattern: "GET /p/{project}/approvals", show: approvalList, role: auth.Viewer},
		{pattern: "GET /p/{project}/approvals/{id}", show: approvalPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/approvals/{id}/live", show: liveApproval, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "POST /p/{project}/approvals/{id}", show: decideApproval, role: auth.Evaluator},

		{pattern: "GET /p/{project}/audit", show: auditList, role: auth.Reviewer},
		{pattern: "GET /p/{project}/audit/{seq}", show: auditPage, role: auth.Reviewer},
		{pattern: "GET /p/{project}/audit/export", show: exportAudit, role: auth.Reviewer, patience: exportTime},
		{pattern: "GET /p/{project}/audit/verify", show: verifyPage, role: auth.Reviewer},
		{pattern: "POST /p/{project}/audit/verify", show: verifyAudit, role: auth.Reviewer},

		{pattern: "GET /p/{project}/alerts", show: alertList, role: auth.Viewer},
		{pattern: "GET /p/{project}/alerts/live", show: liveAlerts, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "POST /p/{project}/alerts", show: decideAlerts, role: auth.Reviewer},

		{pattern: "GET /p/{project}/agents", show: agentList, role: auth.Viewer},
		{pattern: "POST /p/{project}/agents", show: suspendAgent, role: auth.Reviewer},
		{pattern: "POST /p/{project}/agents/resume", show: resumeAgent, role: auth.Admin},

		{pattern: "GET /p/{project}/fleet", show: fleetPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/fleet/live", show: liveFleet, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "POST /p/{project}/fleet", show: orderEdge, role: auth.Admin},

		{pattern: "GET /p/{project}/webhooks", show: webhookList, role: auth.Admin},
		{pattern: "POST /p/{project}/webhooks", show: makeWebhook, role: auth.Admin},
		{pattern: "GET /p/{project}/webhooks/{id}", show: webhookPage, role: auth.Admin},
		{pattern: "POST /p/{project}/webhooks/{id}", show: changeWebhook, role: auth.Admin},
		{pattern: "POST /p/{project}/webhooks/{id}/act", show: actOnWebhook, role: auth.Admin, patience: modelTime},
		{pattern: "POST /p/{project}/webhooks/{id}/deliveries/{delivery}", show: redeliver, role: auth.Admin},

		{pattern: "GET /p/{project}/try", show: tryPage, role: auth.Evaluator},
		{pattern: "POST /p/{project}/try", show: tryDecision, role: auth.Evaluator, patience: modelTime},
		{pattern: "POST /p/{project}/try/files", show: tryFiles, role: auth.Evaluator, patience: modelTime, upload: true},

		{pattern: "GET /p/{project}/search", show: searchPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/search/applicable", show: applicableRules, role: auth.Evaluator},
		{pattern: "POST /p/{project}/search/ask", show: askRules, role: auth.Evaluator, patience: modelTime},

		{pattern: "GET /p/{project}/rules", show: ruleList, role: auth.Viewer},
		{pattern: "POST /p/{project}/rules/tags", show: tagRules, role: auth.Reviewer},
		{pattern: "POST /p/{project}/rules/transitions", show: moveRules, role: auth.Reviewer},
		{pattern: "GET /p/{project}/rules/new", show: newRulePage, role: auth.Reviewer},
		{pattern: "POST /p/{project}/rules/new", show: makeRule, role: auth.Reviewer, patience: modelTime},
		{pattern: "GET /p/{project}/rules/{id}", show: rulePage, role: auth.Viewer},
		{pattern: "GET /p/{project}/rules/{id}/edit", show: editRule, role: auth.Reviewer},
		{pattern: "POST /p/{project}/rules/{id}/edit", show: postRuleEdit, role: auth.Reviewer, patience: modelTime},
		{pattern: "GET /p/{project}/rules/{id}/versions", show: ruleVersions, role: auth.Viewer},
		{pattern: "POST /p/{project}/rules/{id}/tests", show: startTests, role: auth.Evaluator},
		{pattern: "GET /p/{project}/rules/{id}/tests/{run}", show: testRunPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/rules/{id}/tests/{run}/live", show: liveTestRun, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "GET /p/{project}/rules/{id}/nodes", show: ruleNodes, role: auth.Viewer},
		{pattern: "POST /p/{project}/rules/{id}/pending/{n}", show: decideRevision, role: auth.Reviewer},
		{pattern: "POST /p/{project}/rules/{id}/transitions", show: moveRule, role: auth.Reviewer},
		{pattern: "GET /p/{project}/releases", show: releaseOverview, role: auth.Viewer},
		{pattern: "GET /p/{project}/releases/history", show: releaseSteps, role: auth.Viewer},
		{pattern: "GET /p/{project}/releases/compare", show: compareSnapshots, role: auth.Viewer, patience: modelTime},
		{pattern: "POST /p/{project}/releases/snapshots", show: takeSnapshot, role: auth.Reviewer},
		{pattern: "GET /p/{project}/releases/snapshots/{id}", show: snapshotPage, role: auth.Viewer},
		{pattern: "POST /p/{project}/releases/snapshots/{id}/approve", show: approveSnapshot, role: auth.Reviewer},
		{pattern: "POST /p/{project}/releases/snapshots/{id}/verify", show: verifySnapshot, role: auth.Viewer, patience: modelTime},
		{pattern: "POST /p/{project}/releases/snapshots/{id}/simulate", show: startSimulation, role: auth.Reviewer},
		{pattern: "GET /p/{project}/releases/snapshots/{id}/to/{environment}", show: targetPage, role: auth.Viewer, patience: modelTime},
		{pattern: "POST /p/{project}/releases/snapshots/{id}/to/{environment}", show: deploySnapshot, role: auth.Reviewer, patience: modelTime},
		{pattern: "GET /p/{project}/releases/simulations/{id}", show: simulationPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/releases/simulations/{id}/live", show: liveSimulation, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "GET /p/{project}/releases/environments/{environment}/gates", show: gatesPage, role: auth.Admin},
		{pattern: "POST /p/{project}/releases/environments/{environment}/gates", show: setGates, role: auth.Admin},
		{pattern: "POST /p/{project}/releases/environments/{environment}/rollback", show: rollBack, role: auth.Reviewer},

		{pattern: "GET /p/{project}/conflicts", show: conflictList, role: auth.Viewer},
		{pattern: "POST /p/{project}/conflicts/scan", show: scanConflicts, role: auth.Reviewer},
		{pattern: "GET /p/{project}/conflicts/{id}", show: conflictPage, role: auth.Viewer},
		{pattern: "POST /p/{project}/conflicts/{id}/mend", show: mendConflict, role: auth.Reviewer},

		{pattern: "GET /p/{project}/rules/export", show: exportRules, role: auth.Viewer},

		{pattern: "GET /operations", show: operationsPage, role: auth.Admin},
		{pattern: "GET /operations/usage", show: usagePage, role: auth.Admin},
		{pattern: "GET /operations/settings", show: settingsPage, role: auth.Admin},
		{pattern: "GET /operations/jobs", show: jobList, role: auth.Admin},
		{pattern: "POST /operations/jobs", show: changeJob, role: auth.Admin},
		{pattern: "GET /operations/keys", show: keyList, role: auth.Admin},
		{pattern: "POST /operations/keys", show: makeKey, role: auth.Admin},
		{pattern: "POST /operations/keys/revoke", show: revokeKey, role: auth.Admin},
		{pattern: "POST /operations/keys/rotate", show: rotateKey, role: auth.Admin},
		{pattern: "POST /operations/keys/change", show: changeKey, role: auth.Admin},
		{pattern: "GET /operations/projects", show: projectsPage, role: auth.Admin},
		{pattern: "POST /operations/projects", show: makeProject, role: auth.Admin},
		{pattern: "GET /p/{project}/operations", show: projectPage, role: auth.Admin},
		{pattern: "POST /p/{project}/operations", show: changeProject, role: auth.Admin},
		{pattern: "GET /p/{project}/operations/retention", show: retentionPage, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/retention", show: changeRetention, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/cache", show: clearCache, role: auth.Admin},
		{pattern: "GET /p/{project}/operations/usage", show: usagePage, role: auth.Admin},
		{pattern: "GET /p/{project}/operations/jobs", show: jobList, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/jobs", show: changeJob, role: auth.Admin},
		{pattern: "GET /p/{project}/operations/keys", show: keyList, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/keys", show: makeKey, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/keys/revoke", show: revokeKey, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/keys/rotate", show: rotateKey, role: auth.Admin},
		{pattern: "POST /p/{project}/operations/keys/change", show: changeKey, role: auth.Admin},
		{pattern: "GET /p/{project}/discovery", show: scanList, role: auth.Viewer},
		{pattern: "GET /p/{project}/discovery/new", show: newScanPage, role: auth.Reviewer},
		{pattern: "POST /p/{project}/discovery/new", show: startScan, role: auth.Reviewer, upload: true},
		{pattern: "GET /p/{project}/discovery/confidence", show: confidencePage, role: auth.Viewer},
		{pattern: "GET /p/{project}/discovery/exclusions", show: exclusionList, role: auth.Viewer},
		{pattern: "POST /p/{project}/discovery/exclusions", show: addExclusion, role: auth.Reviewer},
		{pattern: "POST /p/{project}/discovery/exclusions/{id}/lift", show: liftExclusion, role: auth.Reviewer},
		{pattern: "GET /p/{project}/discovery/scans/{id}", show: scanPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/discovery/scans/{id}/live", show: liveScan, role: auth.Viewer, open: true, patience: liveAge},
		{pattern: "GET /p/{project}/discovery/scans/{id}/triage", show: startTriage, role: auth.Viewer},
		{pattern: "POST /p/{project}/discovery/scans/{id}", show: decideCandidates, role: auth.Reviewer},
		{pattern: "GET /p/{project}/discovery/candidates/{id}", show: deskPage, role: auth.Viewer},
		{pattern: "POST /p/{project}/discovery/candidates/{id}", show: decideCandidate, role: auth.Reviewer},
		{pattern: "POST /p/{project}/discovery/undo", show: undoTriage, role: auth.Reviewer},

		{pattern: "GET /p/{project}/federation", show: federationPage, role: auth.Viewer},
		{pattern: "GET /p/{project}/federation/resolve", show: resolveRepository, role: auth.Viewer},
		{pattern: "GET /p/{project}/federation/new", show: newNodePage, role: auth.Reviewer},
		{pattern: "POST /p/{project}/federation/new", show: makeNode, role: auth.Reviewer},
		{pattern: "GET /p/{project}/federation/{id}", show: nodePage, role: auth.Viewer},
		{pattern: "GET /p/{project}/federation/{id}/branch", show: federationBranch, role: auth.Viewer},
		{pattern: "GET /p/{project}/federation/{id}/edit", show: nodeFormPage("change"), role: auth.Reviewer},
		{pattern: "POST /p/{project}/federation/{id}/edit", show: postNodeForm("change"), role: auth.Reviewer},
		{pattern: "GET /p/{project}/federation/{id}/attach", show: nodeFormPage("attach"), role: auth.Reviewer},
		{pattern: "POST /p/{project}/federation/{id}/attach", show: postNodeForm("attach"), role: auth.Reviewer},
		{pattern: "GET /p/{project}/federation/{id}/detach", show: nodeFormPage("detach"), role: auth.Reviewer},
		{pattern: "POST /p/{project}/federation/{id}/detach", show: postNodeForm("detach"), role: auth.Reviewer},
		{pattern: "GET /p/{project}/federation/{id}/delete", show: nodeFormPage("delete"), role: auth.Reviewer},
		{pattern: "POST /p/{project}/federation/{id}/delete", show: postNodeForm("delete"), role: auth.Reviewer},
	}
}
