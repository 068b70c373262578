// Package auditor checks proofs and evidence packs for people: it says in words what is proven, and what is not. The page for auditors runs it in
// a browser.
package auditor

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/evidence/attest"
	"tenet/internal/evidence/pack"
	"tenet/internal/wire"
)

// Report is the result of a check.
type Report struct {
	Proven bool `json:"proven"`
	// Summary names the entries that are proven, or says why nothing is.
	Summary string `json:"summary"`
	Rows    []Row  `json:"rows"`
}

// Row is a finding of a check.
type Row struct {
	Name string `json:"name"`
	Text string `json:"text"`
	// Caution marks a finding that limits what is proven.
	Caution bool `json:"caution"`
}

func (r *Report) row(name, format string, args ...any) {
	r.Rows = append(r.Rows, Row{Name: name, Text: fmt.Sprintf(format, args...)})
}

func (r *Report) caution(name, format string, args ...any) {
	r.Rows = append(r.Rows, Row{Name: name, Text: fmt.Sprintf(format, args...), Caution: true})
}

// Check checks a proof or an evidence pack by a policy of keys. record, if not empty, is a record that must be the one of the proof.
func Check(policy, file, record []byte) Report {
	keys, err := checkpoint.ParsePolicy(policy)
	if err != nil {
		return Report{Summary: "The policy cannot be read: " + err.Error()}
	}
	if bytes.HasPrefix(file, []byte("PK\x03\x04")) {
		if len(record) > 0 {
			return Report{Summary: "A pack has its records in it. Take the record away."}
		}
		return checkPack(keys, file)
	}
	return checkProof(keys, file, record)
}

func checkProof(keys *checkpoint.Policy, file, record []byte) Report {
	p, err := attest.Check(file, keys, record)
	if err != nil {
		return Report{Summary: err.Error()}
	}
	e := p.Entry
	r := Report{Proven: true, Summary: fmt.Sprintf("%s %s is entry %d of the log %s", e.Kind, e.ID, e.Seq, p.Origin)}
	if e.Verdict != "" {
		r.row("Verdict", "%s", e.Verdict)
	}
	r.row("Recorded", "%s, for %s", e.At.UTC().Format(time.RFC3339), e.Actor)
	r.seen(&p.Seen)
	switch {
	case p.Record == nil:
		r.caution("Record", "not in the proof: its verdict, time, actor and hash are proven, its content is not")
	case p.Compared:
		r.row("Record", "whole, and the same as the one that was given")
	default:
		r.row("Record", "whole")
	}
	if v := p.Evaluation; v != nil {
		if v.Kept == wire.KeepNone {
			r.caution("Subject", "was not recorded")
		}
		if x := v.Personal; x != nil {
			r.caution("Personal", "%s: encrypted when it was recorded, under %d keys of people; with a deleted key it is forgotten. The texts of verdicts are encrypted with it", strings.Join(x.Fields, ", "), len(x.Keys))
		}
		for _, x := range v.Redactions {
			r.caution("Redacted", "%s in %s, line %d, before it was recorded", x.Kind, x.Where, x.Line)
		}
	}
	return r
}

func checkPack(keys *checkpoint.Policy, file []byte) Report {
	p, err := pack.Check(bytes.NewReader(file), int64(len(file)), keys)
	if err != nil {
		return Report{Summary: err.Error()}
	}
	f := p.Manifest.Figures
	r := Report{Proven: true, Summary: fmt.Sprintf("%d entries are in the log %s", f.Entries, p.Origin)}
	r.row("Asked", "%s", p.Manifest.Query)
	r.row("Decided", "%d evaluations: %d ALLOW, %d DENY, %d NEEDS_CONFIRMATION", f.Kinds["evaluation"], f.Verdicts["ALLOW"], f.Verdicts["DENY"], f.Verdicts["NEEDS_CONFIRMATION"])
	r.row("Rules", "%d versions, each the one that decided", f.RuleContent-len(p.Missing))
	r.seen(&p.Seen)
	if f.Removed+f.Withheld > 0 {
		r.caution("Bodies", "%d were removed under the retention setting and %d are for administrators: their entries are proven, what they say is not", f.Removed, f.Withheld)
	}
	for _, m := range p.Missing {
		r.caution("Missing", "version %d of the rule %s, which decided, is not in the pack", m.Version, m.RuleID)
	}
	if f.Sealed > 0 {
		r.caution("Personal", "%d evaluations have personal data that were encrypted when they were recorded; %d keys of people were deleted in this time", f.Sealed, f.Kinds["privacy"])
	}
	if len(p.Unproven) > 0 {
		r.caution("Unproven", "%s: changed, or made by another version than this page", strings.Join(p.Unproven, ", "))
	}
	return r
}

func (r *Report) seen(s *checkpoint.Seen) {
	r.row("Signed", "by the log, in a checkpoint of %d entries", s.Size)
	for _, c := range s.Cosigned {
		r.row("Seen", "by the witness %s at %s", c.Witness, c.At.UTC().Format(time.RFC3339))
	}
	if len(s.Cosigned) == 0 {
		r.caution("Seen", "by no witness: the owner of the log's key could have made another log")
	}
}
