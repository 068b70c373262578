// Package export gives the decisions in audit chains to other systems: to Parquet files, NATS JetStream and Kafka. Each place gets every decision at
// least once, with its id, from where it stopped the last time.
package export

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
	"time"

	"tenet/internal/audit"
	"tenet/internal/bundle/place"
	"tenet/internal/job"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// Kind is the kind of the background job that exports.
const Kind = "decisions.export"

// batch bounds the entries that one write to a place covers.
const batch = 2000

// Decision is an evaluation as places get it.
type Decision struct {
	ID          string    `json:"id" parquet:"id"`
	ProjectID   string    `json:"project_id" parquet:"project_id,dict"`
	Seq         int64     `json:"seq" parquet:"seq"` // in the audit chain
	At          time.Time `json:"at" parquet:"at,timestamp(microsecond)"`
	Actor       string    `json:"actor" parquet:"actor,dict"`
	Agent       string    `json:"agent" parquet:"agent,dict"`
	Person      string    `json:"person" parquet:"person,dict"`
	Verdict     string    `json:"verdict" parquet:"verdict,dict"`
	Mode        string    `json:"mode" parquet:"mode,dict"`
	Kinds       []string  `json:"subject_kinds" parquet:"subject_kinds,list"`
	Repository  string    `json:"repository" parquet:"repository,dict"`
	Scope       string    `json:"scope" parquet:"scope,dict"`
	Environment string    `json:"environment" parquet:"environment,dict"`
	Snapshot    string    `json:"snapshot_id" parquet:"snapshot_id,dict"`
	Bundle      string    `json:"bundle" parquet:"bundle,dict"`
	Rules       int64     `json:"rules_judged" parquet:"rules_judged"`
	Violated    []string  `json:"violated" parquet:"violated,list"`   // slugs or ids of rules
	Undecided   []string  `json:"undecided" parquet:"undecided,list"` // that are to be confirmed
	LatencyMS   int64     `json:"latency_ms" parquet:"latency_ms"`
	Hash        string    `json:"hash" parquet:"hash"` // of the entry in the audit chain
}

// Place takes decisions. A write that has failed is repeated, also in part: the decisions have ids.
type Place interface {
	// Write returns once the place has decisions of one project durably. first is the number of the first entry of the chain that the write covers.
	Write(ctx context.Context, projectID string, first int64, list []Decision) error
	Close()
}

// Config sets up [New]. All fields are required.
type Config struct {
	Updater   store.Updater
	Audit     store.AuditReader
	Exports   store.ExportReader
	Projects  store.ProjectReader
	Addresses []string // of places
	Env       func(string) string
	Logger    *slog.Logger
}

// Exporter exports to places. It is safe for concurrent use.
type Exporter struct {
	cfg    Config
	places []named
}

// named is a place with the name under which its positions are stored.
type named struct {
	Place

	name string
}

// Forms lists the forms of places, for messages and help.
const Forms = "file:PATH and s3://BUCKET/PREFIX (Parquet), nats://HOST:PORT/SUBJECT, kafka://HOST:PORT/TOPIC"

// New makes an Exporter. It connects to no place yet.
func New(cfg Config) (*Exporter, error) {
	e := &Exporter{cfg: cfg}
	for _, address := range cfg.Addresses {
		p, err := open(address, cfg.Env)
		if err != nil {
			e.Close()
			return nil, err
		}
		e.places = append(e.places, named{p, nameOf(address)})
	}
	return e, nil
}

// nameOf is an address without credentials and options.
func nameOf(address string) string {
	if u, err := url.Parse(address); err == nil && u.Host != "" {
		return u.Scheme + "://" + u.Host + u.Path
	}
	return address
}

func open(address string, env func(string) string) (Place, error) {
	scheme, _, _ := strings.Cut(address, ":")
	switch scheme {
	case "file", "s3":
		at, err := place.ParseObjects(address, place.Config{Env: env})
		if err != nil {
			return nil, err
		}
		return parquetFiles{at}, nil
	case "nats", "kafka":
		u, err := url.Parse(address)
		if err != nil || u.Host == "" || len(u.Path) < 2 {
			return nil, rule.Errorf(rule.CodeInvalid, "the export %s is not an address; use %s", nameOf(address), Forms)
		}
		if scheme == "nats" {
			return &natsPlace{address: u, subject: u.Path[1:]}, nil
		}
		return newKafka(strings.Split(u.Host, "+"), u.Path[1:])
	}
	return nil, rule.Errorf(rule.CodeInvalid, "the export %s has an unknown form; use %s", nameOf(address), Forms)
}

// Close ends the connections to places.
func (e *Exporter) Close() {
	for _, p := range e.places {
		p.Close()
	}
}

// On reports whether there is any place.
func (e *Exporter) On() bool { return len(e.places) > 0 }

