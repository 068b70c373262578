package wire

import "time"

// Headers of every answer of an edge: the bundle in use when the request began, as in [BundleInfo].Hash, and the seconds since a server vouched for it.
// If a newer one came while the request waited, the body of an evaluation names that one.
const (
	BundleHeader    = "Tenet-Bundle"
	BundleAgeHeader = "Tenet-Bundle-Age"
)

// BundleInfo describes the newest bundle of an environment.
type BundleInfo struct {
	ProjectID   string      `json:"project_id" doc:"Project of the rules."`
	Environment Environment `json:"environment" doc:"Environment to which they are deployed."`
	Seq         int64       `json:"seq" doc:"Number of the bundle; it grows with each change of what is deployed, of waivers, keys, suspensions or the policy."`
	Action      string      `json:"action" enum:"deploy,rollback" doc:"How its snapshot became active."`
	SnapshotID  string      `json:"snapshot_id" doc:"The snapshot."`
	Root        string      `json:"root" doc:"Merkle root of the snapshot: its content_hash."`
	Rules       int         `json:"rules" doc:"Rules in it."`
	Hash        string      `json:"hash" doc:"SHA-256 of its text, in hex: the name of the bundle."`
	Size        int64       `json:"size" doc:"Bytes of the compressed body."`
	RawSize     int64       `json:"raw_size" doc:"Bytes of the text."`
	BuiltAt     time.Time   `json:"built_at" doc:"When it was made."`
	SignedAt    time.Time   `json:"signed_at" doc:"When the server last vouched that it is the newest."`
	Name        string      `json:"name" doc:"Name of the keys that sign it."`
	Keys        []string    `json:"keys" nullable:"false" doc:"Verifier keys (C2SP vkey) of the bundles of the environment. An edge trusts these."`
}

// BundleQuery asks for a bundle.
type BundleQuery struct {
	Base string `query:"base" doc:"Hash of the bundle that you have. The answer is then the change from it, where that is smaller and the bundle is still stored."`
}
