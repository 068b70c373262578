package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"tenet/internal/client"
	"tenet/internal/config"
	"tenet/internal/gateway"
	"tenet/internal/git"
	"tenet/internal/hook"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// hookCommands are `tenet hook ...`.
type hookCommands struct {
	ClaudeCode claudeHook       `cmd:"" name:"claude-code" help:"Answer a hook of Claude Code, whose JSON comes on stdin."`
	Cursor     cursorHook       `cmd:"" help:"Answer a hook of Cursor, whose JSON comes on stdin."`
	Codex      codexHook        `cmd:"" help:"Answer a hook of Codex, whose JSON comes on stdin."`
	Gemini     geminiHook       `cmd:"" help:"Answer a hook of Gemini CLI, whose JSON comes on stdin."`
	Copilot    copilotHook      `cmd:"" help:"Answer a hook of GitHub Copilot, whose JSON comes on stdin."`
	Windsurf   windsurfHook     `cmd:"" help:"Answer a hook of Windsurf, whose JSON comes on stdin."`
	PreCommit  preCommitHook    `cmd:"" name:"pre-commit" help:"Be a hook of the pre-commit framework."`
	Git        gitHook          `cmd:"" help:"Be the pre-commit hook of git."`
	Reference  transactionHook  `cmd:"" name:"reference-transaction" help:"Be the reference-transaction hook of git, which reports commits that were not judged."`
	Install    installCommand   `cmd:"" help:"Set a hook up in the settings of its tool."`
	Uninstall  uninstallCommand `cmd:"" help:"Take a hook out of the settings of its tool."`
	Status     statusCommand    `cmd:"" help:"Show which hooks stand here, and what they judged last."`
	Test       proveCommand     `cmd:"" help:"Prove the hooks with a planted forbidden act."`
}

// hookFlags are those of all hooks.
type hookFlags struct {
	Timeout     time.Duration `placeholder:"TIME" help:"Longest time for an answer (setting hook_timeout, default 10s; of it the hooks of agents take at most 25s)."`
	Fail        string        `placeholder:"MODES" help:"What to answer where nothing could be judged: closed, ask or open, or one for each severity (setting hook_fail, default CRITICAL=closed,HIGH=ask,MEDIUM=ask,LOW=open)."`
	Scope       string        `placeholder:"PATH" help:"Scope of what is judged, such as finance/payments."`
	Node        string        `placeholder:"NODE" help:"Judge by the rules that hold at this federation node: its id, or its name or path of names."`
	Environment string        `placeholder:"NAME" help:"Judge by the snapshot that is active in production, staging or development instead of the live rules."`

	approval string // setting hook_approval
}

const hookHelp = `Where Tenet cannot answer (no server, too late, a wrong key, input that it does not understand), the fail mode decides, and the
answer says so: closed denies, ask asks the person, open lets it pass and says so. It is set for each severity, because one rule
may be undecided while the others are judged; where nothing could be judged at all, the strictest counts.

Without --server, the rules are those of the embedded database; where there is none yet, those of the starter packs.
`

type claudeHook struct {
	hookFlags

	Approve bool `help:"Say allow where every rule is kept, so that Claude Code does not ask the person either. Without it, Claude Code asks as it is set up to."`
}

func (claudeHook) Help() string {
	return `Edits and commands that break a rule are denied with exit code 2 and the reason on stderr; what needs confirmation is asked.

` + hookHelp + `
Example, in two lines:

    tenet hook install claude-code
    claude`
}

func (k *claudeHook) Run(ctx context.Context, s *session) error {
	event, a := k.answer(ctx, s, "claude-code", hook.Claude)
	return s.reply(hook.WriteClaude(event, a, k.Approve))
}

type cursorHook struct{ hookFlags }

