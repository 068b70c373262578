package pack

import (
	"fmt"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The parts of OSCAL assessment results 1.1.3 that a pack has.
type (
	oscalDocument struct {
		Results oscalResults `json:"assessment-results"`
	}
	oscalResults struct {
		UUID     string        `json:"uuid"`
		Metadata oscalMetadata `json:"metadata"`
		ImportAP oscalLink     `json:"import-ap"`
		Results  []oscalResult `json:"results"`
	}
	oscalMetadata struct {
		Title    string      `json:"title"`
		Modified string      `json:"last-modified"`
		Version  string      `json:"version"`
		OSCAL    string      `json:"oscal-version"`
		Props    []oscalProp `json:"props,omitempty"`
		Remarks  string      `json:"remarks"`
	}
	oscalLink struct {
		Href    string `json:"href"`
		Remarks string `json:"remarks,omitempty"`
	}
	oscalProp struct {
		Name      string `json:"name"`
		Namespace string `json:"ns"`
		Value     string `json:"value"`
	}
	oscalResult struct {
		UUID         string             `json:"uuid"`
		Title        string             `json:"title"`
		Description  string             `json:"description"`
		Start        string             `json:"start"`
		End          string             `json:"end,omitempty"`
		Controls     oscalControls      `json:"reviewed-controls"`
		Observations []oscalObservation `json:"observations,omitempty"`
		Findings     []oscalFinding     `json:"findings,omitempty"`
	}
	oscalControls struct {
		Description string           `json:"description"`
		Selections  []oscalSelection `json:"control-selections"`
	}
	oscalSelection struct {
		All struct{} `json:"include-all"`
	}
	oscalObservation struct {
		UUID        string      `json:"uuid"`
		Title       string      `json:"title"`
		Description string      `json:"description"`
		Props       []oscalProp `json:"props"`
		Methods     []string    `json:"methods"`
		Collected   string      `json:"collected"`
	}
	oscalFinding struct {
		UUID        string             `json:"uuid"`
		Title       string             `json:"title"`
		Description string             `json:"description"`
		Target      oscalTarget        `json:"target"`
		Related     []oscalObservedRef `json:"related-observations"`
	}
	oscalTarget struct {
		Type   string      `json:"type"`
		ID     string      `json:"target-id"`
		Status oscalStatus `json:"status"`
	}
	oscalStatus struct {
		State  string `json:"state"`
		Reason string `json:"reason,omitempty"`
	}
	oscalObservedRef struct {
		UUID string `json:"observation-uuid"`
	}
)

// oscalNamespace is that of the properties.
const oscalNamespace = "urn:tenet:oscal"

// oscal returns the figures of a pack as OSCAL assessment results: an observation and a finding for each rule that has verdicts. A rule is satisfied if nothing
// was denied by it, or only what was waived, and nothing waits for confirmation.
func oscal(m *Manifest) oscalDocument {
	f := m.Figures
	at := m.At.UTC().Format(time.RFC3339)
	id := func(of string) string {
		return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "%s/%d/%s/%s", m.Log, m.Checkpoint, m.Query, of)).String()
	}
	r := oscalResult{
		UUID: id("result"), Title: "Evaluations of the project " + m.ProjectID, Start: at, End: at,
		Description: fmt.Sprintf("%d evaluations among %d entries of the audit log: %d allowed, %d denied, %d to be confirmed.",
			f.Kinds["evaluation"], f.Entries, f.Verdicts["ALLOW"], f.Verdicts["DENY"], f.Verdicts["NEEDS_CONFIRMATION"]),
		Controls: oscalControls{Description: "The rules that decided in the period.", Selections: []oscalSelection{{}}},
	}
	if f.From != nil {
		r.Start, r.End = f.From.Format(time.RFC3339), f.To.Format(time.RFC3339)
	}
	for _, one := range f.Rules {
		name := one.Slug
		if name == "" {
			name = one.ID
		}
		statement := one.Statement
		if statement == "" {
			statement = name
		}
		prop := func(name string, n int) oscalProp { return oscalProp{name, oscalNamespace, strconv.Itoa(n)} }
		o := oscalObservation{
			UUID: id("observation/" + one.ID), Title: name, Description: statement, Methods: []string{"TEST"}, Collected: r.End,
			Props: []oscalProp{prop("allowed", one.Allowed), prop("denied", one.Denied), prop("needs-confirmation", one.Confirm), prop("waived", one.Waived)},
		}
		status := oscalStatus{State: "satisfied", Reason: "pass"}
		if one.Denied > 0 || one.Confirm > 0 {
			status = oscalStatus{State: "not-satisfied", Reason: "fail"}
		}
		r.Observations = append(r.Observations, o)
		r.Findings = append(r.Findings, oscalFinding{
			UUID: id("finding/" + one.ID), Title: name, Description: statement, Related: []oscalObservedRef{{o.UUID}},
			Target: oscalTarget{Type: "objective-id", ID: "rule-" + one.ID, Status: status},
		})
	}
	return oscalDocument{oscalResults{
		UUID: id("document"), ImportAP: oscalLink{Href: "#", Remarks: "The rules of the project are the plan."}, Results: []oscalResult{r},
		Metadata: oscalMetadata{
			Title: "Assessment results of " + m.ProjectID, Modified: at, Version: strconv.FormatInt(m.Checkpoint, 10), OSCAL: "1.1.3",
			Props:   []oscalProp{{"log", oscalNamespace, m.Log}, {"checkpoint-size", oscalNamespace, strconv.FormatInt(m.Checkpoint, 10)}},
			Remarks: m.Query,
		},
	}}
}
