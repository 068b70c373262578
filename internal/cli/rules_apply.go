package cli

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/discover/assistant"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

type rulesImportCommand struct {
	Path       string `arg:"" help:"Rule file, folder of rule files, or - for stdin."`
	CreateOnly bool   `help:"Refuse rules that exist already instead of updating them."`
	DryRun     bool   `help:"Show the changes without making them."`
	Reason     string `placeholder:"TEXT" help:"Why CRITICAL and HIGH rules may end at federation nodes; kept in the audit chain."`
	output
}

func (k *rulesImportCommand) Run(ctx context.Context, s *session) error {
	files, joined, err := openRules(ctx, s, k.Path)
	if err != nil {
		return refused(ctx, s, files, joined, err)
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		q := wire.ImportQuery{DryRun: k.DryRun, WeakeningQuery: wire.WeakeningQuery{AllowWeakening: k.Reason != "", Reason: k.Reason}}
		if k.CreateOnly {
			q.Mode = "create"
		}
		done := func() {}
		if len(joined.Rules) <= catalog.MaxImport {
			done = s.progress("importing")
		}
		result, err := importAll(ctx, s, c, files, joined, q, catalog.MaxImport, partSize)
		done()
		if err != nil {
			return files.locate(err)
		}
		return show(s, k.output, result, nil, printImported)
	})
}

func printImported(s *session, result rule.ImportResult) error {
	if _, err := fmt.Fprintln(s.out, tally(&result)); err != nil || result.Silenced == nil {
		return err
	}
	var b bytes.Buffer
	printSilenced(s, &b, result.Silenced)
	_, err := s.out.Write(b.Bytes())
	return err
}

// openRules reads rule files and joins them. It returns the files together with an error if the files can be read and only what they say is wrong.
func openRules(ctx context.Context, s *session, path string) (*ruleFiles, *wire.RuleFile, error) {
	files, err := loadRules(ctx, path, s.in)
	if files == nil {
		return nil, nil, err
	}
	wrong := newFilesError()
	wrong.merge(err)
	wrong.merge(files.check())
	joined, err := files.join()
	if len(wrong.wrong.Fields) == 0 {
		return files, joined, err
	}
	if err != nil {
		return nil, nil, wrong
	}
	return files, joined, wrong
}

// refused returns the error of openRules, with what only the corpus knows: which test cases name a rule that neither it nor the files have.
func refused(ctx context.Context, s *session, files *ruleFiles, joined *wire.RuleFile, err error) error {
	wrong, ok := errors.AsType[*filesError](err)
	if ok && files == nil {
		unknownCases(ctx, s, wrong)
		return wrong
	}
	if !ok || len(joined.Cases) == 0 || len(joined.Rules) > catalog.MaxImport {
		return err
	}
	_ = s.with(ctx, readsData, func(c *client.Client) error { // without an answer, the error stays as the files give it
		_, planned := client.ImportRules(ctx, c, joined, wire.ImportQuery{DryRun: true})
		if rule.CodeOf(planned) == rule.CodeInvalid {
			wrong.merge(files.locate(planned))
		}
		return nil
	})
	return wrong
}

