// Package storetest checks that a backend keeps the contracts of package store. Every backend runs the same suite.
package storetest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
)

// Open opens a store on a database. Opening twice within one test opens the same database twice.
type Open func(t *testing.T) store.Store

// Run runs the suite. New is called once per test and returns how to open that test's database.
func Run(t *testing.T, fresh func(t *testing.T) Open) {
	RunSome(t, func(string) bool { return true }, fresh)
}

// RunSome runs the tests whose names are chosen.
func RunSome(t *testing.T, chosen func(name string) bool, fresh func(t *testing.T) Open) {
	for name, test := range map[string]func(*testing.T, *fixture){
		"projects":                           testProjects,
		"rules are read as written":          testRoundTrip,
		"rules are found by id and by slug":  testLookUp,
		"updates archive and check versions": testUpdateRules,
		"slugs":                              testSlugs,
		"inserting conflicts name the rule":  testInsertConflicts,
		"changes":                            testChanges,
		"changes stop at an error":           testChangesError,
		"relationships":                      testRelationships,
		"audit chain":                        testAudit,
		"finding audit entries":              testFindAudit,
		"keys":                               testKeys,
		"agents that were seen":              testSeenAgents,
		"suspensions":                        testSuspensions,
		"sessions":                           testSessions,
		"sign-outs":                          testSignouts,
		"servers":                            testServers,
		"bundles":                            testBundles,
		"keys of people":                     testPersonalKeys,
		"retention of projects":              testRetentionOfProjects,
		"edges":                              testEdges,
		"exports":                            testExports,
		"trees over audit chains":            testLogs,
		"tiles":                              testTiles,
		"checkpoints":                        testCheckpoints,
		"what is in force":                   testInForce,
		"usage of keys":                      testKeyUsage,
		"usage of models":                    testModelDays,
		"jobs of all projects":               testAllJobs,
		"reuse of verdicts":                  testReuse,
		"snapshots":                          testSnapshots,
		"deployments":                        testDeployments,
		"gates and approvals":                testGates,
		"exact versions of rules":            testRulesAt,
		"racing to deploy":                   testRaceDeploy,
		"embeddings":                         testEmbeddings,
		"embeddings that are refused":        testEmbeddingsRefused,
		"many embeddings":                    testManyEmbeddings,
		"embeddings are deleted":             testDeleteEmbeddings,
		"submissions":                        testSubmissions,
		"leases of submissions":              testLeases,
		"retention":                          testRetention,
		"bodies in parts of time":            testParts,
		"feedback":                           testFeedback,
		"samples":                            testSamples,
		"runs":                               testRuns,
		"test cases":                         testTestCases,
		"conflicts":                          testConflicts,
		"conflicts by text":                  testConflictsByText,
		"bounds on conflicts":                testConflictBounds,
		"walks that look for conflicts":      testConflictWalks,
		"waivers":                            testWaivers,
		"approvals":                          testApprovals,
		"racing to decide on an approval":    testRaceApprovals,
		"revisions":                          testRevisions,
		"tallies":                            testTallies,
		"what waits for people":              testWaiting,
		"marks of what waits":                testQueueMarks,
		"versions of what waits":             testQueueVersions,
		"jobs from queue to end":             testJobLife,
		"jobs in order":                      testJobOrder,
		"unique jobs":                        testJobUnique,
		"jobs cancelled and retried":         testJobsByHand,
		"finding jobs":                       testFindJobs,
		"leases end":                         testExpiredJobs,
		"racing for jobs":                    testRaceJobs,
		"watching for jobs":                  testWatchJobs,
		"webhook policies":                   testWebhookPolicies,
		"webhook deliveries":                 testWebhookDeliveries,
		"webhook deliveries end":             testWebhookEnds,
		"webhooks are woken":                 testWakeWebhook,
		"redelivery races removal":           testRedeliveryRacesRemoval,
		"documents":                          testDocuments,
		"documents are deleted":              testDeleteDocument,
		"finding documents":                  testFindDocuments,
		"scanning documents":                 testScanDocuments,
		"vectors of documents":               testDocumentVectors,
		"a failed upload leaves nothing":     testDocumentRollback,
		"scans":                              testScans,
		"candidates":                         testCandidates,
		"racing to decide on a candidate":    testRaceCandidate,
		"candidates in their scan":           testCandidateNeighbours,
		"candidates taken back and merged":   testReopenCandidates,
		"exclusions":                         testExclusions,
		"retention of scans":                 testPruneScans,
		"alerts":                             testAlerts,
		"racing to raise one alert":          testRaceAlerts,
		"counts":                             testCounts,
		"counts by group":                    testGroups,
		"lists of the highest counts":        testTops,
		"standings":                          testStandings,
		"uncounted entries":                  testUncounted,
		"racing to count":                    testRaceCounts,
		"health":                             testHealth,
		"terms":                              testTerms,
		"terms of a full block":              testManyTerms,
		"forgetting terms":                   testForgetTerms,
		"entries by terms":                   testTermEntries,
		"racing to index":                    testRaceTerms,
		"verdicts":                           testVerdicts,
		"pruning verdicts":                   testPruneVerdicts,
		"forgetting verdicts":                testForgetVerdicts,
		"a failed update leaves nothing":     testRollback,
		"a panic leaves nothing":             testPanic,
		"a transaction reads its own writes": testOwnWrites,
		"cancelled contexts":                 testCancel,
		"jobs of projects take turns":        testJobsByTurns,
		"two handles see each other":         testTwoHandles,
		"racing for the corpus version":      testRaceCorpus,
		"racing for the audit chain":         testRaceAudit,
		"racing to update one rule":          testRaceUpdate,
		"reading does not wait for a writer": testReadWhileWriting,
		"many rules at once":                 testManyRules,

		"serialisable: keys":                 testSerialKeys,
		"serialisable: one project":          testSerialProject,
		"serialisable: all projects":         testSerialProjects,
		"serialisable: a project to be made": testSerialFirstProject,
		"serialisable: rules":                testSerialRules,
		"serialisable: audit":                testSerialAudit,
		"a deadlock runs again":              testDeadlock,
		"reads see one state":                testOneState,

		"close waits for transactions":              testClose,
		"transactions end with their callback":      testTxAfterwards,
		"cancelling midway leaves nothing":          testCancelMidway,
		"cancelling ends the waiting for a lock":    testCancelWaiting,
		"reading does not queue with transactions":  testQueue,
		"hostile names find nothing":                testHostileText,
		"times are UTC, cut to microseconds":        testTimes,
		"errors hide the database's words":          testErrorsHideDatabase,
		"following changes gives the whole":         testFollow,
		"changes may be read while others are read": testChangesNested,

		"federation":                            testFederation,
		"federation of one project":             testFederationProjects,
		"following the federation stops":        testFollowStops,
		"racing to attach one rule to one node": testRaceAttach,
	} {
		if !chosen(name) {
			continue
		}
		t.Run(name, func(t *testing.T) {
			open := fresh(t)
			f := &fixture{t: t, ctx: t.Context(), open: open, s: open(t)}
			f.update(func(tx store.Tx) error { return tx.Projects.Create(f.ctx, project("p")) })
			test(t, f)
		})
	}
}

