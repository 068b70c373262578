package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/text"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// checkCommand is `tenet check`.
type checkCommand struct {
	Range string `arg:"" optional:"" type:"filled" help:"Git range or commit, as git diff takes it; - reads a diff from stdin."`

	Staged bool     `group:"What to judge" help:"What the next commit would change."`
	Base   string   `group:"What to judge" type:"filled" placeholder:"REF" help:"Judge the changes since HEAD left this branch, or with --staged since this commit. Violations that are in the base already are reported and do not fail."`
	File   []string `group:"What to judge" sep:"none" placeholder:"PATH" help:"A whole file; may be repeated."`
	Facts  string   `group:"What to judge" type:"filled" placeholder:"FILE" help:"JSON object of facts, or the file that holds it; - reads it from stdin."`
	Action string   `group:"What to judge" type:"filled" placeholder:"TEXT" help:"An action in plain words."`

	AllowEmpty bool `group:"What to judge" help:"An empty diff on stdin, or a range from a commit to itself, passes. Without it, that is an error: the command before the pipe, or a variable, may be wrong."`

	Intent      string        `group:"How" placeholder:"TEXT" help:"What the change is meant to do: a claim that the judge checks."`
	Scope       string        `group:"How" type:"filled" placeholder:"PATH" help:"Scope of the subject, such as finance/payments."`
	Repository  string        `group:"How" type:"filled" placeholder:"NAME" help:"Repository of the subject; default is the path of the git remote origin."`
	Node        string        `group:"How" type:"filled" placeholder:"NODE" help:"Judge by the rules that hold at this federation node: its id, or its name or path of names. Default is the node that the repository is bound to, or all rules."`
	Environment string        `group:"How" type:"filled" placeholder:"NAME" help:"Judge by the snapshot that is active in production, staging or development instead of the live rules."`
	Mode        rule.Mode     `group:"How" placeholder:"MODE" help:"preflight (default) or posthoc."`
	SeverityMin rule.Severity `group:"How" placeholder:"LEVEL" help:"Least severity that is judged: LOW, MEDIUM (default), HIGH or CRITICAL."`
	MaxRules    int           `group:"How" default:"100" placeholder:"N" help:"Most rules that are judged, 1 to 100 (default 100)."`
	Timeout     time.Duration `group:"How" default:"5m" placeholder:"TIME" help:"Longest time to wait for the verdicts (default 5m)."`
	Wait        time.Duration `group:"How" placeholder:"TIME" help:"Ask people for an approval where confirmation is needed, and wait so long for it, such as 10m; exits with 1 if it does not come."`
	Rules       string        `group:"How" type:"filled" placeholder:"PATH" help:"Judge by the rules of this file or folder alone. Rules without a status count as EFFECTIVE. In the judged repository they are those of the commit before the change."`
	RulesFrom   string        `group:"How" enum:"base,worktree" default:"base" help:"Where rules and settings in the judged repository come from: base, the commit before the change (default), or worktree, the files as they are, to try out rules."`

	FailOn    string `group:"Result" enum:"deny,confirmation,never" default:"deny" help:"What exits with 1: deny (default), confirmation (DENY and NEEDS_CONFIRMATION) or never."`
	Undecided string `group:"Result" type:"filled" placeholder:"WORDS" help:"What follows from a rule that nothing could decide: fail exits with 2, warn says so, pass does not; one word, or one for each severity (setting undecided, default CRITICAL=fail,HIGH=fail,MEDIUM=warn,LOW=warn)."`

	Format  string   `group:"Result" short:"f" enum:"text,json,sarif,junit,github,markdown" default:"text" help:"${enum}."`
	JSON    bool     `group:"Result" name:"json" help:"The same as --format json."`
	Output  string   `group:"Result" short:"o" placeholder:"FILE" help:"Write the report to this file; - is the output."`
	Also    []string `group:"Result" sep:"none" placeholder:"FORMAT=FILE" help:"Write another report of the same evaluation, such as sarif=tenet.sarif; may be repeated."`
	Verbose bool     `group:"Result" short:"v" help:"Show the rules that are kept, too."`

	waited bool // for an approval
	found  map[string]*rule.Rule
}

