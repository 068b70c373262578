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