func (cursorHook) Help() string {
	return `Answers beforeShellExecution, beforeMCPExecution, beforeReadFile, preToolUse and afterFileEdit. An edit that has been made cannot
be stopped any more: it is judged and recorded, and the reason goes to Cursor's log of hooks.

` + hookHelp + `
Example:

    tenet hook install cursor`
}

func (k *cursorHook) Run(ctx context.Context, s *session) error {
	event, a := k.answer(ctx, s, "cursor", hook.Cursor)
	return s.reply(hook.WriteCursor(event, a))
}

// reply writes an answer and ends with its exit code.
func (s *session) reply(stdout, stderr string, code int) error {
	if _, err := io.WriteString(s.err, stderr); err != nil {
		return err
	}
	if _, err := io.WriteString(s.out, stdout); err != nil {
		return err
	}
	if code != 0 {
		return exit(code)
	}
	return nil
}

// hookSettings are the settings of a hook.
type hookSettings struct {
	config.Config

	limit time.Duration
	modes hook.FailModes
	self  hook.Decision
}

// settings returns the settings. If they cannot be read, the caller says so and closes everything.
func (k *hookFlags) settings(s *session) (hookSettings, error) {
	flags := map[string]string{}
	if k.Timeout != 0 {
		flags["hook_timeout"] = k.Timeout.String()
	}
	if k.Fail != "" {
		flags["hook_fail"] = k.Fail
	}
	cfg, err := s.configure("", flags)
	if err != nil {
		return hookSettings{}, err
	}
	h := hookSettings{Config: cfg, limit: cfg.HookTimeout}
	if h.modes, err = rule.ParseFailModes(cfg.HookFail); err != nil {
		return hookSettings{}, err
	}
	if k.approval, err = hook.ParseApproval(cfg.HookApproval); err != nil {
		return hookSettings{}, err
	}
	h.self, err = hook.ParseSelf(cfg.HookSelf)
	return h, err
}

// settingsOfBase takes a settings file that is named, and that is in the repository, as it is in HEAD: an edit must not choose how it is judged.
func settingsOfBase(ctx context.Context, s *session) error {
	if cmp.Or(s.globals.Config, s.env("TENET_CONFIG")) == "" {
		return nil
	}
	silent := *s
	silent.err = io.Discard // belongs to the answer
	t, err := newTrust(ctx, func(r git.Repository) (string, error) { return r.Commit(ctx, "HEAD") })
	if err == nil {
		err = t.settings(ctx, &silent)
	}
	s.settings = silent.settings
	return err
}

// toolTime is how much of the time that tools give their hook, 30 s as installed, a setting may take: Claude Code lets pass what a
// hook has not answered by then. Who sets another limit up in the tool gives --timeout.
const toolTime = 25 * time.Second

// inTime is a time limit within that of the tool.
func (k *hookFlags) inTime(limit time.Duration) time.Duration {
	if k.Timeout != 0 {
		return k.Timeout
	}
	return min(limit, toolTime)
}

// answer reads the payload and has it judged within the time limit, always. The guard of Tenet's own walls comes first, whatever rules there
// are; where it asks, the rules can only add a denial.
func (k *hookFlags) answer(ctx context.Context, s *session, tool string, read hook.Reader) (event string, a hook.Answer) {
	err := settingsOfBase(ctx, s)
	var set hookSettings
	if err == nil {
		set, err = k.settings(s)
	}
	if err != nil {
		return "", hook.Failed("the settings are wrong: "+err.Error(), nil)
	}
	limit, modes := k.inTime(set.limit), set.modes
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q, err := readQuestion(ctx, s, read)
	q.Agent = tool
	guarded := hook.Guarded(newGuard(s, &set.Config).Judge(q.Acts), set.self)
	switch {
	case probed(s, &q):
		a = hook.Answer{Decision: hook.Deny, Reason: "Tenet: this was planted by tenet hook test."}
	case guarded.Decision == hook.Deny:
		a = guarded
	case err != nil && ctx.Err() != nil:
		a = hook.Unread(tooLate(limit), modes)
	case err != nil:
		a = hook.Unread(err.Error(), modes)
	case q.Skip:
		a = hook.Answer{Decision: hook.Allow}
	default:
		var e *rule.Evaluation
		if a, e = k.judge(ctx, s, limit, modes, q); e != nil {
			a.Unknown = q.Unknown
		}
	}
	if guarded.Decision == hook.Ask {
		a = hook.Stricter(guarded, a)
	}
	if q.Note != "" && (a.Reason != "" || q.Skip) {
		a.Reason = strings.TrimSpace(a.Reason + "\nTenet: " + q.Note + ".")
	}
	noteJudgement(s, tool, q.Dir, a.Decision)
	return q.Event, a
}