type fixture struct {
	t    *testing.T
	ctx  context.Context //nolint:containedctx // the test's own
	open Open
	s    store.Store
}

// at is a time with microseconds, so that truncation shows.
var at = time.Date(2026, 2, 3, 4, 5, 6, 789_123_000, time.UTC)

func project(id string) rule.Project {
	return rule.Project{ID: id, Name: "Project " + id, CreatedAt: at, UpdatedAt: at}
}

func newRule(n int, edit func(*rule.Rule)) rule.Rule {
	r := rule.Rule{
		ID: fmt.Sprintf("00000000-0000-7000-8000-%012d", n), ProjectID: "p", Slug: fmt.Sprintf("R-%d", n), Version: 1,
		Statement: fmt.Sprintf("Statement %d.", n), CreatedAt: at, UpdatedAt: at,
	}
	if edit != nil {
		edit(&r)
	}
	r.Normalize()
	return r
}

// update runs a transaction that must succeed.
func (f *fixture) update(fn func(store.Tx) error) {
	f.t.Helper()
	if err := f.s.Update(f.ctx, fn); err != nil {
		f.t.Fatal(err)
	}
}

// fails runs a transaction that must fail with a code.
func (f *fixture) fails(want rule.Code, fn func(store.Tx) error) {
	f.t.Helper()
	err := f.s.Update(f.ctx, fn)
	if got := rule.CodeOf(err); got != want {
		f.t.Errorf("error %v of code %q, want %q", err, got, want)
	}
}

// insert stores rules under a raised corpus version.
func (f *fixture) insert(rules ...rule.Rule) {
	f.t.Helper()
	f.update(func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, rules[0].ProjectID)
		if err != nil {
			return err
		}
		return tx.Rules.Insert(f.ctx, cv, rules)
	})
}

// change updates rules under a raised corpus version.
func (f *fixture) change(rules ...rule.Rule) error {
	return f.s.Update(f.ctx, func(tx store.Tx) error {
		cv, err := tx.Projects.RaiseCorpus(f.ctx, rules[0].ProjectID)
		if err != nil {
			return err
		}
		return tx.Rules.Update(f.ctx, cv, rules)
	})
}

// next returns the next version of a rule.
func next(r rule.Rule, edit func(*rule.Rule)) rule.Rule {
	r.Version++
	edit(&r)
	return r
}

func code(t *testing.T, about string, err error, want rule.Code) {
	t.Helper()
	if got := rule.CodeOf(err); got != want {
		t.Errorf("%s: error %v of code %q, want %q", about, err, got, want)
	}
}
