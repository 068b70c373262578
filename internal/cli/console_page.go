package cli

import (
	"cmp"
	"net/url"
	"reflect"
	"strconv"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// notePage notes the address of the page that shows an answer in the console, if a server has given it and has such a page. It goes to stderr, so
// that stdout is the same with and without a server.
func notePage(s *session, answer any) {
	if project, page := pageOf(answer); len(page) > 0 {
		noteAddress(s, project, page...)
	}
}

// noteAddress notes the address of a page of a project, by the parts of its path. The project may be empty for that of the session.
func noteAddress(s *session, project string, page ...string) {
	server := webAddress(s)
	if server == "" {
		return
	}
	var b strings.Builder
	b.WriteString(server)
	if project = cmp.Or(project, s.project(), rule.DefaultProject); project != everyProject {
		b.WriteString("/p/" + url.PathEscape(project))
	} else if page[0] != "operations" && page[0] != "queue" {
		return // the other pages show one project each
	}
	for _, part := range page {
		b.WriteString("/" + url.PathEscape(part))
	}
	s.note("open %s", b.String())
}

// webAddress is the address of the server in use; empty with an embedded database, and if no answer of the server has said that it has a console.
func webAddress(s *session) string {
	if s.server == nil || !client.HasConsole(s.server) {
		return ""
	}
	return strings.TrimRight(cmp.Or(s.globals.Server, s.env("TENET_SERVER")), "/")
}

// pageOf returns the project of an answer and the parts of the path of its page in the console; no parts if it has none.
func pageOf(answer any) (project string, page []string) {
	if v := reflect.ValueOf(answer); v.Kind() == reflect.Pointer {
		if v.IsNil() {
			return "", nil
		}
		answer = v.Elem().Interface()
	}
	if project, page = pageOfList(answer); page != nil {
		return project, page
	}
	switch a := answer.(type) {
	case rule.Rule:
		return a.ProjectID, []string{"rules", a.ID}
	case rule.Revision:
		return "", []string{"rules", a.RuleID}
	case changedRule:
		return "", []string{"rules", a.RuleID}
	case rule.Evaluation:
		if a.Bundle != "" {
			return "", nil // an edge has no console
		}
		return a.ProjectID, []string{"evaluations", a.EvaluationID}
	case wire.EvaluationRecord:
		if a.Evaluation != nil {
			return a.Evaluation.ProjectID, []string{"evaluations", a.Evaluation.EvaluationID}
		}
	case wire.Replay:
		return "", []string{"evaluations", a.EvaluationID}
	case rule.Approval:
		return a.ProjectID, []string{"approvals", a.ID}
	case wire.ApprovalDetail:
		return a.ProjectID, []string{"approvals", a.ID}
	case rule.Alert:
		return a.ProjectID, []string{"alerts"}
	case wire.Conflict:
		return a.ProjectID, []string{"conflicts", a.ID}
	case wire.MendedConflict:
		return a.Conflict.ProjectID, []string{"conflicts", a.Conflict.ID}
	case wire.CandidateDetail:
		return "", []string{"discovery", "candidates", a.ID}
	case scanReport:
		if n := len(a.Scans); n > 0 {
			return "", []string{"discovery", "scans", a.Scans[n-1].ID}
		}
	case wire.ExclusionMade:
		return "", []string{"discovery", "exclusions"}
	case wire.Snapshot:
		return a.ProjectID, []string{"releases", "snapshots", a.ID}
	case wire.Approval:
		return "", []string{"releases", "snapshots", a.SnapshotID}
	case wire.Verification:
		return "", []string{"releases", "snapshots", a.SnapshotID}
	case wire.Deployment:
		return "", []string{"releases"}
	case wire.RolledBack:
		return "", []string{"releases"}
	case wire.NodeDetail:
		return a.ProjectID, []string{"federation", a.ID}
	case wire.ChangedNode:
		return a.ProjectID, []string{"federation", a.ID}
	case wire.AuditEntryDetail:
		return a.ProjectID, []string{"audit", strconv.FormatInt(a.Seq, 10)}
	case wire.AuditReport:
		return a.ProjectID, []string{"audit", "verify"}
	case wire.Policy:
		return a.ProjectID, []string{"webhooks", a.ID}
	case wire.PolicyWithSecret:
		return a.ProjectID, []string{"webhooks", a.ID}
	case wire.Job:
		return a.ProjectID, []string{"operations", "jobs"}
	case wire.Key:
		return a.ProjectID, []string{"operations", "keys"}
	case wire.CreatedKey:
		return a.ProjectID, []string{"operations", "keys"}
	case rule.Project:
		return a.ID, []string{"operations"}
	case wire.Retention, rule.LegalHold:
		return "", []string{"operations", "retention"}
	case rule.Suspension:
		return a.ProjectID, []string{"agents"}
	case rule.Waiver:
		return a.ProjectID, []string{"overview", "waivers"}
	case wire.FleetEdge:
		return "", []string{"fleet"}
	case wire.Overview:
		return a.ProjectID, []string{"overview"}
	case wire.Usage:
		return a.ProjectID, []string{"operations", "usage"}
	}
	return "", nil
}

// pageOfList is as pageOf for lists.
func pageOfList(answer any) (project string, page []string) {
	switch a := answer.(type) {
	case []rule.Rule:
		return "", []string{"rules"}
	case wire.EvaluationPage:
		return "", []string{"evaluations"}
	case wire.ApprovalPage:
		return "", []string{"approvals"}
	case wire.AuditPage:
		return "", []string{"audit"}
	case wire.Alerts:
		return "", []string{"alerts"}
	case wire.ConflictPage:
		return "", []string{"conflicts"}
	case wire.Page[wire.Scan]:
		return "", []string{"discovery"}
	case wire.Page[wire.Exclusion]:
		return "", []string{"discovery", "exclusions"}
	case wire.Snapshots, wire.Page[wire.SimulationRun], []wire.EnvironmentSummary:
		return "", []string{"releases"}
	case wire.Page[wire.HistoryEntry]:
		return "", []string{"releases", "history"}
	case wire.Fleet:
		return "", []string{"fleet"}
	case wire.Page[wire.ActingAgent], wire.Page[rule.Suspension]:
		return "", []string{"agents"}
	case wire.Page[rule.Waiver]:
		return "", []string{"overview", "waivers"}
	case []wire.Policy:
		return "", []string{"webhooks"}
	case wire.Page[rule.LegalHold]:
		return "", []string{"operations", "retention"}
	case wire.Page[wire.Job]:
		return "", []string{"operations", "jobs"}
	case []wire.Key:
		return "", []string{"operations", "keys"}
	case []rule.Project:
		return everyProject, []string{"operations", "projects"}
	case []wire.Server:
		return everyProject, []string{"operations"}
	case wire.Settings:
		return everyProject, []string{"operations", "settings"}
	case wire.Queue:
		return everyProject, []string{"queue"}
	case wire.Page[wire.Delivery]:
		return "", []string{"webhooks"}
	case wire.Page[wire.RevisionDetail]:
		if n := len(a.Items); n == 1 {
			return "", []string{"rules", a.Items[0].Revision.RuleID}
		}
	}
	return "", nil
}
