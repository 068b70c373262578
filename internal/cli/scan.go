package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/goccy/go-yaml"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/discover/exclude"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// scanCommand is `tenet scan`.
type scanCommand struct {
	Dir           string   `arg:"" optional:"" default:"." help:"Folder, such as that of a repository, or a zip or tar.gz archive of one."`
	Sources       []string `placeholder:"KIND" help:"Kinds of sources to look at: policy_document, assistant_md, linter_config, code_patterns. Default is all."`
	Exclude       []string `placeholder:"GLOB" help:"Files to leave out, such as 'docs/archive/**'; repeat it, or part globs by commas."`
	Include       []string `placeholder:"GLOB" help:"Files to read although the default excludes name them, such as 'testdata/policies/**'."`
	AllFiles      bool     `name:"no-default-excludes" help:"Also read test data, packages of other people, change logs and the manual of a product."`
	Repository    string   `placeholder:"NAME" help:"Repository the files are from; default is the path of its remote origin, else the name of the folder or archive."`
	MinConfidence float64  `placeholder:"N" help:"Show only candidates with at least this confidence, from 0 to 1."`
	Approve       bool     `help:"Go through the candidates and decide on each."`
	Format        string   `short:"f" enum:"table,json,yaml" default:"table" help:"${enum}."`
	jsonFlag
}

func (scanCommand) Help() string {
	return `Finds rules in what there is already: policies, instructions to assistants (AGENTS.md, CLAUDE.md, .cursor/rules ...),
settings of linters, and the habits of the code. Files that git ignores are left alone, and so are test data, packages of other
people (node_modules, vendor, third_party), change logs, and the manual of a product; the result counts them. Nothing becomes a rule until you approve it:

    tenet scan                       # what could be rules here
    tenet scan pay-1.2.tar.gz        # or in an archive
    tenet scan --approve             # decide on each: y, n, e to edit, s to skip, q to quit
    tenet candidates approve ID      # or one by one, later
    tenet scan --exclude 'docs/**' --include 'testdata/policies/**'

A later scan of the same repository shows only what is new: what was approved or dismissed is remembered.`
}

// scanReport holds the results of a scan, as JSON or YAML.
type scanReport struct {
	Scans      []wire.Scan      `json:"scans"`
	Candidates []wire.Candidate `json:"candidates"`
	LeftOut    []leftOut        `json:"left_out"`
}

func (k *scanCommand) Run(ctx context.Context, s *session) error {
	kinds, err := sourceKinds(k.Sources)
	if err != nil {
		return err
	}
	k.Format = k.or(k.Format)
	if k.MinConfidence < 0 || k.MinConfidence > 1 {
		return fmt.Errorf("--min-confidence: %g is not between 0 and 1", k.MinConfidence)
	}
	if k.Approve && (k.Format != "table" || !isTerminal(s.stdin)) {
		return errors.New("--approve asks on a terminal; without one, use tenet candidates approve")
	}
	readers := slices.DeleteFunc(app.Readers(), func(r source.Reader) bool { return !slices.Contains(kinds, r.Kind()) })
	wanted := exclude.Selection{Exclude: k.Exclude, Include: k.Include, All: k.AllFiles}
	var wrong rule.Problems
	wanted.Check(&wrong)
	if err := wrong.Err("the globs of the scan are invalid"); err != nil {
		return err
	}
	found, err := gather(ctx, k.Dir, readers, wanted)
	if err != nil {
		return err
	}
	if len(found.files) == 0 {
		noteExcluded(s, found.excluded.List())
		noteLeftOut(s, found.left)
		return fmt.Errorf("none of the %d files in %s is one that rules are found in; see tenet scan --help", found.seen, k.Dir)
	}
	request := wire.ScanRequest{
		Sources: kinds, Repository: k.Repository, Exclude: k.Exclude, Include: k.Include, NoDefaultExcludes: k.AllFiles, Excluded: found.excluded.List(),
	}
	if request.Repository == "" {
		if isFile(k.Dir) {
			request.Repository = archiveName(k.Dir)
		} else {
			request.Repository = cmp.Or(repositoryOf(ctx, k.Dir), folderName(k.Dir))
		}
	}
	s.working = true
	return s.with(ctx, needsData, func(c *client.Client) error {
		report := scanReport{LeftOut: found.left, Scans: []wire.Scan{}, Candidates: []wire.Candidate{}}
		if err := scanParts(ctx, s, c, request, found.parts(), &report); err != nil {
			return err
		}
		for _, scan := range report.Scans {
			list, err := client.AllCandidates(ctx, c, scan.ID, wire.CandidateQuery{Status: wire.CandidateUndecided, MinConfidence: k.MinConfidence})
			if err != nil {
				return err
			}
			report.Candidates = append(report.Candidates, list...)
		}
		return k.print(ctx, s, c, &report)
	})
}

