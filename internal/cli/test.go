package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"tenet/internal/client"
	"tenet/internal/report"
)

// testCommand is `tenet test`.
type testCommand struct {
	Cases string   `arg:"" optional:"" name:"path-or-filter" help:"File or folder of rules and cases in YAML; or an id, a slug, or a pattern of slugs such as SEC-*."`
	Tag   []string `placeholder:"TAG" help:"Only rules with this tag; may be repeated. Without a path."`

	Snapshot string `placeholder:"SNAPSHOT" help:"Run on the rules as they are in this snapshot (id, name or environment), as the gate of a deployment demands. Without a path."`

	Watch  bool   `short:"w" help:"Run again whenever a file changes, until interrupted. With a path."`
	Format string `short:"f" enum:"text,json,junit" default:"text" help:"${enum}."`
	jsonFlag
	Output string `short:"o" placeholder:"FILE" help:"Write the report to this file; - is the output."`
}

func (testCommand) Help() string {
	return `With a path, the rules and cases of the YAML files are tried in this process, and nothing is kept. Otherwise the
test cases that are kept with the rules run where the rules are: on the server, or in the embedded database.

    tenet test packs/
    tenet test packs/secrets --watch
    tenet test SEC-003
    tenet test --snapshot production
    tenet test 'SEC-*' --format junit --output tests.xml

Exit codes: 0 all cases pass, 1 some fail, 2 they could not be run, or there are none.`
}

func (k *testCommand) Run(ctx context.Context, s *session) error {
	k.Format = k.or(k.Format)
	_, err := os.Stat(k.Cases)
	byPath := k.Cases != "" && err == nil
	switch {
	case byPath && len(k.Tag) > 0:
		return errors.New("--tag selects rules that are stored; it goes without a path")
	case byPath && s.globals.Server+s.globals.Data+s.globals.DatabaseURL != "":
		return errors.New("a path brings its own rules; it goes without --server, --data and --database-url")
	case byPath && k.Snapshot != "":
		return errors.New("--snapshot takes stored rules; it goes without a path")
	case k.Snapshot != "" && k.Format == "junit":
		return errors.New("--snapshot gives text or json")
	case k.Output != "" && k.Format == "text":
		return errors.New("--output takes a report; give --format json or junit with it")
	case byPath && k.Watch:
		return k.watch(ctx, s)
	case k.Watch:
		return errors.New("--watch needs a path to watch")
	case byPath:
		return k.runFiles(ctx, s)
	case k.Snapshot != "":
		s.working = true // another node may not be there to do it
		return s.with(ctx, needsData, func(c *client.Client) error { return k.runSnapshot(ctx, s, c) })
	}
	return s.with(ctx, keepsData, func(c *client.Client) error { return k.runStored(ctx, s, c) })
}

// testRun shows outcomes as they come, and sums them up.
type testRun struct {
	s     *session
	k     *testCommand
	began time.Time
	tests []report.Test
	rules map[string]bool
	dots  int
	total int
	step  func(done, total int)
	end   func()
}

// newTestRun begins to show a run of total cases: by dots, and where nobody sees those, by a bar.
func (k *testCommand) newTestRun(s *session, total int) *testRun {
	t := &testRun{s: s, k: k, began: time.Now(), rules: map[string]bool{}, total: total, step: func(int, int) {}, end: func() {}}
	if k.Format != "text" || !isTerminal(s.out) {
		t.step, t.end = s.bar("testing")
	}
	return t
}

// dotsPerLine is how many cases a line of dots shows.
const dotsPerLine = 80

// add takes an outcome in.
func (t *testRun) add(o report.Test) error {
	t.tests = append(t.tests, o)
	t.rules[o.Rule] = true
	t.step(len(t.tests), t.total)
	if t.k.Format != "text" {
		return nil
	}
	dot := t.s.green(".")
	if !o.Passed {
		dot = t.s.red("F")
	}
	if t.dots++; t.dots%dotsPerLine == 0 {
		dot += "\n"
	}
	_, err := io.WriteString(t.s.out, dot)
	return err
}

// conclude prints the failures and the summary, or the report.
func (t *testRun) conclude() error {
	failed := 0
	for i := range t.tests {
		if !t.tests[i].Passed {
			failed++
		}
	}
	if len(t.tests) == 0 {
		return errors.New("there are no test cases; add some with a cases.yaml beside the rules, or to a stored rule")
	}
	took := time.Since(t.began)
	var err error
	switch t.k.Format {
	case "json":
		err = t.write(func(w io.Writer) error { return printJSON(w, t.tests) })
	case "junit":
		err = t.write(func(w io.Writer) error { return report.WriteTests(w, t.tests, took) })
	default:
		err = t.printText(failed, took)
	}
	if err == nil && failed > 0 {
		return exit(exitFound)
	}
	return err
}

func (t *testRun) write(fn func(io.Writer) error) error {
	if t.k.Output == "" {
		return fn(t.s.out)
	}
	return writeTo(t.s, t.k.Output, fn)
}

func (t *testRun) printText(failed int, took time.Duration) error {
	if t.dots%dotsPerLine != 0 {
		if _, err := fmt.Fprintln(t.s.out); err != nil {
			return err
		}
	}
	for i := range t.tests {
		o := &t.tests[i]
		if o.Passed {
			continue
		}
		if _, err := fmt.Fprintf(t.s.out, "\n%s %s: %s\n  want %s, got %s\n  %s\n", t.s.red("FAIL"), t.s.bold(line(o.Rule)), line(o.Name),
			o.Want, o.Got, line(o.Reason)); err != nil {
			return err
		}
	}
	summary := t.s.green("all passed")
	if failed > 0 {
		summary = t.s.red(fmt.Sprintf("%d failed", failed)) + fmt.Sprintf(", %d passed", len(t.tests)-failed)
	}
	if failed > 0 {
		if _, err := fmt.Fprintln(t.s.out); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(t.s.out, "%s of %s: %s in %.1f s\n", amount(len(t.tests), "case"), amount(len(t.rules), "rule"), summary, took.Seconds())
	return err
}

// amount is a number of things.
func amount[N int | int64](n N, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}
