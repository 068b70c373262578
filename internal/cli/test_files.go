package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"tenet/internal/app"
	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/sandbox"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// runFiles tries the rules of files on the cases of files.
func (k *testCommand) runFiles(ctx context.Context, s *session) (err error) {
	rules, cases, err := loadTests(ctx, k.Cases)
	if err != nil {
		return err
	}
	cfg, err := s.configure("", nil)
	if err != nil {
		return err
	}
	c, stop, err := s.throwAway(ctx, cfg, app.Options{Rules: rules.effective()})
	if err != nil {
		return rules.locate(err)
	}
	defer func() { err = errors.Join(err, stop()) }()
	return k.tryCases(ctx, s, c, cases)
}

// loadTests reads the files below a path: those with rules, and the test cases of all.
func loadTests(ctx context.Context, root string) (*ruleFiles, []rule.FileCase, error) {
	all, err := loadRules(ctx, root, nil)
	if err != nil {
		return nil, nil, err
	}
	rules, cases := &ruleFiles{}, []rule.FileCase{}
	for i, f := range all.files {
		cases = append(cases, f.Cases...)
		f.Cases = nil // they are tried, not kept
		if f.Rules != nil || f.Federation != nil {
			rules.paths, rules.files, rules.sources = append(rules.paths, all.paths[i]), append(rules.files, f), append(rules.sources, all.sources[i])
		}
	}
	if len(rules.files) == 0 {
		return nil, nil, fmt.Errorf("%s holds no rules; name a folder with the rules and the cases", root)
	}
	return rules, cases, nil
}

// triers is how many cases are tried side by side.
const triers = 16

// tryCases tries all cases and shows the outcomes in the order of the cases.
func (k *testCommand) tryCases(ctx context.Context, s *session, c *client.Client, cases []rule.FileCase) error {
	type outcome struct {
		test report.Test
		err  error
	}
	outcomes := make([]chan outcome, len(cases))
	todo := make(chan int, len(cases))
	for i := range cases {
		outcomes[i] = make(chan outcome, 1)
		todo <- i
	}
	close(todo)
	ctx, cancel := context.WithCancel(ctx)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range min(triers, len(cases)) {
		all.Go(func() {
			for i := range todo {
				test, err := tryCase(ctx, c, &cases[i])
				outcomes[i] <- outcome{test, err}
			}
		})
	}
	t := k.newTestRun(s, len(cases))
	defer t.end()
	for i := range cases {
		o := <-outcomes[i]
		if o.err != nil {
			return fmt.Errorf("%s: %s: %w", cases[i].Rule, cases[i].Name, o.err)
		}
		if err := t.add(o.test); err != nil {
			return err
		}
	}
	return t.conclude()
}

// tryCase tries one case. A missing rule is a failure of the case; the other errors end the run.
func tryCase(ctx context.Context, c *client.Client, k *rule.FileCase) (report.Test, error) {
	began := time.Now()
	play := wire.PlaygroundRequest{RuleID: k.Rule, SampleCode: k.Diff, SampleFacts: k.Facts}
	for _, f := range k.Files {
		play.SampleCode += sandbox.AddedDiff(f.Path, f.Content)
	}
	if k.Action != "" {
		play.SampleFacts = map[string]any{"narrative": k.Action}
	}
	want := string(k.Expect)
	if len(k.Lines) > 0 {
		want += fmt.Sprintf(" at lines %v", k.Lines)
	}
	o := report.Test{Rule: k.Rule, Name: k.Name, Want: want}
	played, err := client.Call(ctx, c, op.PlaygroundEvaluate, play)
	o.Took = time.Since(began)
	switch rule.CodeOf(err) {
	case "":
	case rule.CodeNotFound, rule.CodeInvalid:
		o.Got, o.Reason = "an error", err.Error()
		return o, nil
	default:
		return o, err
	}
	lines := []int{}
	for _, l := range played.Locations {
		if l.StartLine > 0 {
			lines = append(lines, l.StartLine)
		}
	}
	o.Got, o.Reason = string(played.Verdict), strings.TrimSpace(played.Reasoning)
	if len(lines) > 0 {
		o.Got += fmt.Sprintf(" at lines %v", lines)
	}
	o.Passed = played.Verdict == k.Expect && (len(k.Lines) == 0 || slices.Equal(lines, k.Lines))
	return o, nil
}

// watchEvery is the interval at which files are compared.
const watchEvery = 300 * time.Millisecond

// watch runs the cases again whenever a file has changed, until it is interrupted.
func (k *testCommand) watch(ctx context.Context, s *session) error {
	last := ""
	for {
		now, err := fingerprint(k.Cases)
		if err != nil {
			return err
		}
		if now != last {
			last = now
			switch err := k.runFiles(ctx, s); {
			case ctx.Err() != nil:
				return ctx.Err()
			case err == nil, errors.Is(err, exit(exitFound)):
			default:
				printError(s, err) // a file that is being written is no reason to end
			}
			s.note("watching %s", k.Cases)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(watchEvery):
		}
	}
}

// fingerprint changes when a file below a path does.
func fingerprint(root string) (string, error) {
	paths, err := rulePaths(root)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, p := range paths {
		info, err := os.Stat(p)
		if errors.Is(err, fs.ErrNotExist) {
			continue // between the listing and now
		}
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "%s %d %d\n", p, info.Size(), info.ModTime().UnixNano())
	}
	return b.String(), nil
}
