// Package audit keeps the hash chain of a project: every evaluation and every change of rules is an entry that names the hash
// of the entry before. It has the arithmetic of the chain, the group-commit writer and the verifier.
package audit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/klauspost/compress/zstd"

	"tenet/internal/audit/tree"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Kinds of entries.
const (
	KindEvaluation = "evaluation"
	KindRule       = "rule"         // a rule was created, revised, moved to another status or retired
	KindImport     = "import"       // rules were imported in bulk
	KindCorpus     = "corpus"       // the rules of a project were counted, or accepted after a damage
	KindRelation   = "relationship" // a relationship was made or removed
	KindConflict   = "conflict"     // a conflict of two rules was confirmed or rejected
	KindFederation = "federation"   // a federation node was changed, or what is attached to one
	KindProject    = "project"      // a project was made or changed
	KindKey        = "key"          // an API key was made or revoked
	KindSignIn     = "signin"       // somebody signed in to the console, or out
	KindRelease    = "release"      // a snapshot was taken, deployed or rolled back
	KindDocument   = "document"     // a document was uploaded or deleted
	KindWaiver     = "waiver"       // a waiver was made, approved or revoked
	KindApproval   = "approval"     // an approval was asked for, decided, used, withdrawn, or its time ran out
	KindTestCase   = "test_case"    // test cases of a rule were made, confirmed or deleted
	KindDiscovery  = "discovery"    // a scan was started, or a candidate decided on
	KindAlert      = "alert"        // somebody acknowledged or resolved an alert
	KindWebhook    = "webhook"      // a webhook policy was made, changed or deleted, or its secret rotated
	KindSuspension = "suspension"   // an agent was suspended, or may act again
	KindTools      = "tools"        // a gateway holds tools of an MCP server back, or somebody has accepted them
	KindSample     = "sample"       // the judge disagreed with a sampled verdict of a check or of triage
	KindQueue      = "queue"        // somebody settled an evaluation that waited for an answer, or opened it again
	KindHold       = "hold"         // a legal hold was placed or lifted
	KindPrivacy    = "privacy"      // the personal data of somebody were forgotten
	KindAgent      = "agent"        // an agent answered a request that was not an evaluation
)

// Kinds lists all kinds of entries, in the order in which they are shown.
var Kinds = []string{
	KindEvaluation, KindRule, KindImport, KindRelation, KindConflict, KindFederation, KindRelease, KindWaiver, KindApproval, KindTestCase, KindDiscovery, KindDocument,
	KindAlert, KindSample, KindQueue, KindAgent, KindSuspension, KindTools, KindProject, KindKey, KindSignIn, KindWebhook, KindCorpus, KindRetention, KindHold, KindPrivacy,
}

// Record is something to append to a chain.
type Record struct {
	ProjectID string
	ID        string // a new UUID if empty
	Kind      string
	At        time.Time
	Actor     string
	Verdict   string
	Mode      string
	// Body is the JSON of the record, uncompressed.
	Body []byte
	// Also, if not nil, makes further writes in the same transaction, once the record is in the chain; if it fails, the record
	// is not written. It may run several times, and has no effects outside tx.
	Also func(ctx context.Context, tx store.Tx) error
}

// NewID returns an identifier that sorts by time: a UUID of version 7 (RFC 9562).
func NewID() string { return uuid.Must(uuid.NewV7()).String() }

// maxBody bounds the size of a decompressed body, in bytes, and maxSmall that of one that is unpacked at once although it comes from outside.
const (
	maxBody  = 256 << 20
	maxSmall = 1 << 20
)

var (
	// More encoders than processors would only push each other's tables, of 256 KiB each, out of the caches.
	encoder = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(min(4, runtime.GOMAXPROCS(0)))))
	decoder = must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxBody), zstd.WithDecoderConcurrency(2)))
	// small refuses what unpacks to more than usual bodies do.
	small = must(zstd.NewReader(nil, zstd.WithDecoderMaxMemory(maxSmall), zstd.WithDecoderConcurrency(2)))
)

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// entry returns the entry of a record without its place in the chain.
func entry(r Record) store.AuditEntry {
	if r.ID == "" {
		r.ID = NewID()
	}
	body := Compress(r.Body)
	sum := sha256.Sum256(body)
	return store.AuditEntry{
		ProjectID: r.ProjectID, ID: r.ID, Kind: r.Kind, At: rule.Instant(r.At), Actor: r.Actor,
		Verdict: r.Verdict, Mode: r.Mode, Body: body, BodyHash: hex.EncodeToString(sum[:]),
	}
}

// BodyHash returns the hash of a compressed body, as an entry has it.
func BodyHash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Compress compresses bytes as the chain compresses bodies.
func Compress(b []byte) []byte {
	memory, _ := compressed.Get().(*[]byte)
	out := encoder.EncodeAll(b, (*memory)[:0])
	if *memory = out; cap(out) > maxCompressed {
		return out
	}
	defer compressed.Put(memory)
	return bytes.Clone(out)
}

// compressed is memory for [Compress].
var compressed = sync.Pool{New: func() any { return new([]byte) }}

// maxCompressed bounds the memory that is kept for [Compress], in bytes.
const maxCompressed = 64 << 10

// Decompress is the inverse of [Compress]. It fails if the bytes are damaged.
func Decompress(b []byte) ([]byte, error) { return decoder.DecodeAll(b, nil) }

