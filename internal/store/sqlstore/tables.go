package sqlstore

import "tenet/internal/store"

// Each noun of package store has one type, which implements its reader and its transaction on a session.
type (
	projectTable    struct{ *session }
	ruleTable       struct{ *session }
	revisionTable   struct{ *session }
	federationTable struct{ *session }
	waiverTable     struct{ *session }
	approvalTable   struct{ *session }
	testCaseTable   struct{ *session }
	conflictTable   struct{ *session }
	auditTable      struct{ *session }
	keyTable        struct{ *session }
	agentTable      struct{ *session }
	sessionTable    struct{ *session }
	submissionTable struct{ *session }
	feedbackTable   struct{ *session }
	verdictTable    struct{ *session }
	embeddingTable  struct{ *session }
	documentTable   struct{ *session }
	vectorTable     struct{ *session }
	scanTable       struct{ *session }
	candidateTable  struct{ *session }
	exclusionTable  struct{ *session }
	releaseTable    struct{ *session }
	jobTable        struct{ *session }
	runTable        struct{ *session }
	countTable      struct{ *session }
	termTable       struct{ *session }
	healthTable     struct{ *session }
	alertTable      struct{ *session }
	webhookTable    struct{ *session }
	deliveryTable   struct{ *session }
	queueTable      struct{ *session }
	serverTable     struct{ *session }
	logTable        struct{ *session }
	inForceTable    struct{ *session }
	bundleTable     struct{ *session }
	retentionTable  struct{ *session }
	personalTable   struct{ *session }
	edgeTable       struct{ *session }
	exportTable     struct{ *session }
	sampleTable     struct{ *session }
	partTable       struct{ *session }
)

// readers returns the readers of a session.
func (s *session) readers() store.Readers {
	return store.Readers{
		Projects:     projectTable{s},
		Rules:        ruleTable{s},
		Revisions:    revisionTable{s},
		Federation:   federationTable{s},
		Waivers:      waiverTable{s},
		Approvals:    approvalTable{s},
		TestCases:    testCaseTable{s},
		Conflicts:    conflictTable{s},
		Audit:        auditTable{s},
		Keys:         keyTable{s},
		Agents:       agentTable{s},
		Sessions:     sessionTable{s},
		Submissions:  submissionTable{s},
		Feedback:     feedbackTable{s},
		Verdicts:     verdictTable{s},
		Embeddings:   embeddingTable{s},
		Documents:    documentTable{s},
		Vectors:      vectorTable{s},
		Scans:        scanTable{s},
		Candidates:   candidateTable{s},
		Exclusions:   exclusionTable{s},
		Releases:     releaseTable{s},
		Jobs:         jobTable{s},
		Runs:         runTable{s},
		Counts:       countTable{s},
		Terms:        termTable{s},
		Health:       healthTable{s},
		Alerts:       alertTable{s},
		Webhooks:     webhookTable{s},
		Deliveries:   deliveryTable{s},
		Queue:        queueTable{s},
		Servers:      serverTable{s},
		Logs:         logTable{s},
		InForce:      inForceTable{s},
		Bundles:      bundleTable{s},
		Retention:    retentionTable{s},
		PersonalKeys: personalTable{s},
		Edges:        edgeTable{s},
		Exports:      exportTable{s},
		Samples:      sampleTable{s},
		Parts:        partTable{s},
	}
}

// tx returns the transaction of a session.
func (s *session) tx() store.Tx {
	return store.Tx{
		Projects:     projectTable{s},
		Rules:        ruleTable{s},
		Revisions:    revisionTable{s},
		Federation:   federationTable{s},
		Waivers:      waiverTable{s},
		Approvals:    approvalTable{s},
		TestCases:    testCaseTable{s},
		Conflicts:    conflictTable{s},
		Audit:        auditTable{s},
		Keys:         keyTable{s},
		Agents:       agentTable{s},
		Sessions:     sessionTable{s},
		Submissions:  submissionTable{s},
		Feedback:     feedbackTable{s},
		Verdicts:     verdictTable{s},
		Embeddings:   embeddingTable{s},
		Documents:    documentTable{s},
		Vectors:      vectorTable{s},
		Scans:        scanTable{s},
		Candidates:   candidateTable{s},
		Exclusions:   exclusionTable{s},
		Releases:     releaseTable{s},
		Jobs:         jobTable{s},
		Runs:         runTable{s},
		Counts:       countTable{s},
		Terms:        termTable{s},
		Health:       healthTable{s},
		Alerts:       alertTable{s},
		Webhooks:     webhookTable{s},
		Deliveries:   deliveryTable{s},
		Queue:        queueTable{s},
		Servers:      serverTable{s},
		Logs:         logTable{s},
		InForce:      inForceTable{s},
		Bundles:      bundleTable{s},
		Retention:    retentionTable{s},
		PersonalKeys: personalTable{s},
		Edges:        edgeTable{s},
		Exports:      exportTable{s},
		Samples:      sampleTable{s},
		Parts:        partTable{s},
	}
}