// Periodic returns the rounds of the job.
func Periodic(every time.Duration) job.Periodic {
	return job.Periodic{Kind: Kind, Every: every, Priority: job.Last}
}

// Handle is the job: it brings all places up to the ends of all chains. A place that fails keeps no other one waiting.
func (e *Exporter) Handle(ctx context.Context, _ wire.Job, _ func(done, total int)) error {
	projects, err := e.cfg.Projects.List(ctx)
	if err != nil {
		return err
	}
	var failed error
	for _, p := range e.places {
		for i := range projects {
			if err := e.export(ctx, p, projects[i].ID); err != nil {
				failed = cmp.Or(failed, fmt.Errorf("export to %s: %w", p.name, err))
				break
			}
		}
	}
	return failed
}

// export brings one place up to the end of one chain.
func (e *Exporter) export(ctx context.Context, p named, projectID string) error {
	after, err := e.cfg.Exports.Position(ctx, projectID, p.name)
	if err != nil {
		return err
	}
	for ctx.Err() == nil {
		entries, err := e.cfg.Audit.Entries(ctx, projectID, after, batch)
		if err != nil || len(entries) == 0 {
			return err
		}
		var list []Decision
		for i := range entries {
			d, ok, err := decisionOf(&entries[i])
			if err != nil {
				return err
			}
			if ok {
				list = append(list, d)
			}
		}
		if len(list) > 0 {
			if err := p.Write(ctx, projectID, after+1, list); err != nil {
				return err
			}
		}
		after = entries[len(entries)-1].Seq
		if err := e.cfg.Updater.Update(ctx, func(tx store.Tx) error { return tx.Exports.Move(ctx, projectID, p.name, after) }); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// maxRecord bounds a record, unpacked.
const maxRecord = 256 << 20

// decisionOf reads the decision of an entry; false if it is of another kind, or retention has removed the record.
func decisionOf(entry *store.AuditEntry) (Decision, bool, error) {
	if entry.Kind != audit.KindEvaluation || len(entry.Body) == 0 {
		return Decision{}, false, nil
	}
	body, err := audit.DecompressWithin(entry.Body, maxRecord, nil)
	if err != nil {
		return Decision{}, false, fmt.Errorf("the record of entry %d of project %s cannot be read: %w", entry.Seq, entry.ProjectID, err)
	}
	var rec wire.EvaluationRecord
	if err := json.Unmarshal(body, &rec); err != nil || rec.Evaluation == nil {
		return Decision{}, false, fmt.Errorf("entry %d of project %s holds no record of an evaluation: %w", entry.Seq, entry.ProjectID, err)
	}
	v := rec.Evaluation
	listed := *v
	listed.Tally() // records leave out what follows from the verdicts
	d := Decision{
		ID: entry.ID, ProjectID: entry.ProjectID, Seq: entry.Seq, At: entry.At.UTC(), Actor: entry.Actor, Verdict: string(v.OverallVerdict), Mode: string(v.Mode),
		Repository: rec.Subject.Repository, Scope: rec.Subject.Scope, Environment: rec.Environment, Bundle: v.Bundle, Rules: int64(v.Coverage.RulesJudged),
		LatencyMS: v.TotalLatencyMS, Hash: entry.Hash, Kinds: []string{}, Violated: names(listed.Violations), Undecided: names(listed.Warnings),
	}
	if v.SnapshotID != nil {
		d.Snapshot = *v.SnapshotID
	}
	if rec.Identity != nil {
		d.Agent, d.Person = rec.Identity.Agent, rec.Identity.Person
	}
	for _, k := range rec.Kinds {
		d.Kinds = append(d.Kinds, string(k))
	}
	return d, true, nil
}

// names are the slugs of the rules of verdicts, in order, or their ids.
func names(list []rule.RuleVerdict) []string {
	out := make([]string, 0, len(list))
	for i := range list {
		out = append(out, cmp.Or(list[i].RuleSlug, list[i].RuleID))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// Lag is how many entries a place is behind, over all projects.
type Lag struct {
	Place   string
	Entries int64
}

// Lags returns how far the places are behind the chains.
func (e *Exporter) Lags(ctx context.Context) ([]Lag, error) {
	projects, err := e.cfg.Projects.List(ctx)
	if err != nil {
		return nil, err
	}
	lags := make([]Lag, len(e.places))
	for i := range projects {
		head, err := e.cfg.Audit.Head(ctx, projects[i].ID)
		if err != nil {
			return nil, err
		}
		for n, p := range e.places {
			at, err := e.cfg.Exports.Position(ctx, projects[i].ID, p.name)
			if err != nil {
				return nil, err
			}
			lags[n].Place = p.name
			lags[n].Entries += max(0, head.Seq-at)
		}
	}
	return lags, nil
}