func (checkCommand) Help() string {
	return `Without a range, --staged, --file, --facts or --action, the diff is read from stdin; on a terminal it is what
git diff HEAD shows.

Without --server, the rules are those of the embedded database; where there is none yet, those of the starter packs.

Exit codes: 0 nothing is violated, 1 something is, 2 it could not be judged: there is no input, a part of it could not be
examined, or a rule of severity HIGH or CRITICAL could not be decided (a fact is missing, or only a model could judge it and there is
none; see --undecided). A broken SHOULD asks for confirmation and exits with 0, unless --fail-on=confirmation is given.

A change does not choose its rules: --rules and --config in the judged repository mean the files before the change.

Examples:

    tenet check --staged
    tenet check --base origin/main --format markdown
    tenet check main...HEAD --format sarif --output tenet.sarif
    set -o pipefail; git diff HEAD | tenet check
    tenet check --facts payment.json --scope finance/payments`
}

func (k *checkCommand) Run(ctx context.Context, s *session) error {
	if k.JSON {
		k.Format = string(report.JSON)
	}
	if err := k.usage(s); err != nil {
		return err
	}
	defer unhurried(s)()
	t, err := k.trust(ctx, s)
	if err == nil {
		err = t.settings(ctx, s)
	}
	if err != nil {
		return err
	}
	policy, err := readUndecided(s, k.Undecided)
	if err != nil {
		return err
	}
	e, known, empty, err := k.judge(ctx, s, t)
	if err != nil {
		return err
	}
	if err := k.also(s, e, known); err != nil {
		return err
	}
	// If the reader of the report has gone, the verdict still decides the exit code.
	if err := k.report(s, e, known, empty); err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	if empty {
		return nil
	}
	if k.Wait > 0 && e.OverallVerdict == rule.NeedsConfirmation && k.FailOn != "never" {
		s.note("this needs confirmation, and nobody has approved it")
		return exit(exitFound)
	}
	return verdict(s, standing(e, known), k.FailOn, policy)
}

// unhurried keeps the garbage collector from running in a process that ends in a moment, as long as memory is not short.
// It takes a quarter off the time of a check. The returned function undoes it.
func unhurried(s *session) func() {
	if s.env("GOGC") != "" || s.env("GOMEMLIMIT") != "" {
		return func() {}
	}
	percent, limit := debug.SetGCPercent(-1), debug.SetMemoryLimit(collectAbove)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}

// collectAbove is how many bytes a check may use before the garbage collector runs.
const collectAbove = 256 << 20

// usage refuses flags that contradict one another.
func (k *checkCommand) usage(s *session) error {
	sources := 0
	for _, given := range []bool{k.Range != "", k.Staged} {
		if given {
			sources++
		}
	}
	switch {
	case sources > 1:
		return errors.New("give a range or --staged, not both")
	case k.Action != "" && (sources > 0 || len(k.File) > 0 || k.Facts != ""):
		return errors.New("--action is judged alone; describe a change or facts with --intent")
	case k.Action != "" && (k.Intent != "" || k.Repository != "" || k.Mode != "" || k.SeverityMin != ""):
		return errors.New("--action goes with --scope and --node only, not with --intent, --repository, --mode and --severity-min")
	case k.Range == "-" && k.Facts == "-":
		return errors.New("the diff and the facts cannot both come from stdin; put one into a file")
	case k.Rules == "-":
		return errors.New("--rules takes a file or a folder; stdin is for the diff")
	case k.Wait < 0 || k.Wait > rule.MaxApprovalWait:
		return fmt.Errorf("--wait is %s; give a time up to %s", k.Wait, rule.MaxApprovalWait)
	case k.Wait > 0 && k.Rules != "":
		return errors.New("--wait asks people on a server; it goes without --rules")
	case k.MaxRules == 0:
		return errors.New("--max-rules is 0; use 1 to 100")
	case k.Rules != "" && (s.globals.Server != "" || s.globals.Data != "" || s.globals.DatabaseURL != ""):
		return errors.New("--rules judges by those files alone; it goes without --server, --data and --database-url")
	}
	return k.usageAlso()
}

// nothing is the evaluation of an empty diff: no rule has allowed anything. why says what is empty.
func nothing(why string) *rule.Evaluation {
	e := &rule.Evaluation{
		ModelIDsUsed: []string{}, RuleVerdicts: []rule.RuleVerdict{}, Overridden: []rule.Overridden{}, Mode: rule.Preflight, Timestamp: rule.Instant(time.Now()),
		Notices: []string{"Nothing was judged: " + why + "."},
	}
	e.Coverage.Unexamined = []rule.Unexamined{}
	e.Tally()
	e.OverallVerdict = rule.NeedsConfirmation
	return e
}

