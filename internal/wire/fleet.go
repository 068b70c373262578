package wire

import "time"

// EdgeRecord is an entry of the audit chain of an edge, as its own database has it.
type EdgeRecord struct {
	Seq      int64     `json:"seq" minimum:"1" doc:"Its number in the chain of the edge."`
	ID       string    `json:"id" maxLength:"64" doc:"Its id; for an evaluation the evaluation_id."`
	Kind     string    `json:"kind" maxLength:"64" doc:"Its kind."`
	At       time.Time `json:"at" doc:"When it was made."`
	Actor    string    `json:"actor" maxLength:"400" doc:"Who asked."`
	Verdict  string    `json:"verdict,omitempty" maxLength:"64" doc:"Overall verdict of an evaluation."`
	Mode     string    `json:"mode,omitempty" maxLength:"64" doc:"Mode of an evaluation."`
	Body     string    `json:"body" doc:"The record, compressed with zstd, in base64."`
	PrevHash string    `json:"prev_hash" maxLength:"64" doc:"Hash of the entry before; empty for the first."`
	Hash     string    `json:"hash" maxLength:"64" doc:"Hash of the entry."`
}

// EdgeRecords are records of an edge, in order, with its signature.
type EdgeRecords struct {
	Entries []EdgeRecord `json:"entries" nullable:"false" maxItems:"1000" doc:"Entries that follow one another."`
	Note    string       `json:"note" maxLength:"65536" doc:"Signed note of the edge over project, name, and number and hash of the last entry."`
}

// EdgeReport says how an edge fares.
type EdgeReport struct {
	Key         string      `json:"key" maxLength:"400" doc:"Verifier key with which the edge signs its records. The first one that a name comes with stays."`
	Version     string      `json:"version" maxLength:"200" doc:"Version of Tenet."`
	Environment Environment `json:"environment" enum:"production,staging,development" doc:"Environment whose bundles it takes."`
	Bundle      string      `json:"bundle" maxLength:"64" doc:"Hash of the bundle in use."`
	BundleSeq   int64       `json:"bundle_seq" doc:"Number of the bundle in use."`
	BundleAge   int64       `json:"bundle_age_s" doc:"Seconds since a server vouched for it."`
	Stale       bool        `json:"stale,omitempty" doc:"True if that is more than it may be."`
	Spool       int64       `json:"spool" doc:"Records that wait to be sent."`
	SpoolBytes  int64       `json:"spool_bytes" doc:"Bytes of them."`
	SpoolAge    int64       `json:"spool_age_s" doc:"Age of the oldest, in seconds."`
	Head        int64       `json:"head" doc:"Number of the last entry of its chain."`
	Evaluations int64       `json:"evaluations" doc:"Evaluations since its start."`
	Requests    int64       `json:"requests,omitempty" doc:"Requests to its API since its start, those of tools included."`
	Errors      int64       `json:"errors,omitempty" doc:"Those that failed at the edge (status 500 and above), such as evaluations whose record could not be written. Requests that are refused for what they say do not count."`
	StartedAt   time.Time   `json:"started_at" doc:"When it was started."`
	Pinned      bool        `json:"pinned,omitempty" doc:"True if it stays at its bundle."`
	Paused      bool        `json:"paused,omitempty" doc:"True if it answers no evaluations."`
	Problem     string      `json:"problem,omitempty" maxLength:"2000" doc:"Why it cannot fetch bundles or send records."`
	ModelStatus string      `json:"model_status,omitempty" maxLength:"64" doc:"State of its model; absent without one."`
}

// EdgeOrders holds the orders of an edge.
type EdgeOrders struct {
	Pinned bool `json:"pinned,omitempty" doc:"Stay at the bundle in use."`
	Paused bool `json:"paused,omitempty" doc:"Answer no evaluations."`
	// Reread grows with each request to read the place of bundles again.
	Reread    int64 `json:"reread,omitempty" doc:"Number of requests to read the place of bundles again."`
	Forgotten bool  `json:"forgotten,omitempty" doc:"True if the edge was forgotten: the server takes no more of its records, and it is to answer no evaluations."`
	// Received is the end of the chain of the edge as the server has it.
	Received AuditHead `json:"received" doc:"Last entry of the edge that the server has stored; the next one is to be sent."`
	// BundleHead spares the edge a request of its own for each look at the place.
	BundleHead string `json:"bundle_head,omitempty" doc:"Signed head of the newest bundle of the edge's environment, by which the server vouches for it. Only in the answer to a report."`
}

// Problems of an edge, as [FleetEdge] lists them.
const (
	EdgeStale    = "edge_stale"
	EdgeSilent   = "edge_silent"
	SpoolGrowing = "spool_growing"
)

// FleetEdge is an edge as the server knows it.
type FleetEdge struct {
	Name      string     `json:"name" doc:"Name of the edge."`
	Report    EdgeReport `json:"report" doc:"Its last report."`
	SeenAt    time.Time  `json:"seen_at" doc:"When it last reported."`
	CreatedAt time.Time  `json:"created_at" doc:"When it first did."`
	Orders    EdgeOrders `json:"orders" doc:"What it is to do, and how much of its chain the server has."`
	Current   bool       `json:"current" doc:"True if it has the newest bundle."`
	Problems  []string   `json:"problems" nullable:"false" doc:"edge_silent: no report for 30 seconds; edge_stale: its bundle is too old; spool_growing: records wait for more than a minute."`
	// Unknown counts records by rules that the server does not have.
	Unknown int64 `json:"unknown_rules" doc:"Records of evaluations by versions of rules that the server does not have."`
}

// Rollout is how far the newest bundle of an environment has come.
type Rollout struct {
	Environment Environment `json:"environment" doc:"The environment."`
	BundleSeq   int64       `json:"bundle_seq" doc:"Number of its newest bundle."`
	Edges       int         `json:"edges" doc:"Edges of the environment that are not silent."`
	Current     int         `json:"current" doc:"Those of them that have it."`
}

// Fleet lists edges.
type Fleet struct {
	Items    []FleetEdge `json:"items" nullable:"false" doc:"Edges of the page, by name."`
	Total    int         `json:"total" doc:"Number of all edges."`
	Page     int         `json:"page" doc:"The page, from 1."`
	PageSize int         `json:"page_size" doc:"Edges a page."`
	Rollout  []Rollout   `json:"rollout" nullable:"false" doc:"How far the newest bundles have come, over all edges."`
}

// ChangeEdge is the body that changes the orders of an edge. Absent fields stay.
type ChangeEdge struct {
	Pinned *bool `json:"pinned,omitempty" nullable:"true" doc:"Stay at the bundle in use."`
	Paused *bool `json:"paused,omitempty" nullable:"true" doc:"Answer no evaluations."`
	Reread bool  `json:"reread,omitempty" doc:"Read the place of bundles again."`
}

// EdgeBatch is [EdgeRecords] as an edge sends them: [AppendJSON] writes the bodies from what is stored.
type EdgeBatch struct {
	Entries []EdgeBatchRecord `json:"entries"`
	Note    string            `json:"note"`
}

// EdgeBatchRecord is an [EdgeRecord] with its body as it is stored.
type EdgeBatchRecord struct {
	EdgeRecord

	Body []byte `json:"body"`
}

// RecordsText is the text that an edge signs.
func RecordsText(projectID, edge string, last AuditHead) string {
	return "tenet edge records 1\n" + projectID + "\n" + edge + "\n" + last.Hash + "\n"
}

// EdgeKeyName is the name of the key of an edge.
func EdgeKeyName(projectID, edge string) string { return "tenet-edge/" + projectID + "/" + edge }
