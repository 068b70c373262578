package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// candidatesCommands are `tenet candidates ...`.
type candidatesCommands struct {
	List       candidatesListCommand       `cmd:"" help:"List the candidates of a scan."`
	Show       candidatesShowCommand       `cmd:"" help:"Show a candidate, with the lines of the source."`
	Approve    candidatesApproveCommand    `cmd:"" help:"Make rules of candidates."`
	Dismiss    candidatesDismissCommand    `cmd:"" help:"Decide that candidates become no rules."`
	Merge      candidatesMergeCommand      `cmd:"" help:"Merge candidates into a rule, or into another candidate."`
	Reopen     candidatesReopenCommand     `cmd:"" help:"Take back the decision on candidates."`
	NeverFrom  candidatesNeverFromCommand  `cmd:"" help:"Leave a folder or file out of scans, and dismiss its candidates."`
	Exclusions candidatesExclusionsCommand `cmd:"" help:"List the folders and files that scans leave out."`
	Lift       candidatesLiftCommand       `cmd:"" help:"Have scans read a folder or file again."`
	Scans      candidatesScansCommand      `cmd:"" help:"List scans, newest first."`
}

type candidatesListCommand struct {
	Scan          string  `arg:"" optional:"" help:"Id of the scan; default is the newest."`
	Status        string  `enum:"pending,approved,dismissed,merged,all" default:"pending" help:"${enum}."`
	Path          string  `placeholder:"PATH" help:"Only candidates from this file, or from files below this folder."`
	MinConfidence float64 `placeholder:"N" help:"Only candidates with at least this confidence, from 0 to 1."`
	Format        string  `short:"f" enum:"table,json,yaml" default:"table" help:"${enum}."`
	jsonFlag
}

func (candidatesListCommand) Help() string {
	return `Those of the most confidence come first:

    tenet candidates list --min-confidence 0.8
    tenet candidates list --path docs/security
    tenet candidates list --status dismissed --format json`
}

func (k *candidatesListCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	id, err := newestScan(ctx, c, k.Scan)
	if err != nil {
		return err
	}
	f := wire.CandidateQuery{Status: wire.CandidateStatus(k.Status), MinConfidence: k.MinConfidence, Path: k.Path}
	if k.Status == "all" {
		f.Status = ""
	}
	list, err := client.AllCandidates(ctx, c, id, f)
	if err != nil {
		return err
	}
	defer noteAddress(s, "", "discovery", "scans", id)
	if list == nil {
		list = []wire.Candidate{}
	}
	switch k.or(k.Format) {
	case "json":
		return printJSON(s.out, list)
	case "yaml":
		return printYAML(s.out, list)
	}
	if len(list) == 0 {
		s.note("the scan %s has no such candidates", id)
	}
	return paged(s, func() error { return printCandidates(s, list) })
}

// newestScan is the scan that is named, or the newest.
func newestScan(ctx context.Context, c *client.Client, id string) (string, error) {
	if id != "" {
		return id, nil
	}
	list, err := client.Get(ctx, c, op.ListScans.Where(wire.PageQuery{Page: 1, PageSize: 1}))
	if err != nil {
		return "", err
	}
	if len(list.Items) == 0 {
		return "", errors.New("there are no scans yet; begin with tenet scan")
	}
	return list.Items[0].ID, nil
}

type candidatesShowCommand struct {
	Candidate string `arg:"" help:"Id of the candidate, as list shows it."`
	output
}

func (k *candidatesShowCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	candidate, err := client.Get(ctx, c, op.GetCandidate.At(k.Candidate))
	return show(s, k.output, &candidate, err, printCandidateDetail)
}

// chosen names candidates: by their ids, or by the scan they are of.
type chosen struct {
	Candidates []string `arg:"" optional:"" help:"Ids of candidates."`
	Scan       string   `placeholder:"ID" help:"All pending candidates of this scan instead."`
	Over       float64  `name:"min-confidence" placeholder:"N" help:"Of the scan's, only those with at least this confidence."`
	Path       string   `placeholder:"PATH" help:"Of the scan's, only those from this file, or from files below this folder."`
	output
}

func (k *chosen) check() error {
	switch {
	case (len(k.Candidates) > 0) == (k.Scan != ""):
		return errors.New("name candidates by their ids, or a scan with --scan, and not both")
	case k.Over != 0 && k.Scan == "":
		return errors.New("--min-confidence goes with --scan")
	case k.Path != "" && k.Scan == "":
		return errors.New("--path goes with --scan")
	}
	return nil
}

