package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/goccy/go-yaml"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/discover"
	"tenet/internal/discover/source"
	"tenet/internal/rule"
)

// scanCommand is `tenet scan`.
type scanCommand struct {
	Dir           string   `arg:"" optional:"" default:"." help:"Folder, such as that of a repository."`
	Sources       []string `placeholder:"KIND" help:"Kinds of sources to look at: policy_document, assistant_md, linter_config, code_patterns. Default is all."`
	Repository    string   `placeholder:"NAME" help:"Repository the files are from; default is the path of its remote origin, else the name of the folder."`
	MinConfidence float64  `placeholder:"N" help:"Show only candidates with at least this confidence, from 0 to 1."`
	Approve       bool     `help:"Go through the candidates and decide on each."`
	Format        string   `short:"f" enum:"table,json,yaml" default:"table" help:"${enum}."`
}

// Help is the long help of the command.
func (scanCommand) Help() string {
	return `Finds rules in what there is already: policies, instructions to assistants (AGENTS.md, CLAUDE.md, .cursor/rules ...),
settings of linters, and the habits of the code. Files that git ignores are left alone. Nothing becomes a rule by itself:

    tenet scan                       # what could be rules here
    tenet scan --approve             # decide on each: y, n, e to edit, s to skip, q to quit
    tenet candidates approve ID      # or one by one, later

A later scan of the same repository shows only what is new: what was approved or dismissed is remembered.`
}

// scanReport is what a scan has found, as JSON or YAML.
type scanReport struct {
	Scans      []discover.Scan      `json:"scans"`
	Candidates []discover.Candidate `json:"candidates"`
	LeftOut    []leftOut            `json:"left_out"`
}

// Run scans a folder.
func (k *scanCommand) Run(ctx context.Context, s *session) error {
	kinds, err := sourceKinds(k.Sources)
	if err != nil {
		return err
	}
	if k.MinConfidence < 0 || k.MinConfidence > 1 {
		return fmt.Errorf("--min-confidence: %g is not between 0 and 1", k.MinConfidence)
	}
	if k.Approve && (k.Format != "table" || !isTerminal(s.stdin)) {
		return errors.New("--approve asks on a terminal; without one, use tenet candidates approve")
	}
	readers := slices.DeleteFunc(app.Readers(), func(r source.Reader) bool { return !slices.Contains(kinds, r.Kind()) })
	found, err := gather(ctx, k.Dir, readers)
	if err != nil {
		return err
	}
	if len(found.files) == 0 {
		s.tellLeftOut(found.left)
		return fmt.Errorf("none of the %d files in %s is one that rules are found in; see tenet scan --help", found.seen, k.Dir)
	}
	request := discover.ScanRequest{Sources: kinds, Repository: k.Repository}
	if request.Repository == "" {
		request.Repository = cmp.Or(repositoryOf(ctx, k.Dir), folderName(k.Dir))
	}
	s.working = true
	return s.with(ctx, needsData, func(c *client.Client) error {
		report := scanReport{LeftOut: found.left, Scans: []discover.Scan{}, Candidates: []discover.Candidate{}}
		if err := s.scanParts(ctx, c, request, found.parts(), &report); err != nil {
			return err
		}
		for _, scan := range report.Scans {
			list, err := c.AllCandidates(ctx, scan.ID, client.CandidateFilter{Status: discover.Undecided, MinConfidence: k.MinConfidence})
			if err != nil {
				return err
			}
			report.Candidates = append(report.Candidates, list...)
		}
		return k.print(ctx, s, c, &report)
	})
}

// sourceKinds are the kinds of sources that flags name; all without any.
func sourceKinds(names []string) ([]source.Kind, error) {
	if len(names) == 0 {
		return slices.Clone(source.Kinds), nil
	}
	var kinds []source.Kind
	for _, name := range names {
		kind, ok := rule.Parse(name, source.Kinds)
		if !ok {
			return nil, fmt.Errorf("--sources: %q is unknown; use some of %s", name, rule.Names(source.Kinds))
		}
		kinds = append(kinds, kind)
	}
	return kinds, nil
}