func tooLate(limit time.Duration) string { return fmt.Sprintf("there was no answer within %s", limit) }

// readQuestion reads what the tool sends.
func readQuestion(ctx context.Context, s *session, read hook.Reader) (hook.Question, error) {
	payload, err := io.ReadAll(io.LimitReader(interruptible{ctx, s.stdin}, hook.MaxPayload+1))
	if err != nil {
		return hook.Question{}, fmt.Errorf("stdin cannot be read: %w", err)
	}
	if len(payload) > hook.MaxPayload {
		return hook.Question{}, fmt.Errorf("the tool sent more than %d MiB", hook.MaxPayload>>20)
	}
	q, err := read(payload)
	q.Session = hook.SessionOf(payload)
	return q, err
}

// judge has a question judged. It returns when the time is over, also where something does not end by then.
func (k *hookFlags) judge(ctx context.Context, s *session, limit time.Duration, modes hook.FailModes, q hook.Question) (hook.Answer, *rule.Evaluation) {
	defer unhurried(s)()
	silent := *s
	silent.err = io.Discard // belongs to the answer
	type outcome struct {
		list []*rule.Evaluation
		err  error
	}
	done := make(chan outcome, 1)
	go func() {
		list, err := k.ask(ctx, &silent, modes, q)
		done <- outcome{list, err}
	}()
	got, ok := answerIn(ctx, done)
	if !ok {
		return hook.Failed(tooLate(limit), demandsOf(s, q.Dir, modes)), nil
	}
	s.scratch = silent.scratch
	if got.err != nil {
		return errorAnswer(ctx, limit, demandsOf(s, q.Dir, modes), got.err), nil
	}
	noteDemands(s, q.Dir, got.list)
	a := hook.Decide(got.list[0], modes)
	for _, e := range got.list[1:] {
		a = hook.Stricter(a, hook.Decide(e, modes))
	}
	if s.scratch { // ids of records that are gone lead nowhere
		for _, e := range got.list {
			a.Reason = strings.ReplaceAll(a.Reason, "\nEvaluation "+e.EvaluationID, "")
		}
	}
	return a, got.list[0]
}

// answerIn returns the answer that comes before ctx ends, or at the same moment: a denial must not depend on which of the two is seen first.
func answerIn[T any](ctx context.Context, answers <-chan T) (answer T, ok bool) {
	select {
	case answer = <-answers:
		return answer, true
	case <-ctx.Done():
	}
	select {
	case answer = <-answers:
		return answer, true
	default:
		return answer, false
	}
}

// errorAnswer is the answer where an error came instead of an evaluation. That the agent is suspended counts also if the time is over since.
func errorAnswer(ctx context.Context, limit time.Duration, modes hook.FailModes, err error) hook.Answer {
	switch {
	case rule.IsSuspended(err):
		return hook.Suspended(err)
	case ctx.Err() != nil:
		return hook.Failed(tooLate(limit), modes)
	}
	return hook.Failed(err.Error(), modes)
}