// tally is the result of an import in one line.
func tally(r *rule.ImportResult) string {
	verbs := [3]string{"created", "updated", "retired"}
	if r.DryRun {
		verbs = [3]string{"to create", "to update", "to retire"}
	}
	text := fmt.Sprintf("%d %s, %d %s, %d %s, %d unchanged", r.Created, verbs[0], r.Updated, verbs[1], r.Retired, verbs[2], r.Unchanged)
	if r.Proposed > 0 && r.DryRun {
		text += fmt.Sprintf(", %d to propose: they wait for approval by another person", r.Proposed)
	} else if r.Proposed > 0 {
		text += fmt.Sprintf(", %d proposed: they wait for approval by another person (tenet rules pending)", r.Proposed)
	}
	if n := len(r.Waiting); n > 0 {
		text += fmt.Sprintf(", %d proposed before and still waiting", n)
	}
	if n := len(r.Federation); n > 0 {
		verb := "changed"
		if r.DryRun {
			verb = "to change"
		}
		text += fmt.Sprintf("; nodes: %d %s", n, verb)
	}
	if c := r.Cases; c != (rule.CaseChanges{}) {
		verbs := [2]string{"added", "removed"}
		if r.DryRun {
			verbs = [2]string{"to add", "to remove"}
		}
		text += fmt.Sprintf("; test cases: %d %s, %d %s, %d unchanged", c.Added, verbs[0], c.Removed, verbs[1], c.Unchanged)
		if c.FileOnly > 0 {
			text += fmt.Sprintf(", %d run from files only", c.FileOnly)
		}
	}
	return text
}

// changes counts what an import changes.
func changes(r *rule.ImportResult) int {
	return len(r.Changes) + len(r.Federation) + r.Cases.Added + r.Cases.Removed
}

type rulesExportCommand struct {
	ruleFilter

	Format  string `short:"f" enum:"yaml,json,agents.md,claude.md,cursor,copilot" default:"yaml" help:"${enum}."`
	Output  string `short:"o" placeholder:"PATH" help:"Write to this file; for assistants, below this folder, which is that of the repository."`
	Node    string `placeholder:"NODE" help:"For assistants: the rules that hold at this node, by its id, or its name or path of names."`
	MaxSize int    `default:"32768" placeholder:"BYTES" help:"For assistants: most bytes of a file; the least severe rules are left out (default 32768, of which assistants read that much)."`
	Force   bool   `help:"For assistants: write over files that somebody else has written."`
	jsonFlag
}

func (rulesExportCommand) Help() string {
	return `YAML and JSON hold all that rules are, for tenet rules apply. The other formats are instructions to assistants; they hold the
rules in force, and tenet scan reads them back as they are:

    tenet rules export -o rules.yaml
    tenet rules export --format agents.md --node acme/payments -o .
    tenet rules export --format cursor -o .`
}

func (k *rulesExportCommand) Run(ctx context.Context, s *session) error {
	k.Format = k.or(k.Format)
	if format, ok := rule.Parse(k.Format, assistant.Formats); ok {
		return k.instructions(ctx, s, format)
	}
	if k.Node != "" || k.Force {
		return fmt.Errorf("--node and --force go with the formats for assistants: %s", rule.Names(assistant.Formats))
	}
	return s.with(ctx, readsData, func(c *client.Client) error {
		body, err := client.Get(ctx, c, op.ExportRules.Where(k.filter(), wire.ExportQuery{Format: k.Format}))
		if err != nil {
			return err
		}
		if k.Output != "" {
			return writeTo(s, k.Output, func(w io.Writer) error {
				_, err := w.Write(body)
				return err
			})
		}
		return pagedText(s, string(body))
	})
}

type rulesPlanCommand struct {
	Path     string `arg:"" help:"Rule file, folder of rule files, or - for stdin."`
	Prune    bool   `help:"Retire the rules that the files do not name; remove such nodes and attachments, if the files have a federation."`
	ExitCode bool   `help:"Exit with 1 if there are changes."`
	Verify   bool   `help:"Also show what the changes would lead to: lint, failing test cases, contradictions, and recorded evaluations that would be decided in another way."`
	Replay   int    `default:"50" placeholder:"N" help:"With --verify: how many recorded evaluations each changed rule is tried on, up to 100; 0 tries none."`
	output
}

func (rulesPlanCommand) Help() string {
	return `Nothing is stored and no model is asked.

    tenet rules plan rules/
    tenet rules plan rules/ --verify --exit-code

Exit codes: 0; 1 if there are changes and --exit-code is given, or if --verify finds failing test cases or contradictions; 2 if the files
could not be planned.`
}