// sourceKinds are the kinds of sources that flags name; all without any.
func sourceKinds(names []string) ([]wire.SourceKind, error) {
	if len(names) == 0 {
		return slices.Clone(wire.SourceKinds), nil
	}
	var kinds []wire.SourceKind
	for _, name := range names {
		kind, ok := rule.Parse(name, wire.SourceKinds)
		if !ok {
			return nil, fmt.Errorf("--sources: %q is unknown; use some of %s", name, rule.Names(wire.SourceKinds))
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// scanParts scans files, part by part. A part that the server finds too large is divided.
func scanParts(ctx context.Context, s *session, c *client.Client, request wire.ScanRequest, parts []map[string]string, report *scanReport) error {
	for i := 0; i < len(parts); i++ {
		request.Files = parts[i]
		scan, err := client.Call(ctx, c, op.StartScan, request)
		if rule.CodeOf(err) == rule.CodeTooLarge && len(parts[i]) > 1 {
			parts = slices.Replace(parts, i, i+1, halves(parts[i])...)
			i--
			continue
		}
		if err != nil {
			return err
		}
		if scan, err = awaitScan(ctx, s, c, scan); err != nil {
			return err
		}
		report.Scans = append(report.Scans, scan)
		request.Excluded = nil // the first part has recorded it
	}
	return nil
}

// scanPoll is the interval at which the state of a scan is read.
const scanPoll = 100 * time.Millisecond

// awaitScan waits until a scan has ended, and shows how far it has come.
func awaitScan(ctx context.Context, s *session, c *client.Client, scan wire.Scan) (wire.Scan, error) {
	show, done := s.bar("scanning")
	defer done()
	for scan.Status == wire.Pending || scan.Status == wire.Running {
		show(scan.Progress.Done, scan.Progress.Total)
		select {
		case <-ctx.Done():
			return scan, ctx.Err()
		case <-time.After(scanPoll):
		}
		var err error
		if scan, err = client.Get(ctx, c, op.GetScan.At(scan.ID)); err != nil {
			return scan, err
		}
	}
	if scan.Status == wire.Failed {
		return scan, fmt.Errorf("the scan %s failed: %s", scan.ID, line(scan.Reason))
	}
	return scan, nil
}

func (k *scanCommand) print(ctx context.Context, s *session, c *client.Client, report *scanReport) error {
	if report.LeftOut == nil {
		report.LeftOut = []leftOut{}
	}
	defer notePage(s, *report)
	switch k.Format {
	case "json":
		return printJSON(s.out, report)
	case "yaml":
		return printYAML(s.out, report)
	}
	if k.Approve {
		noteScans(s, report)
		return review(ctx, s, c, report.Candidates)
	}
	if err := paged(s, func() error { return printCandidates(s, report.Candidates) }); err != nil {
		return err
	}
	noteScans(s, report)
	if len(report.Candidates) > 0 {
		s.note("decide with tenet scan --approve, or tenet candidates approve|dismiss ID")
	}
	return nil
}

// printYAML prints a value as YAML, with the fields of its JSON.
func printYAML(w io.Writer, v any) error {
	return yaml.NewEncoder(w, yaml.UseJSONMarshaler(), yaml.UseLiteralStyleIfMultiline(true)).Encode(v)
}

// noteScans sums up scans: figures, and what could not be read.
func noteScans(s *session, report *scanReport) {
	files, read, known, left := 0, 0, 0, 0
	for i := range report.Scans {
		scan := &report.Scans[i]
		files, read, known, left = files+scan.Files, read+scan.FilesRead, known+scan.Known, left+scan.LeftOut
	}
	s.note("%d candidates in %d files; %d statements were decided on before", len(report.Candidates), read, known)
	if len(report.Scans) > 1 {
		s.note("the files were sent in %d parts: conventions of the code were counted in each part alone", len(report.Scans))
	}
	for i := range report.Scans {
		scan := &report.Scans[i]
		s.note("scan %s", scan.ID)
		if scan.ModelProblem != "" {
			s.note("%s", line(scan.ModelProblem))
		}
		for _, p := range scan.Problems[:min(len(scan.Problems), 10)] {
			s.note("%s: %s", placeOf(p.File, p.Line), line(p.Reason))
		}
		if more := scan.ProblemsTotal - 10; more > 0 {
			s.note("and %d more problems; see the scan with --format json", more)
		}
	}
	if left > 0 {
		s.note("%d candidates of the least confidence were left out; scan fewer files at once", left)
	}
	var excluded exclude.Tally
	for i := range report.Scans {
		excluded.Merge(report.Scans[i].Excluded)
	}
	noteExcluded(s, excluded.List())
	noteLeftOut(s, report.LeftOut)
}

// noteExcluded says how many files the excludes have left out, and why.
func noteExcluded(s *session, list []wire.Excluded) {
	for _, e := range list {
		example := ""
		if len(e.Examples) > 0 {
			example = ", such as " + line(e.Examples[0])
		}
		s.note("left out %s (%s)%s", text.Plural(e.Files, "file"), line(e.Reason), example)
	}
	if len(list) > 0 {
		s.note("read them with --include GLOB or --no-default-excludes")
	}
}

func noteLeftOut(s *session, left []leftOut) {
	for _, l := range left[:min(len(left), 10)] {
		s.note("left out %s: %s", line(l.File), l.Reason)
	}
	if more := len(left) - 10; more > 0 {
		s.note("and %d more files are left out", more)
	}
}

func placeOf(file string, at int) string {
	switch {
	case file == "":
		return "the scan"
	case at == 0:
		return line(file)
	}
	return fmt.Sprintf("%s:%d", line(file), at)
}

// printCandidates prints each candidate as its statement, whole, and a line about it.
func printCandidates(s *session, candidates []wire.Candidate) error {
	width := s.width() // 0 means no limit
	for i := range candidates {
		c := &candidates[i]
		m := &c.SuggestedMetadata
		var b strings.Builder
		for _, l := range wrapped(line(c.Statement)+likeness(c), width) {
			fmt.Fprintln(&b, s.bold(l))
		}
		about := []string{
			strings.ToUpper(m.Severity), string(m.Modality), fmt.Sprintf("%.2f", c.Confidence), string(c.Status), placeOf(c.SourceFile, c.SourceLine), c.ID,
		}
		for _, l := range wrapped("  "+strings.Join(about, "  "), width) {
			fmt.Fprintln(&b, s.dim(l))
		}
		if _, err := io.WriteString(s.out, b.String()); err != nil {
			return err
		}
	}
	return nil
}

// wrapped divides a text into lines of at most width characters, between words where it can; 0 means no limit. Lines after the first begin
// with two spaces.
func wrapped(text string, width int) []string {
	const indent = "  "
	if width < 20 || utf8.RuneCountInString(text) <= width {
		return []string{text}
	}
	var lines []string
	rest := []rune(text)
	for len(rest) > width {
		cut := width
		for cut > width/3 && rest[cut] != ' ' {
			cut--
		}
		if rest[cut] != ' ' {
			cut = width // a word that is longer than most of a line
		}
		lines = append(lines, strings.TrimRight(string(rest[:cut]), " "))
		rest = append([]rune(indent), []rune(strings.TrimLeft(string(rest[cut:]), " "))...)
	}
	return append(lines, string(rest))
}

// likeness marks a candidate that is like an existing rule.
func likeness(c *wire.Candidate) string {
	for _, r := range c.SimilarRules {
		if r.Contradicts {
			return " (contradicts " + cmp.Or(r.Slug, r.RuleID) + ")"
		}
	}
	if len(c.SimilarRules) > 0 {
		return " (like " + cmp.Or(c.SimilarRules[0].Slug, c.SimilarRules[0].RuleID) + ")"
	}
	return ""
}