// judge gathers the subject and asks the server, or a node in this process, which is started meanwhile. empty reports that
// the subject is empty.
func (k *checkCommand) judge(ctx context.Context, s *session, t *trust) (e *rule.Evaluation, known map[*rule.RuleVerdict]bool, empty bool, err error) {
	node := k.begin(ctx, s, t)
	subject, err := k.subject(ctx, s)
	c, stop, errConnect := node()
	if errConnect == nil {
		defer func() { err = errors.Join(err, stop()) }()
	}
	switch {
	case err != nil:
		return nil, nil, false, err
	case subject.empty():
		why, err := k.whyEmpty(ctx, s)
		if err != nil {
			return nil, nil, true, err
		}
		s.note("%s", why)
		return nothing(why), nil, true, nil
	case errConnect != nil:
		return nil, nil, false, errConnect
	case k.Wait > 0 && s.scratch:
		return nil, nil, false, errors.New("--wait asks people for an approval, and there is neither a server nor a database to ask them by; name a server with --server, " +
			"such as the one that tenet serve starts in another terminal")
	}
	noteWalls(s, subject.diff)
	if err := t.changes(s, &subject.change); err != nil {
		return nil, nil, false, err
	}
	defer s.progress("judging")()
	if e, err = k.ask(ctx, c, subject); err == nil && k.Wait > 0 {
		e, err = k.await(ctx, s, c, subject, e)
	}
	if err == nil {
		k.describe(ctx, c, e)
	}
	if err == nil && k.Base != "" {
		known, err = k.knownFindings(ctx, c, subject, e)
	}
	return e, known, false, err
}

// begin connects in the background; the returned function waits for it.
func (k *checkCommand) begin(ctx context.Context, s *session, t *trust) func() (*client.Client, func() error, error) {
	var c *client.Client
	var stop func() error
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		c, stop, err = k.connect(ctx, s, t)
	}()
	return func() (*client.Client, func() error, error) {
		<-done
		return c, stop, err
	}
}

// ask has the subject judged within the time limit.
func (k *checkCommand) ask(outer context.Context, c *client.Client, subject *checkSubject) (e *rule.Evaluation, err error) {
	ctx, cancel := context.WithTimeout(outer, k.Timeout)
	defer cancel()
	var node found
	if k.Node != "" {
		node, err = findNode(ctx, c, k.Node)
	}
	switch {
	case err != nil:
	case k.Action != "":
		e, err = c.EvaluateQuick(ctx, client.Quick{Action: k.Action, Scope: k.Scope, NodeID: node.ID, Environment: k.Environment, ApprovalAsk: k.asking()})
	default:
		e, err = c.Evaluate(ctx, client.Evaluate{
			Diff: subject.diff, Files: subject.files, Facts: subject.facts, Intent: k.Intent, Scope: k.Scope, Repository: subject.repository,
			Mode: k.Mode, MaxRules: k.MaxRules, SeverityMin: k.SeverityMin, NodeID: node.ID, Environment: k.Environment, ApprovalAsk: k.asking(),
		})
	}
	if err != nil && outer.Err() == nil && ctx.Err() != nil {
		err = fmt.Errorf("there was no answer within %s; see --timeout", k.Timeout)
	}
	return e, err
}

// await waits for the approval that an evaluation has asked for, and evaluates again once it is given.
func (k *checkCommand) await(ctx context.Context, s *session, c *client.Client, subject *checkSubject, e *rule.Evaluation) (*rule.Evaluation, error) {
	if e.Approval == nil || e.Approval.State != rule.ApprovalPending {
		return e, nil
	}
	s.note("waiting until %s for an approval: %s", time.Now().Add(k.Wait).Format(time.TimeOnly), e.Approval.URL)
	if s.globals.Server == "" && s.env("TENET_SERVER") == "" {
		s.note("without a server, approve in another terminal: tenet approvals approve %s --reason TEXT", e.Approval.ID)
	}
	a, err := awaitApproval(ctx, c, e.Approval.ID, k.Wait)
	if err != nil {
		return nil, err
	}
	s.note("the approval is %s%s", a.State, lastReason(&a))
	if a.State != rule.ApprovalApproved {
		return e, nil
	}
	k.waited = true
	return k.ask(ctx, c, subject)
}