func (k *rulesPlanCommand) Run(ctx context.Context, s *session) error {
	files, joined, err := openRules(ctx, s, k.Path)
	if err != nil {
		return refused(ctx, s, files, joined, err)
	}
	return s.with(ctx, readsData, func(c *client.Client) error {
		done := s.progress("planning")
		result, err := importAll(ctx, s, c, files, joined, wire.ImportQuery{Prune: k.Prune, DryRun: true}, catalog.MaxImport, partSize)
		done()
		if err != nil {
			return files.locate(err)
		}
		var found []verified
		if k.Verify {
			if found, err = verify(ctx, s, c, files, &result, k.Replay); err != nil {
				return err
			}
		}
		switch {
		case k.json() && k.Verify:
			err = printJSON(s.out, struct {
				rule.ImportResult
				Verified []verified `json:"verified"`
			}{result, found})
		case k.json():
			err = printJSON(s.out, result)
		default:
			warnUnnamed(s, files)
			err = paged(s, func() error {
				err := printPlan(s, &result)
				if err == nil && k.Verify {
					err = printVerified(s, found)
				}
				return err
			})
		}
		if err == nil && (k.ExitCode && changes(&result) > 0 || slices.ContainsFunc(found, func(v verified) bool { return v.bad() })) {
			return exit(exitFound)
		}
		return err
	})
}

// warnUnnamed warns about rules that each apply would create again.
func warnUnnamed(s *session, files *ruleFiles) {
	if n := files.unnamed(); n > 0 {
		s.note("rules without slug and id: %d; every apply creates them again, so give them slugs", n)
	}
}

type rulesApplyCommand struct {
	Path  string `arg:"" help:"Rule file, folder of rule files, or - for stdin."`
	Prune bool   `help:"Retire the rules that the files do not name; remove such nodes and attachments, if the files have a federation."`
	Yes   bool   `short:"y" help:"Do not ask."`
	// Reason answers the question like Yes, and is the permission for guarded rules to end.
	Reason string `placeholder:"TEXT" help:"Do not ask: why CRITICAL and HIGH rules may end at federation nodes; kept in the audit chain."`
	output
}

func (k *rulesApplyCommand) Run(ctx context.Context, s *session) error {
	asks := !k.Yes && strings.TrimSpace(k.Reason) == ""
	if asks && (k.Path == "-" || !isTerminal(s.stdin)) {
		return errors.New("apply asks before it changes rules, and there is no terminal to ask on; look at `tenet rules plan`, then give --yes")
	}
	files, joined, err := openRules(ctx, s, k.Path)
	if err != nil {
		return refused(ctx, s, files, joined, err)
	}
	return s.with(ctx, needsData, func(c *client.Client) error {
		done := s.progress("planning")
		plan, err := importAll(ctx, s, c, files, joined, wire.ImportQuery{Prune: k.Prune, DryRun: true}, catalog.MaxImport, partSize)
		done()
		if err != nil {
			return files.locate(err)
		}
		warnUnnamed(s, files)
		if err := k.printPlan(s, &plan); err != nil {
			return err
		}
		q := wire.ImportQuery{Prune: k.Prune}
		if plan.Silenced != nil {
			permission, err := (&consent{Yes: true, Reason: k.Reason}).agree(s, plan.Silenced)
			if err != nil {
				return err
			}
			q.WeakeningQuery = wire.WeakeningQuery{AllowWeakening: permission.AllowWeakening, Reason: permission.Reason}
		}
		if asks && changes(&plan) > 0 && !confirm(s, "Apply these changes?") {
			return errors.New("nothing was changed")
		}
		// Relationships may differ even where no rule does, so the import runs in any case.
		done = s.progress("applying")
		result, err := importAll(ctx, s, c, files, joined, q, catalog.MaxImport, partSize)
		done()
		if err != nil {
			return files.locate(err)
		}
		return show(s, k.output, result, nil, func(s *session, result rule.ImportResult) error {
			_, err := fmt.Fprintln(s.out, tally(&result))
			return err
		})
	})
}