// scanParts scans files, part by part. A part that the server finds too large is divided.
func (s *session) scanParts(ctx context.Context, c *client.Client, request discover.ScanRequest, parts []map[string]string, report *scanReport) error {
	for i := 0; i < len(parts); i++ {
		request.Files = parts[i]
		scan, err := c.StartScan(ctx, request)
		if rule.CodeOf(err) == rule.CodeTooLarge && len(parts[i]) > 1 {
			parts = slices.Replace(parts, i, i+1, halves(parts[i])...)
			i--
			continue
		}
		if err != nil {
			return err
		}
		if scan, err = s.awaitScan(ctx, c, scan); err != nil {
			return err
		}
		report.Scans = append(report.Scans, scan)
	}
	return nil
}

// scanPoll is how often a scan is looked at.
const scanPoll = 100 * time.Millisecond

// awaitScan waits until a scan has ended, and shows how far it has come.
func (s *session) awaitScan(ctx context.Context, c *client.Client, scan discover.Scan) (discover.Scan, error) {
	show, done := s.bar("scanning")
	defer done()
	for scan.Status == discover.Pending || scan.Status == discover.Running {
		show(scan.Progress.Done, scan.Progress.Total)
		select {
		case <-ctx.Done():
			return scan, ctx.Err()
		case <-time.After(scanPoll):
		}
		var err error
		if scan, err = c.Scan(ctx, scan.ID); err != nil {
			return scan, err
		}
	}
	if scan.Status == discover.Failed {
		return scan, fmt.Errorf("the scan %s failed: %s", scan.ID, line(scan.Reason))
	}
	return scan, nil
}

func (k *scanCommand) print(ctx context.Context, s *session, c *client.Client, report *scanReport) error {
	if report.LeftOut == nil {
		report.LeftOut = []leftOut{}
	}
	switch k.Format {
	case "json":
		return printJSON(s.out, report)
	case "yaml":
		return printYAML(s.out, report)
	}
	if k.Approve {
		s.tellScans(report)
		return s.review(ctx, c, report.Candidates)
	}
	if err := s.printCandidates(report.Candidates); err != nil {
		return err
	}
	s.tellScans(report)
	if len(report.Candidates) > 0 {
		s.note("decide with tenet scan --approve, or tenet candidates approve|dismiss ID")
	}
	return nil
}

// printYAML prints a value as YAML, with the fields of its JSON.
func printYAML(w io.Writer, v any) error {
	return yaml.NewEncoder(w, yaml.UseJSONMarshaler(), yaml.UseLiteralStyleIfMultiline(true)).Encode(v)
}

// tellScans sums up scans: figures, and what could not be read.
func (s *session) tellScans(report *scanReport) {
	files, read, known, left := 0, 0, 0, 0
	for i := range report.Scans {
		scan := &report.Scans[i]
		files, read, known, left = files+scan.Files, read+scan.FilesRead, known+scan.Known, left+scan.LeftOut
	}
	s.note("%d candidates in %d files; %d statements were decided on before", len(report.Candidates), read, known)
	if len(report.Scans) > 1 {
		s.note("the files were sent in %d parts: what the code does was counted in each by itself", len(report.Scans))
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
	s.tellLeftOut(report.LeftOut)
}

func (s *session) tellLeftOut(left []leftOut) {
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

// printCandidates prints a table whose last column, the statement, is cut to the width of the terminal.
func (s *session) printCandidates(list []discover.Candidate) error {
	if len(list) == 0 {
		return nil
	}
	var b strings.Builder
	t := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "CANDIDATE\tSURE\tSTATUS\tSEVERITY\tMODALITY\tPLACE\tSTATEMENT")
	for i := range list {
		c := &list[i]
		fmt.Fprintf(t, "%s\t%.2f\t%s\t%s\t%s\t%s\t%s\n", c.ID, c.Confidence, c.Status, c.SuggestedMetadata.Severity, c.SuggestedMetadata.Modality,
			placeOf(c.SourceFile, c.SourceLine), line(c.Statement)+likeness(c))
	}
	return s.table(t, &b)
}

// likeness marks a candidate that is like a rule there is.
func likeness(c *discover.Candidate) string {
	for _, r := range c.SimilarRules {
		if r.Contradicts {
			return " (contradicts " + label(r.Slug, r.RuleID) + ")"
		}
	}
	if len(c.SimilarRules) > 0 {
		return " (like " + label(c.SimilarRules[0].Slug, c.SimilarRules[0].RuleID) + ")"
	}
	return ""
}