// asking asks for an approval, once.
func (k *checkCommand) asking() (ask wire.ApprovalAsk) {
	if k.Wait > 0 && !k.waited {
		ask.RequestApproval, ask.Approval = true, &wire.ApprovalTerms{Reason: k.Intent, ExpiresIn: max(min(k.Wait, rule.MaxApprovalWait), time.Second).String()}
	}
	return ask
}

// connect is like that of the session, but a settings file must be named: check runs in other people's folders, whose
// tenet.yaml must not choose the rules.
func (k *checkCommand) connect(ctx context.Context, s *session, t *trust) (*client.Client, func() error, error) {
	if k.Rules == "" {
		return s.connect(ctx, evaluates, "")
	}
	files, err := t.rules(ctx, s, k.Rules)
	if err != nil {
		return nil, nil, err
	}
	cfg, err := s.configure("", nil)
	if err != nil {
		return nil, nil, err
	}
	c, stop, err := s.throwAway(ctx, cfg, app.Options{Rules: files.effective()})
	return c, stop, files.locate(err)
}

// report writes the report.
func (k *checkCommand) report(s *session, e *rule.Evaluation, known map[*rule.RuleVerdict]bool, empty bool) error {
	if k.Output == "-" {
		k.Output = ""
	}
	if empty && (k.Format == "text" || k.Format == "github") && k.Output == "" {
		return nil
	}
	o := k.options(s, known)
	o.Color = s.colour && k.Output == ""
	if !s.scratch && !empty {
		defer notePage(s, e)
	}
	if k.Output == "" {
		print := func() error { return report.Write(s.out, report.Format(k.Format), e, o) }
		if k.Format == string(report.Text) {
			return paged(s, print)
		}
		return print()
	}
	err := writeFile(k.Output, func(w io.Writer) error { return report.Write(w, report.Format(k.Format), e, o) })
	if err != nil {
		return err
	}
	s.note("%s: %d violated, %d to confirm, %d kept; the report is in %s", e.OverallVerdict, e.RulesViolated, e.RulesUncertain,
		e.RulesPassed, k.Output)
	return nil
}

func (k *checkCommand) options(s *session, known map[*rule.RuleVerdict]bool) report.Options {
	return report.Options{
		Version: version(), Verbose: k.Verbose, ConfirmFails: k.FailOn == "confirmation", NotKept: s.scratch, Known: known, Server: webAddress(s), Rules: k.found,
		Files: filesOf(s),
	}
}

// filesOf returns where the files of the commit are that a pipeline of GitHub or GitLab judges, or "" elsewhere.
func filesOf(s *session) string {
	web, commit, between := "", "", "/blob/"
	switch {
	case s.env("GITHUB_ACTIONS") == "true":
		web, commit = strings.TrimRight(s.env("GITHUB_SERVER_URL"), "/")+"/"+s.env("GITHUB_REPOSITORY"), s.env("GITHUB_SHA")
	case s.env("GITLAB_CI") != "":
		web, commit, between = strings.TrimRight(s.env("CI_PROJECT_URL"), "/"), s.env("CI_COMMIT_SHA"), "/-/blob/"
	}
	if !webForm.MatchString(web) || !commitForm.MatchString(commit) {
		return ""
	}
	return web + between + commit
}

var (
	webForm    = regexp.MustCompile(`^https?://[A-Za-z0-9._:-]+(/[A-Za-z0-9._~-]+)+$`)
	commitForm = regexp.MustCompile(`^[0-9a-f]{40,64}$`)
)

// maxDescribed bounds the rules whose rationale and tags a report asks for.
const maxDescribed = 100

// describe gets the rules that have objected, for their rationale and tags, if a report shows them. What cannot be read is left out.
func (k *checkCommand) describe(ctx context.Context, c *client.Client, e *rule.Evaluation) {
	if k.Format != string(report.SARIF) && !slices.ContainsFunc(k.Also, func(a string) bool { return strings.HasPrefix(a, string(report.SARIF)+"=") }) {
		return
	}
	k.found = map[string]*rule.Rule{}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		if v.Verdict == rule.Allow || k.found[v.RuleID] != nil || len(k.found) == maxDescribed {
			continue
		}
		if r, err := client.Get(ctx, c, op.GetRule.At(v.RuleID)); err == nil {
			k.found[v.RuleID] = &r
		}
	}
}

