package console

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// discoveryName is the name of the screens of discovery in addresses and in the navigation.
const discoveryName = "discovery"

// sourceLabels name the kinds of sources for people.
var sourceLabels = []option{
	{string(wire.PolicyDocument), "Policies and other documents"},
	{string(wire.AssistantMD), "Instructions to assistants (AGENTS.md and the like)"},
	{string(wire.LinterConfig), "Settings of linters"},
	{string(wire.CodePatterns), "Conventions of the code"},
}

// scans is the view of the list of scans.
type scans struct {
	items []wire.Scan
	place pager
}

// scanList shows the scans of a project, newest first.
func scanList(p *page) error {
	list, err := client.Get(p.ctx, p.api, op.ListScans.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}))
	if err != nil {
		return err
	}
	v := scans{items: list.Items, place: pager{pageOf(p.r), listSize, len(list.Items), list.Total}}
	return p.show(head{Title: "Discovery", Nav: discoveryName}, scansView(p, v))
}

// scanAddress is the address of a scan.
func scanAddress(p *page, id string) string { return p.at(discoveryName, "scans", id) }

// scanTitle names a scan by what it has read.
func scanTitle(s *wire.Scan) string {
	switch {
	case s.Repository != "":
		return s.Repository
	case s.Archive != "":
		return s.Archive
	case s.DocumentID != "":
		return "a document"
	}
	return "files"
}

// confidencePage shows how often candidates of a confidence are rules.
func confidencePage(p *page) error {
	table, err := client.Get(p.ctx, p.api, op.GetReliability)
	if err != nil {
		return err
	}
	return p.show(head{Title: "What the confidence means", Nav: discoveryName}, confidenceView(p, table))
}

// newScanPage shows the form that starts a scan.
func newScanPage(p *page) error {
	form := entry{values: p.r.URL.Query()}
	if !form.values.Has("sources") {
		for _, s := range wire.SourceKinds {
			form.values.Add("sources", string(s))
		}
	}
	return p.show(head{Title: "New scan", Nav: discoveryName}, newScanView(p, &form))
}

// startScan starts a scan of what was uploaded or pasted, and leads to it.
func startScan(p *page) error {
	form := entry{values: p.r.PostForm}
	scan, err := startUploaded(p, &form)
	if err == nil {
		return p.redirect(scanAddress(p, scan.ID))
	}
	if err := form.refuse(err, scanField); err != nil {
		return err
	}
	form.bad("files", "Choose the files again: a browser does not keep them.")
	form.status = statuses[rule.CodeOf(err)]
	return p.showAs(form.code(), head{Title: "New scan", Nav: discoveryName}, newScanView(p, &form))
}

// scanField is the field of the form that a field of a request is in, or empty.
func scanField(name string) string {
	name, _, _ = strings.Cut(name, "[")
	switch name {
	case "sources", "repository", "exclude", "include":
		return name
	}
	return ""
}

// archiveEndings are the endings of archives by name.
var archiveEndings = []string{".zip", ".tar.gz", ".tgz", ".tar"}

func (f part) isArchive() bool {
	name := strings.ToLower(f.name)
	return slices.ContainsFunc(archiveEndings, func(e string) bool { return strings.HasSuffix(name, e) })
}

// packed reports whether a file is a document that is kept before rules are found in it.
func (f part) packed() bool {
	ext := strings.ToLower(path.Ext(f.name))
	return ext == ".pdf" || ext == ".docx"
}

// startUploaded starts a scan of an archive, of a document, or of files.
func startUploaded(p *page, form *entry) (wire.Scan, error) {
	parts, err := partsOf(p.r.MultipartForm)
	if err != nil {
		return wire.Scan{}, err
	}
	if pasted := form.get("pasted"); strings.TrimSpace(pasted) != "" {
		name := strings.TrimSpace(form.get("pasted_name"))
		if name == "" {
			name = "pasted.md"
		}
		parts = append(parts, part{name, []byte(strings.ReplaceAll(pasted, "\r\n", "\n"))})
	}
	request := wire.ScanRequest{
		Sources: []wire.SourceKind{}, Repository: strings.TrimSpace(form.get("repository")), Exclude: splitList(form.get("exclude"), false), Include: splitList(form.get("include"), false),
		NoDefaultExcludes: form.get("everything") != "",
	}
	for _, s := range form.values["sources"] {
		request.Sources = append(request.Sources, wire.SourceKind(s))
	}
	switch alone := slices.ContainsFunc(parts, func(f part) bool { return f.isArchive() || f.packed() }); {
	case len(parts) == 0:
		return wire.Scan{}, rule.Errorf(rule.CodeInvalid, "No file is chosen and nothing is pasted.")
	case alone && len(parts) > 1:
		return wire.Scan{}, rule.Errorf(rule.CodeInvalid, "An archive, a PDF or a Word document is scanned alone; these are %d files. Send one.", len(parts))
	case parts[0].isArchive():
		return client.ScanArchive(p.ctx, p.api, wire.ArchiveScan{
			Filename: parts[0].name, Content: parts[0].content, Sources: request.Sources, Repository: request.Repository,
			Exclude: request.Exclude, Include: request.Include, NoDefaultExcludes: request.NoDefaultExcludes,
		})
	case alone:
		return scanDocument(p, parts[0])
	}
	request.Files = make(map[string]string, len(parts))
	for _, f := range parts {
		if !utf8.Valid(f.content) || slices.Contains(f.content, 0) {
			return wire.Scan{}, rule.Errorf(rule.CodeInvalid, "%s is no text in UTF-8.", clipText(f.name, briefText))
		}
		request.Files[strings.TrimPrefix(path.Join(strings.TrimSpace(form.get("folder")), f.name), "/")] = string(f.content)
	}
	return client.Call(p.ctx, p.api, op.StartScan, request)
}