// ask asks the server, or a node in this process: about an action, about a change, or about both.
func (k *hookFlags) ask(ctx context.Context, s *session, modes hook.FailModes, q hook.Question) (list []*rule.Evaluation, err error) {
	named := make(chan string, 1)
	go func() { named <- repositoryOf(ctx, q.Dir) }()
	c, stop, err := s.connect(ctx, evaluates, "")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, stop()) }()
	c = client.Acting(c, wire.Acting{Agent: q.Agent, Session: q.Session})
	var node found
	if k.Node != "" {
		if node, err = findNode(ctx, c, k.Node); err != nil {
			return nil, err
		}
	}
	for i := range q.Calls {
		e, err := k.call(ctx, c, modes, &q.Calls[i], client.Submit{Scope: k.Scope, NodeID: node.ID, Environment: k.Environment, Mode: cmp.Or(q.Mode, rule.Preflight), MaxRules: 100})
		if list = append(list, e); err != nil {
			return list, err
		}
	}
	if len(q.Calls) > 0 && len(q.Files) == 0 && q.Diff == "" {
		return list, nil
	}
	if q.Action != "" {
		e, err := k.approved(ctx, c, modes, func() (*rule.Evaluation, error) {
			return c.EvaluateQuick(ctx, client.Quick{Action: q.Action, Scope: k.Scope, NodeID: node.ID, Environment: k.Environment})
		})
		if list = append(list, e); err != nil || len(q.Files) == 0 && q.Diff == "" {
			return list, err
		}
	}
	repository := <-named
	e, err := k.approved(ctx, c, modes, func() (*rule.Evaluation, error) {
		return c.Evaluate(ctx, client.Evaluate{
			Diff: q.Diff, Files: q.Files, Scope: k.Scope, Repository: repository, Mode: cmp.Or(q.Mode, rule.Preflight), MaxRules: 100, NodeID: node.ID,
			Environment: k.Environment,
		})
	})
	return append(list, e), err
}

// call asks about a call of a tool of an MCP server, in the words of a gateway.
func (k *hookFlags) call(ctx context.Context, c *client.Client, modes hook.FailModes, call *gateway.Call, r client.Submit) (*rule.Evaluation, error) {
	subject, err := call.Subject()
	if err != nil {
		return nil, err
	}
	r.Subject = subject
	return k.approved(ctx, c, modes, func() (*rule.Evaluation, error) {
		a, err := c.Submit(ctx, r)
		if err != nil {
			return nil, err
		}
		return &a.Evaluation, nil
	})
}

// approved evaluates, and by the setting hook_approval asks people for an approval where the answer would ask, and waits for it.
func (k *hookFlags) approved(ctx context.Context, c *client.Client, modes hook.FailModes, evaluate func() (*rule.Evaluation, error)) (*rule.Evaluation, error) {
	e, err := evaluate()
	if err != nil || k.approval == hook.ApprovalOff || e.Mode != rule.Preflight || hook.Decide(e, modes).Decision != hook.Ask {
		return e, err
	}
	if e.Approval == nil {
		a, err := client.Call(ctx, c, op.CreateApproval, wire.CreateApproval{EvaluationID: e.EvaluationID})
		if rule.CodeOf(err) == rule.CodeConflict {
			return e, nil // no approval can help; the tool asks
		}
		if err != nil {
			return nil, err
		}
		e.Approval = &rule.EvaluationApproval{ID: a.ID, State: a.State, URL: a.URL, ExpiresAt: a.ExpiresAt}
	}
	deadline, limited := ctx.Deadline()
	if k.approval != hook.ApprovalWait || !limited {
		return e, nil
	}
	// The rest of the time is for the second evaluation.
	a, err := awaitApproval(ctx, c, e.Approval.ID, time.Until(deadline)-min(time.Second, time.Until(deadline)/4))
	if err != nil || a.State != rule.ApprovalApproved {
		if err == nil && a.State != rule.ApprovalPending {
			e.Approval.State = a.State
		}
		return e, err
	}
	return evaluate()
}