// DecompressWithin is [Decompress] of bytes that come from outside, into memory that may be used again: it fails if they unpack to more than limit bytes.
func DecompressWithin(b []byte, limit int64, memory []byte) ([]byte, error) {
	if out, err := small.DecodeAll(b, memory[:0]); err == nil && int64(len(out)) <= limit {
		return out, nil
	}
	// It is damaged or large.
	d, err := zstd.NewReader(bytes.NewReader(b), zstd.WithDecoderMaxMemory(uint64(max(limit, 1))), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true)) //nolint:gosec // not negative
	if err != nil {
		return nil, err
	}
	defer d.Close()
	out, err := io.ReadAll(io.LimitReader(d, limit+1))
	if err == nil && int64(len(out)) > limit {
		err = fmt.Errorf("audit: it unpacks to more than %d bytes", limit)
	}
	return out, err
}

// Body returns the JSON of an entry's record. It fails if the stored bytes are damaged.
func Body(e store.AuditEntry) ([]byte, error) {
	b, err := Decompress(e.Body)
	if err != nil {
		return nil, unreadable(&e, err)
	}
	return b, nil
}

// unreadable is the error of an entry whose stored bytes are damaged.
func unreadable(e *store.AuditEntry, err error) error {
	return fmt.Errorf("audit: entry %d of project %s: body cannot be decompressed: %w", e.Seq, e.ProjectID, err)
}

// Hash returns the SHA-256, in hex, of all fields of an entry except Hash and Body, each after its length. BodyHash covers the
// body, so that retention can remove a body without breaking the chain.
func Hash(e store.AuditEntry) string {
	sum := sha256.Sum256(appendHashed(nil, &e))
	return hex.EncodeToString(sum[:])
}

// appendHashed appends what the hash of an entry is taken of.
func appendHashed(b []byte, e *store.AuditEntry) []byte {
	field := func(s string) { b = append(binary.BigEndian.AppendUint64(b, uint64(len(s))), s...) }
	field("tenet audit 1")
	field(e.ProjectID)
	b = binary.BigEndian.AppendUint64(b, 16)
	b = binary.BigEndian.AppendUint64(b, uint64(e.Seq))
	b = binary.BigEndian.AppendUint64(b, uint64(e.At.UnixMicro()))
	for _, s := range [...]string{e.ID, e.Kind, e.Actor, e.Verdict, e.Mode, e.BodyHash, e.PrevHash} {
		field(s)
	}
	return b
}

// link gives entries, which are sorted by project, their places behind the ends of their chains, and returns the trees that then end
// there, by project. The chain of an older version has none until a job has made it.
func link(ends map[string]store.AuditEnd, entries []store.AuditEntry) (trees map[string]string, err error) {
	trees = make(map[string]string, len(ends))
	var end store.AuditEnd
	var front tree.Front
	whole := false // the tree of the chain is known
	for i := range entries {
		e := &entries[i]
		if i == 0 || e.ProjectID != entries[i-1].ProjectID {
			end = ends[e.ProjectID]
			var damage error // a job makes the tree again
			front, damage = tree.ParseFront(end.Seq, end.Tree)
			whole = damage == nil
		}
		e.Seq, e.PrevHash = end.Seq+1, end.Hash
		e.Hash = Hash(*e)
		end.AuditHead = wire.AuditHead{Seq: e.Seq, Hash: e.Hash}
		if !whole {
			continue
		}
		leaf, err := tree.Leaf(e.Hash)
		if err != nil {
			return nil, err
		}
		front.Append(leaf)
		if i == len(entries)-1 || entries[i+1].ProjectID != e.ProjectID {
			trees[e.ProjectID] = front.String()
		}
	}
	return trees, nil
}

// Append writes records of one project in a transaction, so that they are durable exactly when its other writes are. The last one also
// records what the transaction has changed of what is in force.
func Append(ctx context.Context, tx store.Tx, projectID string, records ...Record) error {
	changed, err := inForce(ctx, tx, projectID)
	if err != nil {
		return err
	}
	entries := make([]store.AuditEntry, len(records))
	for i, r := range records {
		r.ProjectID = projectID
		if i == len(records)-1 && changed != nil {
			if r.Body, err = changed.into(r.Body); err != nil {
				return err
			}
		}
		entries[i] = entry(identified(ctx, r))
	}
	if err := appendEntries(ctx, tx, entries); err != nil {
		return err
	}
	for _, r := range records {
		if r.Also == nil {
			continue
		}
		if err := r.Also(ctx, tx); err != nil {
			return err
		}
	}
	return nil
}

// appendEntries writes entries that are sorted by project.
func appendEntries(ctx context.Context, tx store.Tx, entries []store.AuditEntry) error {
	var projects []string
	for i := range entries {
		if i == 0 || entries[i].ProjectID != entries[i-1].ProjectID {
			projects = append(projects, entries[i].ProjectID)
		}
	}
	ends, err := tx.Audit.LockMany(ctx, projects)
	if err != nil {
		return err
	}
	trees, err := link(ends, entries)
	if err != nil {
		return err
	}
	return tx.Audit.Append(ctx, entries, trees)
}

// JSON encodes a record's body. Bodies are structs of this project, so a failure is a programming error.
func JSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic("audit: a record must encode as JSON: " + err.Error())
	}
	return b
}