// printPlan shows the changes before they are made: where the output is to be JSON, to those who are asked.
func (k *rulesApplyCommand) printPlan(s *session, plan *rule.ImportResult) error {
	asked := !k.Yes && k.Reason == ""
	switch {
	case !k.json() && asked:
		return paged(s, func() error { return printPlan(s, plan) })
	case !k.json():
		return printPlan(s, plan)
	case !asked:
		return nil
	}
	other := *s
	other.out = s.err
	return printPlan(&other, plan)
}

// confirm asks on the terminal. Every answer but yes is no, and so is Ctrl-C.
func confirm(s *session, question string) bool {
	fmt.Fprintf(s.err, "%s [y/N] ", question)
	answer, err := bufio.NewReader(io.LimitReader(s.in, 100)).ReadString('\n')
	if err != nil {
		fmt.Fprintln(s.err)
		return false
	}
	answer = strings.ToLower(strings.TrimSpace(answer))
	return answer == "y" || answer == "yes"
}

// printPlan shows what an import changes, in the manner of a diff.
func printPlan(s *session, r *rule.ImportResult) error {
	var b bytes.Buffer
	for _, ch := range r.Changes {
		name := s.bold(cmp.Or(ch.Slug, ch.RuleID))
		switch ch.Action {
		case "create":
			fmt.Fprintf(&b, "%s %s  %s\n", s.green("+"), name, line(ch.Statement))
		case "retire":
			fmt.Fprintf(&b, "%s %s  %s\n", s.red("-"), name, line(ch.Statement))
		case "propose":
			fmt.Fprintf(&b, "%s %s  %s %s\n", s.yellow("?"), name, line(ch.Statement), s.dim("(proposed, waits for approval by another person)"))
			printFields(s, &b, ch.Fields)
			printWeakens(s, &b, ch.Weakens)
		default:
			fmt.Fprintf(&b, "%s %s  %s %s\n", s.yellow("~"), name, line(ch.Statement), s.dim(fmt.Sprintf("(version %d)", ch.Version)))
			printFields(s, &b, ch.Fields)
		}
	}
	for i := range r.Federation {
		printNodeChange(s, &b, &r.Federation[i])
	}
	if r.Silenced != nil {
		printSilenced(s, &b, r.Silenced)
	}
	for _, ch := range r.Waiting {
		fmt.Fprintf(&b, "%s %s  %s %s\n", s.dim("?"), s.bold(cmp.Or(ch.Slug, ch.RuleID)), line(ch.Statement),
			s.dim(fmt.Sprintf("(revision %d waits already)", ch.Revision)))
	}
	if changes(r) == 0 && len(r.Waiting) == 0 {
		verb := "are"
		if r.Unchanged == 1 {
			verb = "is"
		}
		fmt.Fprintf(&b, "No changes: %s %s as the files say.\n", amount(r.Unchanged, "rule"), verb)
	} else {
		fmt.Fprintln(&b, tally(r))
	}
	for _, notice := range r.Notices {
		fmt.Fprintf(&b, "%s %s\n", s.yellow("!"), line(notice))
	}
	_, err := s.out.Write(b.Bytes())
	return err
}

// printWeakens shows in which ways a rule would demand less.
func printWeakens(s *session, b *bytes.Buffer, ways []string) {
	if len(ways) > 0 {
		fmt.Fprintf(b, "    %s %s\n", s.red("demands less:"), line(strings.Join(ways, ", ")))
	}
}

// value shows a field's value on one line.
func value(v json.RawMessage) string {
	var compact bytes.Buffer
	if len(v) == 0 || json.Compact(&compact, v) != nil {
		return "nothing"
	}
	if compact.String() == `""` || compact.String() == "null" {
		return "nothing"
	}
	return line(compact.String())
}
