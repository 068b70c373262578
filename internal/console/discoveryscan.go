package console

import (
	"context"
	"encoding/gob"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Names of the values that discovery keeps in a session.
const (
	triageUndoValue   = "discovery-undo"   // what the last decisions can take back
	triageReasonValue = "discovery-reason" // the last reason, for the next decision
)

// triageUndo holds decisions that can be taken back.
type triageUndo struct {
	Project    string
	Candidates []string
	Exclusion  string
}

func init() { gob.Register(triageUndo{}) }

// maxListedFiles bounds the files that a scan lists.
const maxListedFiles = 50

// scan is the view of a scan.
type scan struct {
	wire.Scan
	candidates []wire.Candidate
	files      wire.Page[wire.ScanFile]
	place      pager
	status     wire.CandidateStatus // filter; empty means all
	path       string               // filter
	least      float64              // filter: the confidence
	problem    string
	undo       int
	reason     string
}

// triageQuery are the filters of a page as the API takes them, and whether they are numbers at all.
func triageQuery(p *page) (wire.CandidateQuery, string) {
	from := p.r.URL.Query()
	q := wire.CandidateQuery{Status: wire.CandidateUndecided, Path: from.Get("path")}
	if from.Has("status") {
		q.Status = wire.CandidateStatus(from.Get("status"))
	}
	if q.Status == "all" {
		q.Status = ""
	}
	problem := ""
	if text := from.Get("min_confidence"); text != "" {
		n, err := strconv.ParseFloat(text, 64)
		if err != nil || !(n >= 0 && n <= 1) {
			problem = "min_confidence must be a number from 0 to 1, such as 0.8"
		} else {
			q.MinConfidence = n
		}
	}
	return q, problem
}

// scanPage shows a scan: how far it has come, and then its candidates.
func scanPage(p *page) error {
	s, err := client.Get(p.ctx, p.api, op.GetScan.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	v := scan{Scan: s, reason: p.console.sessions.GetString(p.ctx, triageReasonValue)}
	h := head{Title: "Scan of " + scanTitle(&s), Nav: discoveryName}
	if s.Status != wire.Completed {
		if isOpen(&s) {
			h.Refresh = refreshSeconds
		}
		return p.show(h, scanView(p, &v))
	}
	if err := v.load(p); err != nil {
		return err
	}
	return p.show(h, scanView(p, &v))
}

// load reads a page of the candidates of a completed scan, and the files that have some.
func (v *scan) load(p *page) error {
	q, problem := triageQuery(p)
	q.Limit, q.Offset = listSize, (pageOf(p.r)-1)*listSize
	v.status, v.path, v.least, v.problem = q.Status, q.Path, q.MinConfidence, problem
	list, err := client.Get(p.ctx, p.api, op.ListCandidates.At(v.ID).Where(q))
	if err != nil {
		if v.problem, err = refusedFilter(err); err != nil {
			return err
		}
	}
	v.candidates = list.Candidates
	v.place = pager{pageOf(p.r), listSize, len(list.Candidates), list.Total}
	if v.files, err = client.Get(p.ctx, p.api, op.ListScanFiles.At(v.ID).Where(wire.PageQuery{Page: 1, PageSize: maxListedFiles})); err != nil {
		return err
	}
	if kept, ok := p.console.sessions.Get(p.ctx, triageUndoValue).(triageUndo); ok && kept.Project == p.project.ID {
		v.undo = kept.count()
	}
	return nil
}

func (u triageUndo) count() int {
	if u.Exclusion != "" {
		return 1
	}
	return len(u.Candidates)
}

// refreshSeconds is how often a page without scripts is loaded again while a scan runs.
const refreshSeconds = 2

// liveScan streams how far a scan has come to the page that shows it.
func liveScan(p *page) error {
	id := p.r.PathValue("id")
	over := false
	return streamUntil(p, &over, func(ctx context.Context) (templ.Component, error) {
		s, err := client.Get(ctx, p.api, op.GetScan.At(id))
		over = err == nil && !isOpen(&s)
		return scanState(&s), err
	})
}

// triageFilters are the filters that lead from a list to the desk and back.
var triageFilters = []string{"path", "min_confidence"}

// triageAddress leads to what is left to decide, among what the page shows.
func triageAddress(p *page, v *scan) string {
	to := scanAddress(p, v.ID) + "/triage"
	if query := triageState(p); query != "" {
		to += "?" + query
	}
	return to
}

// triageState is the query with the filters of this page.
func triageState(p *page) string {
	var pairs []string
	for _, name := range triageFilters {
		pairs = append(pairs, name, p.r.URL.Query().Get(name))
	}
	return queryOf(pairs...)
}

// deskAddress is the address of a candidate on the desk, with the filters of this page.
func deskAddress(p *page, id string) string {
	to := p.at(discoveryName, "candidates", id)
	if query := triageState(p); query != "" {
		to += "?" + query
	}
	return to
}

// startTriage leads to the first candidate of a scan that waits for a decision.
func startTriage(p *page) error { return startTriageOf(p, p.r.PathValue("id")) }

func startTriageOf(p *page, id string) error {
	q, _ := triageQuery(p)
	q.Status, q.Limit = wire.CandidateUndecided, 1
	list, err := client.Get(p.ctx, p.api, op.ListCandidates.At(id).Where(q))
	if err != nil {
		return err
	}
	if len(list.Candidates) == 0 {
		p.say("Nothing is left to decide here.")
		return p.redirect(scanAddress(p, id))
	}
	return p.redirect(deskAddress(p, list.Candidates[0].ID))
}

// decideCandidates carries out one decision for the selected candidates of a scan, or for one row.
func decideCandidates(p *page) error {
	form := p.r.PostForm
	do, ids, back, err := decided(form, "id")
	if err != nil {
		return err
	}
	selected := wire.Selection{CandidateIDs: ids}
	if what, all := strings.CutSuffix(do, "-all"); all {
		do, selected = what, wire.Selection{All: true, Path: form.Get("path")}
		if least, err := strconv.ParseFloat(form.Get("min_confidence"), 64); err == nil {
			selected.MinConfidence = &least
		}
	} else if len(ids) == 0 {
		p.warn("No candidate is selected. Choose some by x or with the pointer.")
		return p.redirect(back)
	}
	reason := strings.TrimSpace(form.Get("reason"))
	p.console.sessions.Put(p.ctx, triageReasonValue, reason)
	scanID := p.r.PathValue("id")
	var out wire.Bulk
	switch do {
	case "approve":
		out, err = client.Call(p.ctx, p.api, op.ApproveCandidates.At(scanID), wire.ApproveCandidates{Selection: selected})
	case "dismiss":
		out, err = client.Call(p.ctx, p.api, op.DismissCandidates.At(scanID), wire.DismissCandidates{Selection: selected, Reason: reason})
	default:
		return rule.Errorf(rule.CodeInvalid, "the form asks for %q; a candidate is approved or dismissed", clipText(do, briefText))
	}
	if err != nil {
		return err
	}
	sayBulk(p, out)
	return p.redirect(back)
}

// allWords says which candidates the filters of a scan select.
func allWords(v *scan) string {
	said := "All that wait"
	if v.path != "" {
		said += " and come from " + visible(v.path)
	}
	if v.least > 0 {
		said += " and are sure to at least " + sureWords(v.least)
	}
	return said + ", on this page and the others. The decisions can be taken back."
}

// sayBulk says on the next page what has become of decisions, and keeps those that can be taken back.
func sayBulk(p *page, out wire.Bulk) {
	kept := triageUndo{Project: p.project.ID}
	var why []string
	for _, r := range out.Results {
		switch {
		case r.Error == "":
			kept.Candidates = append(kept.Candidates, r.CandidateID)
		case !slices.Contains(why, r.Error):
			why = append(why, r.Error)
		}
	}
	if len(kept.Candidates) > 0 {
		p.console.sessions.Put(p.ctx, triageUndoValue, kept)
	}
	said := fmt.Sprintf("%d done.", out.Done)
	if out.Remaining > 0 {
		said += fmt.Sprintf(" %s are left.", grouped(int64(out.Remaining)))
	}
	if out.Failed == 0 {
		p.say(said)
		return
	}
	if len(why) > maxQueueErrors {
		why = append(why[:maxQueueErrors], "and others")
	}
	p.warn(clipText(fmt.Sprintf("%s %d not done: %s", said, out.Failed, strings.Join(why, "; ")), maxSaid))
}

// undoTriage takes the last decisions back.
func undoTriage(p *page) error {
	kept, _ := p.console.sessions.Pop(p.ctx, triageUndoValue).(triageUndo)
	back := localPath(p.r.PostForm.Get("next"))
	if kept.Project != p.project.ID || kept.count() == 0 {
		p.warn("There is nothing to take back any more.")
		return p.redirect(back)
	}
	if kept.Exclusion != "" {
		if _, err := client.Get(p.ctx, p.api, op.DeleteExclusion.At(kept.Exclusion)); err != nil {
			return err
		}
		p.say("Scans read the folder again, and its candidates wait for a decision.")
		return p.redirect(back)
	}
	done := 0
	var why []string
	for _, id := range kept.Candidates {
		_, err := client.Get(p.ctx, p.api, op.ReopenCandidate.At(id))
		switch code := rule.CodeOf(err); code {
		case "":
			done++
		case rule.CodeConflict, rule.CodeNotFound:
			if !slices.Contains(why, err.Error()) {
				why = append(why, err.Error())
			}
		default:
			return err
		}
	}
	if failed := len(kept.Candidates) - done; failed > 0 {
		p.warn(clipText(fmt.Sprintf("%d taken back. %d not: %s", done, failed, strings.Join(why, "; ")), maxSaid))
	} else {
		p.say(fmt.Sprintf("%d taken back.", done))
	}
	if len(kept.Candidates) == 1 { // back at that one
		return p.redirect(p.at(discoveryName, "candidates", kept.Candidates[0]))
	}
	return p.redirect(back)
}

// folders are a file and the folders above it, the nearest first.
func folders(file string) []string {
	list := []string{file}
	for dir := path.Dir(file); dir != "." && dir != "/" && len(list) < 20; dir = path.Dir(dir) {
		list = append(list, dir)
	}
	return list
}

// scanFigures says in sentences what a scan has read and found.
func scanFigures(v *scan) string {
	said := fmt.Sprintf("%s of %s read, %s found", grouped(int64(v.FilesRead)), counted(int64(v.Files), "file", "files"), counted(int64(v.Found), "statement", "statements"))
	if v.Known > 0 {
		said += fmt.Sprintf(", %s of them decided on before", grouped(int64(v.Known)))
	}
	if v.LeftOut > 0 {
		said += fmt.Sprintf(", %s of the least confidence left out", grouped(int64(v.LeftOut)))
	}
	return said + ". "
}

// sureWords is a share as people read it.
func sureWords(share float64) string { return fmt.Sprintf("%.0f %%", 100*share) }
