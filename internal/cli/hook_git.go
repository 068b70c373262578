package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"tenet/internal/git"
	"tenet/internal/hook"
	"tenet/internal/report"
	"tenet/internal/rule"
)

// confirmVar lets a person confirm what a hook of git cannot ask about.
const confirmVar = "TENET_CONFIRM"

// commitFlags are those of both hooks that stop a commit.
type commitFlags struct {
	hookFlags

	Undecided string `type:"filled" placeholder:"WORDS" help:"What follows from a rule that nothing could decide: fail takes its fail mode, warn lets the commit pass and says so, pass is the same; one word, or one for each severity (setting undecided, default CRITICAL=fail,HIGH=fail,MEDIUM=warn,LOW=warn)."`
}

const commitHelp = `The commit is stopped with exit code 1 if it breaks a rule. What needs confirmation stops it too, since git cannot ask: a person
who agrees repeats it with TENET_CONFIRM=yes, which does not help against a broken rule.

A settings file in the repository counts as it was before the change. What could not be examined of the change stops the commit.

` + hookHelp

type gitHook struct{ commitFlags }

func (gitHook) Help() string {
	return commitHelp + `
Example:

    tenet hook install git`
}

func (k *gitHook) Run(ctx context.Context, s *session) error {
	return k.commit(ctx, s, "git", func(ctx context.Context) (hook.Question, error) {
		c, err := stagedChange(ctx)
		if err != nil {
			return hook.Question{}, err
		}
		c.tellUnread(s)
		return hook.Question{Diff: c.diff, Files: c.files}, nil
	})
}

type preCommitHook struct {
	commitFlags

	Files []string `arg:"" optional:"" help:"Files that pre-commit names; without any, all that is staged is judged."`
}

func (preCommitHook) Help() string {
	return `Judges what is staged of the named files; where nothing of them is staged, as under pre-commit run --all-files, the whole files.
Under pre-commit run --from-ref --to-ref it judges the change between the two.

` + commitHelp + `
Example, in .pre-commit-config.yaml, which tenet hook install pre-commit writes:

    - repo: local
      hooks:
        - {id: tenet, name: tenet, entry: tenet hook pre-commit, language: system, require_serial: true, always_run: true}`
}

func (k *preCommitHook) Run(ctx context.Context, s *session) error {
	return k.commit(ctx, s, "pre-commit", func(ctx context.Context) (hook.Question, error) { return k.question(ctx, s) })
}

func (k *preCommitHook) question(ctx context.Context, s *session) (hook.Question, error) {
	what, err := k.change(s)
	if err != nil {
		return hook.Question{}, err
	}
	c, err := gitChange(ctx, what, k.named()...)
	if err != nil {
		return hook.Question{}, err
	}
	// pre-commit does not name the files that are deleted.
	if len(k.Files) > 0 {
		deleted, err := gitChange(ctx, append(what, "--diff-filter=D"))
		if err != nil {
			return hook.Question{}, err
		}
		if c.empty() && s.env(fromRef) == "" {
			var whole checkSubject
			if err := whole.read(ctx, s, k.Files); err != nil {
				return hook.Question{}, err
			}
			c.add(&whole.change)
		}
		c.add(deleted)
	}
	c.tellUnread(s)
	return hook.Question{Diff: c.diff, Files: c.files}, nil
}

// fromRef and toRef are the variables by which pre-commit names two commits.
const (
	fromRef = "PRE_COMMIT_FROM_REF"
	toRef   = "PRE_COMMIT_TO_REF"
)

// change returns the arguments of git diff: for the staged changes, or for those between two commits.
func (k *preCommitHook) change(s *session) ([]string, error) {
	from, to := s.env(fromRef), s.env(toRef)
	switch {
	case from == "":
		return []string{"--cached"}, nil
	case to == "" || strings.HasPrefix(from, "-") || strings.HasPrefix(to, "-"):
		return nil, fmt.Errorf("%s and %s do not name two commits", fromRef, toRef)
	}
	return []string{from + "..." + to}, nil
}

// named returns the pathspecs of the files that pre-commit names.
func (k *preCommitHook) named() []string {
	var args []string
	for _, name := range k.Files {
		args = append(args, ":(literal)"+name)
	}
	return args
}

