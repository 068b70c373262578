package wire

// AuditReport is the result of a verification.
type AuditReport struct {
	ProjectID string `json:"project_id"`
	Entries   int64  `json:"entries"`
	// Pruned counts the entries whose bodies were removed under the retention setting, as the chain itself says.
	Pruned   int64          `json:"pruned"`
	Head     AuditHead      `json:"head"`
	Problems []AuditProblem `json:"problems"`
}

// AuditProblem is a place where the chain is broken.
type AuditProblem struct {
	Seq     int64  `json:"seq"`
	ID      string `json:"id,omitempty"`
	Message string `json:"message"`
}

// OK reports whether the chain is whole.
func (r *AuditReport) OK() bool { return len(r.Problems) == 0 }

// AuditHead is the end of a chain: sequence number and hash of its last entry.
type AuditHead struct {
	Seq  int64  `json:"seq"`
	Hash string `json:"hash"` // SHA-256 in hex; empty for an empty chain
}

// AcceptCorpus is the body that accepts the rules of a project as the database has them.
type AcceptCorpus struct {
	Reason string `json:"reason" maxLength:"8000" doc:"Why rules may be missing or other than they were written; recorded in the audit chain."`
}

// Corpus is how many rules a project has, as it was counted with their last change.
type Corpus struct {
	Version int64  `json:"corpus_version" doc:"Corpus version of that change."`
	Rules   int    `json:"rules" doc:"Rules of all statuses."`
	Digest  string `json:"digest" doc:"Exclusive or of the hashes of their rows, hex."`
}