// each decides on the candidates that were named, one by one; of a scan, many at once until none is left.
func (k *chosen) each(s *session, one func(id string) (wire.Decided, error), many func(scan string, sel wire.Selection) (wire.Bulk, error)) error {
	failed := 0
	decided := []wire.BulkResult{}
	if k.Scan != "" {
		sel := wire.Selection{All: true, Path: k.Path}
		if k.Over > 0 {
			sel.MinConfidence = &k.Over
		}
		done := 0
		for {
			bulk, err := many(k.Scan, sel)
			if err != nil {
				return err
			}
			decided = append(decided, bulk.Results...)
			for _, r := range bulk.Results {
				if r.Error != "" {
					s.note("%s: %s", r.CandidateID, line(r.Error))
				}
			}
			done += bulk.Done
			if failed = bulk.Failed; bulk.Remaining == 0 || bulk.Done == 0 {
				failed += bulk.Remaining
				break
			}
		}
		s.note("%d decided, %d not", done, failed)
	}
	for _, id := range k.Candidates {
		done, err := one(id)
		if code := rule.CodeOf(err); code == rule.CodeConflict || code == rule.CodeInvalid || code == rule.CodeNotFound {
			failed++
			decided = append(decided, wire.BulkResult{CandidateID: id, Status: "failed", Code: string(code), Error: err.Error()})
			printError(s, fmt.Errorf("%s: %w", id, err))
			continue
		}
		if err != nil {
			return err
		}
		decided = append(decided, wire.BulkResult{CandidateID: id, Status: string(done.Status), RuleID: done.RuleID})
		if k.json() {
			continue
		}
		if _, err := fmt.Fprintf(s.out, "%s  %s  %s\n", id, done.Status, done.RuleID); err != nil {
			return err
		}
	}
	if k.json() {
		if err := printJSON(s.out, decided); err != nil {
			return err
		}
	}
	if failed > 0 {
		return exit(exitFailed)
	}
	return nil
}

type candidatesApproveCommand struct {
	chosen

	Statement *string  `placeholder:"TEXT" help:"Rule text in place of the proposed one, for a single candidate."`
	Severity  string   `placeholder:"LEVEL" help:"Severity in place of the suggested one."`
	Modality  string   `placeholder:"MODALITY" help:"Modality in place of the suggested one."`
	Scope     []string `placeholder:"PATH" help:"Scope in place of the suggested one; may be repeated."`
	Tag       []string `placeholder:"TAG" help:"Tags in place of the suggested ones; may be repeated."`
	Owner     string   `placeholder:"NAME" help:"Person or team that answers for the rule."`
	Slug      string   `placeholder:"NAME" help:"Short name such as SEC-003, for a single candidate."`
	Status    string   `placeholder:"STATUS" help:"Status of the rule; DRAFT if not given."`
}

func (candidatesApproveCommand) Help() string {
	return `The rule keeps where it comes from in its source_refs. It is a DRAFT until it is moved on:

    tenet candidates approve 0199... --severity high --slug SEC-003
    tenet candidates approve --scan 0199... --min-confidence 0.9 --status EFFECTIVE`
}

func (k *candidatesApproveCommand) Run(ctx context.Context, s *session) error {
	if err := k.check(); err != nil {
		return err
	}
	if (k.Statement != nil || k.Slug != "") && len(k.Candidates) != 1 {
		return errors.New("--statement and --slug are for a single candidate")
	}
	o := &wire.Overrides{
		Severity: rule.Severity(k.Severity), Modality: rule.Modality(k.Modality), Tags: k.Tag, Owner: k.Owner, Slug: k.Slug, Status: rule.Status(strings.ToUpper(k.Status)),
	}
	if len(k.Scope) > 0 {
		o.Scope = k.Scope
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		return k.each(s, func(id string) (wire.Decided, error) {
			return client.Call(ctx, c, op.ApproveCandidate.At(id), wire.CandidateApproval{Statement: k.Statement, Overrides: o})
		}, func(scan string, sel wire.Selection) (wire.Bulk, error) {
			return client.Call(ctx, c, op.ApproveCandidates.At(scan), wire.ApproveCandidates{Selection: sel, Overrides: o})
		})
	})
}

type candidatesDismissCommand struct {
	chosen

	Reason string `placeholder:"TEXT" help:"Why."`
}

func (candidatesDismissCommand) Help() string {
	return `Later scans of the same repository leave out what was dismissed, as long as it stays as it is:

    tenet candidates dismiss 0199... --reason "an aim, not a rule"
    tenet candidates dismiss --scan 0199... --path docs/tutorial --reason "not our rules"`
}

func (k *candidatesDismissCommand) Run(ctx context.Context, s *session) error {
	if err := k.check(); err != nil {
		return err
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		return k.each(s, func(id string) (wire.Decided, error) {
			return client.Call(ctx, c, op.DismissCandidate.At(id), wire.DismissCandidate{Reason: k.Reason})
		},
			func(scan string, sel wire.Selection) (wire.Bulk, error) {
				return client.Call(ctx, c, op.DismissCandidates.At(scan), wire.DismissCandidates{Selection: sel, Reason: k.Reason})
			})
	})
}

type candidatesScansCommand struct {
	limit
	output
}

func (k *candidatesScansCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	list, err := client.Get(ctx, c, op.ListScans.Where(wire.PageQuery{Page: 1, PageSize: k.Limit}))
	return showPage(s, k.output, list, err, printScans)
}

func printScans(s *session, scans []wire.Scan) error {
	return list(s, "there are no scans yet; begin with tenet scan", "SCAN\tSTATUS\tMADE\tFILES\tCANDIDATES\tPENDING\tOF", scans, func(scan *wire.Scan) []any {
		count, pending := "-", "-"
		if scan.CandidatesCount != nil {
			count, pending = fmt.Sprint(*scan.CandidatesCount), fmt.Sprint(*scan.Pending)
		}
		of := scan.Repository
		if scan.DocumentID != "" {
			of = "document " + scan.DocumentID
		}
		return []any{scan.ID, scan.Status, scan.CreatedAt.Format(time.DateTime), scan.Files, count, pending, of}
	})
}