// also writes the further reports.
func (k *checkCommand) also(s *session, e *rule.Evaluation, known map[*rule.RuleVerdict]bool) error {
	o := k.options(s, known)
	for _, wanted := range k.Also {
		format, path, _ := strings.Cut(wanted, "=")
		if err := writeTo(s, path, func(w io.Writer) error { return report.Write(w, report.Format(format), e, o) }); err != nil {
			return err
		}
	}
	return nil
}

// usageAlso refuses what names no report.
func (k *checkCommand) usageAlso() error {
	for _, wanted := range k.Also {
		format, path, _ := strings.Cut(wanted, "=")
		if _, ok := rule.Parse(format, report.Formats); !ok || strings.ToLower(format) != format || path == "" {
			return fmt.Errorf("--also: %q is not a format and a file, such as sarif=tenet.sarif; formats are %s", wanted, rule.Names(report.Formats))
		}
	}
	return k.usageBase()
}

// writeTo writes to a file as [writeFile] does, or to the output for -.
func writeTo(s *session, path string, write func(io.Writer) error) error {
	if path == "-" {
		return write(s.out)
	}
	return writeFile(path, write)
}

// writeFile replaces a file as a whole, so that nobody reads half of it.
func writeFile(path string, write func(io.Writer) error) (err error) {
	if info, statErr := os.Stat(path); statErr == nil && !info.Mode().IsRegular() {
		return toDevice(path, write)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".tenet-*")
	if err != nil {
		return fmt.Errorf("cannot write %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	if err := errors.Join(write(f), f.Chmod(0o644), f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), path)
}

// toDevice writes to what cannot be replaced, such as /dev/stdout.
func toDevice(path string, write func(io.Writer) error) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	return errors.Join(write(f), f.Close())
}

// verdict ends a command with the exit code of an evaluation.
func verdict(s *session, e *rule.Evaluation, failOn string, policy undecidedPolicy) error {
	policy = policy.demanding(e)
	open, unlisted := policy.undecided(e), policy.unlisted(e)
	switch {
	case e.OverallVerdict == rule.Deny:
		if failOn == "never" {
			s.note("denied; exits with 0 because of --fail-on=never")
			return nil
		}
		return exit(exitFound)
	case e.OverallVerdict == rule.NeedsConfirmation && failOn == "confirmation":
		return exit(exitFound)
	case e.OverallVerdict == rule.NeedsConfirmation && failOn == "never":
		s.note("needs confirmation; exits with 0 because of --fail-on=never")
		return nil
	case e.Coverage.Uncovered == rule.UncoveredConfirm || e.BelowFloor():
		s.note("the project's policy asks for confirmation; exits with 2, and with 0 under --fail-on=never")
		return exit(exitFailed)
	case len(open[failUndecided]) > 0:
		s.note("%s; exits with 2, and with 0 under --fail-on=never", severities(open[failUndecided]))
		return exit(exitFailed)
	case unlisted[failUndecided] > 0:
		s.note("%s beyond --max-rules could not be decided; exits with 2, and with 0 under --fail-on=never", text.Plural(unlisted[failUndecided], "rule"))
		return exit(exitFailed)
	case e.OverallVerdict == rule.NeedsConfirmation && !asks(e):
		s.note("the subject was not judged as a whole; exits with 2, and with 0 under --fail-on=never")
		return exit(exitFailed)
	}
	if len(open[warnUndecided]) > 0 {
		s.note("warning: %s; exits with 0, and with 2 under --undecided=fail", severities(open[warnUndecided]))
	}
	if n := unlisted[warnUndecided]; n > 0 {
		s.note("warning: %s beyond --max-rules could not be decided; exits with 0, and with 2 under --undecided=fail", text.Plural(n, "rule"))
	}
	switch {
	case e.OverallVerdict == rule.NeedsConfirmation:
		s.note("needs confirmation; exits with 0, and with 1 under --fail-on=confirmation")
	case e.OverallVerdict == rule.Allow && e.Coverage.Uncovered != "":
		s.note("no rule covers this subject, so nothing was checked")
	}
	return nil
}

// asks reports whether a verdict asks for the confirmation that an evaluation needs as a whole.
func asks(e *rule.Evaluation) bool {
	return slices.ContainsFunc(e.RuleVerdicts, func(v rule.RuleVerdict) bool { return v.Verdict == rule.NeedsConfirmation && v.Counts() })
}