// scanDocument keeps a document of the project, unless it is there already, and starts a scan of it.
func scanDocument(p *page, f part) (wire.Scan, error) {
	kept, err := client.UploadDocument(p.ctx, p.api, wire.Upload{Filename: f.name, Content: f.content})
	id := kept.ID
	if err != nil {
		if id = keptAlready(err); id == "" {
			return wire.Scan{}, err
		}
	}
	return client.Get(p.ctx, p.api, op.ExtractRules.At(id))
}

// exclusions is the view of what scans leave out.
type exclusions struct {
	items []wire.Exclusion
	place pager
	form  entry
}

// exclusionList shows the folders and files that scans leave out.
func exclusionList(p *page) error { return showExclusions(p, entry{values: p.r.URL.Query()}) }

func showExclusions(p *page, form entry) error {
	list, err := client.Get(p.ctx, p.api, op.ListExclusions.Where(wire.PageQuery{Page: pageOf(p.r), PageSize: listSize}))
	if err != nil {
		return err
	}
	v := exclusions{items: list.Items, place: pager{pageOf(p.r), listSize, len(list.Items), list.Total}, form: form}
	return p.showAs(form.code(), head{Title: "Left out of scans", Nav: discoveryName}, exclusionsView(p, &v))
}

// addExclusion leaves a folder or a file out of scans.
func addExclusion(p *page) error {
	form := entry{values: p.r.PostForm}
	made, err := client.Call(p.ctx, p.api, op.CreateExclusion, wire.CreateExclusion{
		Repository: strings.TrimSpace(form.get("repository")), Path: form.get("path"), Reason: form.get("reason"),
	})
	if err != nil {
		if err := form.refuse(err, func(name string) string { return name }); err != nil {
			return err
		}
		return showExclusions(p, form)
	}
	p.say(sayExcluded(made))
	return p.redirect(p.at(discoveryName, "exclusions"))
}

func sayExcluded(made wire.ExclusionMade) string {
	said := "Scans leave out " + clipText(made.Path, briefText) + " from now on."
	if made.Dismissed == 0 {
		return said
	}
	return said + " " + counted(int64(made.Dismissed), "candidate was", "candidates were") + " dismissed."
}

// liftExclusion has scans read a folder or a file again.
func liftExclusion(p *page) error {
	lifted, err := client.Get(p.ctx, p.api, op.DeleteExclusion.At(p.r.PathValue("id")))
	if err != nil {
		return err
	}
	said := "Scans read it again."
	if lifted.Reopened > 0 {
		said += " " + grouped(int64(lifted.Reopened)) + " of its candidates wait for a decision again."
	}
	p.say(said)
	return p.redirect(p.at(discoveryName, "exclusions"))
}

// scanProgress is how far a scan has come, in percent.
func scanProgress(s *wire.Scan) string {
	if s.Progress.Total == 0 {
		return "0"
	}
	return strconv.Itoa(100 * s.Progress.Done / s.Progress.Total)
}

// scanDecided counts the candidates of a scan that were decided on, and all of them.
func scanDecided(s *wire.Scan) (decided, all int) {
	if s.CandidatesCount == nil || s.Pending == nil {
		return 0, 0
	}
	return *s.CandidatesCount - *s.Pending, *s.CandidatesCount
}

// scanTone is the class of the state of a scan.
func scanTone(s wire.Status) string {
	switch s {
	case wire.Completed:
		return "good"
	case wire.Failed:
		return "bad"
	case wire.Pending, wire.Running:
	}
	return "plain"
}

// isOpen reports whether a scan has not ended.
func isOpen(s *wire.Scan) bool { return s.Status == wire.Pending || s.Status == wire.Running }