// modes returns the time limit, the fail modes where nothing could be judged, and those of a single rule that nothing could decide. Settings
// in the repository are those before the change.
func (k *commitFlags) modes(ctx context.Context, s *session) (limit time.Duration, all, single hook.FailModes, err error) {
	if namesFiles(s) {
		t, err := newTrust(ctx, func(r git.Repository) (string, error) {
			if from, to := s.env(fromRef), s.env(toRef); from != "" {
				return r.MergeBase(ctx, from, to)
			}
			return r.Commit(ctx, "HEAD")
		})
		if err == nil {
			err = t.settings(ctx, s)
		}
		if err != nil {
			return 0, nil, nil, err
		}
	}
	set, err := k.settings(s)
	if err != nil {
		return 0, nil, nil, err
	}
	limit, all = set.limit, set.modes
	policy, err := readUndecided(s, k.Undecided)
	if err != nil {
		return 0, nil, nil, err
	}
	cfg, err := s.configure("", nil)
	if k.Fail != "" {
		cfg.HookFail = k.Fail
	}
	return limit, all, policy.failModes(all, &cfg, k.Undecided), err
}

// unexamined reports whether a rule is undecided because a part of the subject could not be examined.
func unexamined(e *rule.Evaluation) bool {
	return slices.ContainsFunc(e.RuleVerdicts, func(v rule.RuleVerdict) bool {
		return v.DecidedBy == rule.ByNone && v.Counts() && len(v.Unexamined) > 0
	})
}

// commit judges a change and stops the commit unless it may go on.
func (k *commitFlags) commit(ctx context.Context, s *session, tool string, gather func(context.Context) (hook.Question, error)) error {
	err := k.judged(ctx, s, gather)
	d := hook.Allow
	if err != nil {
		d = hook.Deny
	} else if s.env(probeVar) == "" {
		rememberTree(ctx)
	}
	noteJudgement(s, tool, "", d)
	return err
}

// judged is commit without the entry in the journal.
func (k *commitFlags) judged(ctx context.Context, s *session, gather func(context.Context) (hook.Question, error)) error {
	limit, modes, single, err := k.modes(ctx, s)
	if err != nil {
		return stopOrGo(s, hook.Failed("the settings are wrong: "+err.Error(), nil))
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	q, err := gather(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return stopOrGo(s, hook.Failed(tooLate(limit), modes))
	case err != nil:
		return stopOrGo(s, hook.Failed(err.Error(), modes))
	case strings.TrimSpace(q.Diff) == "" && len(q.Files) == 0:
		return nil
	}
	if probed(s, &q) {
		return stopOrGo(s, hook.Answer{Decision: hook.Deny, Reason: "Tenet: this was planted by tenet hook test."})
	}
	noteWalls(s, q.Diff)
	a, e := k.judge(ctx, s, limit, modes, q)
	if e != nil && e.Flaw() == "" && asks(e) {
		if a = hook.Decide(e, single); a.Decision == hook.Allow && unexamined(e) {
			a.Decision = hook.Ask
		}
	}
	if e != nil && a.Reason != "" {
		if err := report.Write(s.out, report.Text, e, report.Options{Color: s.colour, Version: version(), NotKept: s.scratch}); err != nil {
			return err
		}
		a.Reason = headings(a.Reason)
		if a.Decision == hook.Deny && e.OverallVerdict == rule.Deny {
			s.note("the commit is stopped: it breaks rules")
			return exit(exitFound)
		}
	}
	return stopOrGo(s, a)
}

// headings returns a reason without its findings, which the report above it has.
func headings(reason string) string {
	var lines []string
	for line := range strings.SplitSeq(reason, "\n") {
		if !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "Evaluation ") {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines, "\n")
}

// stopOrGo ends a hook of git.
func stopOrGo(s *session, a hook.Answer) error {
	if a.Reason != "" {
		fmt.Fprintln(s.err, a.Reason)
	}
	switch {
	case a.Decision == hook.Allow:
		return nil
	case a.Decision == hook.Ask && s.env(confirmVar) == "yes":
		s.note("confirmed by %s=yes", confirmVar)
		return nil
	case a.Decision == hook.Ask:
		s.note("the commit is stopped: it needs confirmation; a person who agrees repeats it with %s=yes", confirmVar)
	case a.Decision == hook.Deny:
		s.note("the commit is stopped")
	}
	return exit(exitFound)
}
