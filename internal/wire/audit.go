package wire

import (
	"encoding/json"
	"time"

	"tenet/internal/rule"
)

// AuditReport is the result of a verification.
type AuditReport struct {
	ProjectID string `json:"project_id"`
	Entries   int64  `json:"entries"`
	// Pruned counts the entries whose bodies were removed under the retention setting, as the chain itself says.
	Pruned   int64          `json:"pruned"`
	Head     AuditHead      `json:"head"`
	Problems []AuditProblem `json:"problems"`
	// Next is where a verification that was limited ended; the next one begins there. Nil if it has reached the end of the chain.
	Next *AuditHead `json:"next,omitempty" doc:"Where the verification stopped because of limit; give it as after_seq and after_hash to go on. Absent at the end of the chain."`
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

// AuditLog is the state of the transparency log of a project's audit chain.
type AuditLog struct {
	ProjectID  string           `json:"project_id" doc:"The project."`
	Origin     string           `json:"origin" doc:"Name of the log; empty if this server does not sign checkpoints."`
	Size       int64            `json:"size" doc:"Entries of the chain."`
	Keys       []AuditLogKey    `json:"keys" nullable:"false" doc:"Keys that verify checkpoints of the log."`
	Checkpoint *AuditCheckpoint `json:"checkpoint" doc:"The newest checkpoint; null before the first."`
	Policy     string           `json:"policy" doc:"Keys of the log, and the witnesses and their quorum, as a policy for tenet audit check (C2SP tlog-policy); empty without keys. Compare the keys with those that you got elsewhere."`
	Problem    string           `json:"problem,omitempty" doc:"Why the log does not continue its last checkpoint, and what to do; absent if it does."`
}

// AuditLogKey is a key of a log.
type AuditLogKey struct {
	Key   string `json:"key" doc:"As a verifier key of C2SP signed notes."`
	Signs bool   `json:"signs" doc:"Whether it signs now; else it has signed older checkpoints."`
}

// CompareAudit asks to compare the entries of a project with checkpoints of its log.
type CompareAudit struct {
	Origin      string               `json:"origin,omitempty" maxLength:"400" doc:"Name of the log that signed them; for the record only."`
	Checkpoints []ComparedCheckpoint `json:"checkpoints" minItems:"1" maxItems:"1000" doc:"Their sizes and roots. Check their signatures yourself."`
}

// ComparedCheckpoint is the size and the root of a checkpoint.
type ComparedCheckpoint struct {
	Size int64  `json:"size" minimum:"0" doc:"Entries."`
	Root string `json:"root" maxLength:"44" doc:"Root hash, in base64."`
}

// AuditComparison is the result of a comparison.
type AuditComparison struct {
	ProjectID string         `json:"project_id" doc:"The project."`
	Size      int64          `json:"size" doc:"Entries of the chain."`
	Compared  int            `json:"compared" doc:"Checkpoints that fit."`
	Through   int64          `json:"through_seq" doc:"Entry up to which the chain is as the checkpoints say."`
	Problems  []AuditProblem `json:"problems" nullable:"false" doc:"The first place where it is not; empty if there is none."`
}

// ProofQuery chooses what is sent of a proof.
type ProofQuery struct {
	Part string `query:"part" enum:"proof,record" default:"proof" doc:"proof, or the stored record, compressed with zstd, of which the log has the hash."`
}

// AuditCheckpoint is a signed checkpoint of a log.
type AuditCheckpoint struct {
	Size      int64     `json:"size" doc:"Entries that it covers."`
	At        time.Time `json:"at" doc:"When it was signed, or cosigned last."`
	Witnessed bool      `json:"witnessed" doc:"Whether the quorum of witnesses has cosigned it; true where none are asked."`
	Note      string    `json:"note" doc:"The signed note, with the cosignatures."`
}

// AuditObject is the thing that an entry of the audit chain is about.
type AuditObject struct {
	Kind  string `json:"kind" doc:"What it is, such as rule, waiver, webhook or snapshot." example:"rule"`
	ID    string `json:"id,omitempty" doc:"Its id; with its kind it selects the entries about it."`
	Label string `json:"label,omitempty" doc:"Its slug, name or statement, as it was then."`
}

// AuditRule is a rule that an entry concerns.
type AuditRule struct {
	ID   string `json:"id" format:"uuid" doc:"Id of the rule."`
	Slug string `json:"slug,omitempty" doc:"Slug that it has now."`
}

// AuditEntry is an entry of the audit chain.
type AuditEntry struct {
	ProjectID string    `json:"project_id" doc:"Project of the chain."`
	Seq       int64     `json:"seq" doc:"Number in the chain, from 1 without gaps."`
	ID        string    `json:"id" doc:"Identifier; that of the evaluation for an entry of kind evaluation."`
	At        time.Time `json:"at" doc:"When it was recorded."`
	Kind      string    `json:"kind" doc:"Kind of the entry, such as evaluation, rule, waiver or key." example:"rule"`
	Action    string    `json:"action" doc:"What was done." example:"revised"`
	Actor     string    `json:"actor" doc:"Who did it; empty or tenet for the server." example:"key:ci"`
	// Identity is nil where the actor says it all.
	Identity  *rule.Identity `json:"identity,omitempty" doc:"For whom and by which agent the actor acted; absent if the actor says it all."`
	Object    AuditObject    `json:"object" doc:"What it was done to."`
	Summary   string         `json:"summary" doc:"The entry in one line, for people."`
	Reason    string         `json:"reason,omitempty" doc:"The reason that the actor gave."`
	Verdict   string         `json:"verdict,omitempty" doc:"Overall verdict of an evaluation."`
	Mode      string         `json:"mode,omitempty" doc:"Mode of an evaluation: preflight or posthoc."`
	Rules     []AuditRule    `json:"rules,omitempty" nullable:"false" doc:"Rules that the entry concerns, 20 at most; absent without any, and for evaluations."`
	RuleCount int            `json:"rule_count,omitempty" doc:"Number of rules that the entry concerns."`
	// EvaluationID is empty for entries that concern no evaluation.
	EvaluationID string   `json:"evaluation_id,omitempty" doc:"Evaluation that the entry concerns."`
	Fields       []string `json:"fields,omitempty" nullable:"false" doc:"Names of the fields that the entry records as changed."`
	Removed      bool     `json:"removed,omitempty" doc:"True if the body was removed under the retention setting."`
	Withheld     bool     `json:"withheld,omitempty" doc:"True if only administrators see the details: entries about keys, sign-ins and webhooks."`
	Problem      string   `json:"problem,omitempty" doc:"Why the body cannot be read, if it is damaged."`
	Hash         string   `json:"hash" doc:"Hash of the entry, which the next one names."`
}

// AuditPage is a page of entries of the audit chain, newest first.
type AuditPage struct {
	Page[AuditEntry]

	NextCursor string `json:"next_cursor,omitempty" doc:"Cursor of the next page; absent on the last."`
	Unsearched int64  `json:"unsearched,omitempty" doc:"Entries that are neither indexed yet nor among the newest, and so were not searched; they soon will be."`
}

// AuditRuleChange holds the changes of one of the rules that an entry names by version.
type AuditRuleChange struct {
	RuleID  string             `json:"rule_id" format:"uuid" doc:"Id of the rule."`
	Slug    string             `json:"slug,omitempty" doc:"Its slug in that version."`
	Version int                `json:"version" doc:"Version that the entry has made."`
	Action  string             `json:"action" doc:"What was done with the rule." example:"updated"`
	Changes []rule.FieldChange `json:"changes" nullable:"false" doc:"Fields in which the version differs from the one before it."`
}

// AuditEntryDetail is an entry of the audit chain with what changed.
type AuditEntryDetail struct {
	AuditEntry

	Changes []rule.FieldChange `json:"changes" nullable:"false" doc:"What changed, field by field; a field without before was set, one without after was removed."`
	// Compared is the entry that changes of entries without recorded changes were compared with; 0 if they are as recorded.
	Compared    int64                 `json:"compared_with,omitempty" doc:"Number of the entry before about the same object, where the entry itself holds only the new state and changes compares the two."`
	RuleChanges Page[AuditRuleChange] `json:"rule_changes" doc:"What changed in the rules that the entry names by version, as imports do."`
	Record      json.RawMessage       `json:"record,omitempty" doc:"The body as recorded; absent for evaluations, which have an operation of their own."`
	BodyHash    string                `json:"body_hash" doc:"SHA-256 of the stored body."`
	PrevHash    string                `json:"prev_hash" doc:"Hash of the entry before."`
}

// AuditLine is a line of an export of the audit chain.
type AuditLine struct {
	AuditEntry

	Changes  []rule.FieldChange `json:"changes,omitempty" nullable:"false" doc:"Fields that the entry records as changed."`
	Record   json.RawMessage    `json:"record,omitempty" doc:"The body as recorded; absent for evaluations."`
	BodyHash string             `json:"body_hash" doc:"SHA-256 of the stored body."`
	PrevHash string             `json:"prev_hash" doc:"Hash of the entry before."`
}
