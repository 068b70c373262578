package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/app"
	"tenet/internal/modeleval"
)

// evalCommand is `tenet eval`.
type evalCommand struct {
	Cases []string `required:"" sep:"none" placeholder:"FILE" help:"Labelled cases as JSON Lines; may be repeated, and further files may follow."`
	More  []string `arg:"" optional:"" name:"file" help:"Further files of cases."`

	Model    string `placeholder:"MODEL" help:"Model to measure, as provider:model, or none; default is the configured one ($$TENET_JUDGE_MODEL)."`
	Profile  string `placeholder:"PROFILE" help:"How the model is asked: large, small, or plain (one sentence and no safeguard, to compare with); default is the configured one ($$TENET_JUDGE_PROFILE)."`
	Repeat   int    `default:"1" placeholder:"N" help:"Judge each case N times, to see whether verdicts flip (default 1)."`
	Parallel int    `default:"4" placeholder:"N" help:"Cases that are judged at once (default 4)."`
	Triage   int    `default:"99" placeholder:"N" help:"Measure triage with N rules of other cases beside the broken one (default 99); 0 does not measure it."`
	Balanced bool   `help:"Take as many cases that expect an ALLOW as others."`
	Limit    int    `placeholder:"N" help:"Judge a sample of N cases, always the same ones; default is all."`

	Journal  string `placeholder:"FILE" help:"Store each verdict in this file as it comes; the same command again continues an interrupted run."`
	Report   string `placeholder:"FILE" help:"Write the report as JSON, for --compare; - is the output."`
	Markdown string `placeholder:"FILE" help:"Write the report as Markdown, with the cases that went wrong; - is the output."`
	Compare  string `placeholder:"FILE" help:"JSON report of an earlier run; a significant drop exits with 1."`
	output

	InputPrice  float64 `placeholder:"USD" help:"Price of a million tokens sent, to report the cost."`
	OutputPrice float64 `placeholder:"USD" help:"Price of a million tokens received."`
}

func (evalCommand) Help() string {
	return `Measures a model: judges labelled cases by the judge itself, without a server and a database, and counts how often
the verdict is the one expected. A case is a line of JSON with id, statement (of the rule), expected (ALLOW, DENY or
NEEDS_CONFIRMATION), and diff, path and code, facts or action; rationale, modality and severity may be added.

Abstentions are verdicts NEEDS_CONFIRMATION; undecided are those of them that the model did not give, because its answer
was missing, unusable or not proven. False ALLOWs are what matters most.

Triage chooses which of many rules are judged. Each case that expects a DENY has its rule put among those of other cases; recall is
the share of them that triage names. A rule that it rules out would not be judged where more rules apply than --max-rules.

--compare looks at the cases that both runs have and counts those that were right and no longer are, against those that
have become right (McNemar's test in its exact, one-sided form, at 5 %); and the same for false ALLOWs and for triage.

--journal is for slow models: when the run is broken off, or the machine stops, the same command goes on where it was. A journal holds
what one model says to the prompts of one version; for another, name another file.

Exit codes: 0 done, 1 significantly worse than the report of --compare, 2 could not do it.

Examples:

    tenet eval --cases cases/*.jsonl --model openai:gpt-5-mini --limit 100 --report new.json
    tenet eval --cases cases/*.jsonl --compare old.json --markdown report.md
    tenet eval --cases cases/*.jsonl --repeat 3 --journal night.jsonl --report new.json`
}

func (k *evalCommand) Run(ctx context.Context, s *session) error {
	if k.Repeat < 1 || k.Parallel < 1 || k.Limit < 0 || k.Triage < 0 || k.InputPrice < 0 || k.OutputPrice < 0 {
		return errors.New("--repeat and --parallel must be at least 1, --limit, --triage and prices at least 0")
	}
	if s.globals.Server != "" || s.globals.Key != "" || s.globals.Project != "" || s.globals.Data != "" || s.globals.DatabaseURL != "" {
		return errors.New("eval asks the model itself; it goes without --server, --key, --project, --data and --database-url")
	}
	for _, name := range k.More {
		if name == "-" || k.JSON && strings.HasSuffix(name, ".json") {
			return fmt.Errorf("%s is no name for --json, which prints the report; --report %s writes it, and --cases %s reads cases", name, name, name)
		}
	}
	if k.json() {
		k.Report = cmp.Or(k.Report, "-")
	}
	if k.Markdown == "-" && (k.json() || k.Report == "-") {
		return errors.New("JSON and Markdown cannot both go to the output; name a file for the Markdown with --markdown")
	}
	old, err := k.before()
	if err != nil {
		return err
	}
	cases, err := k.read()
	if err != nil {
		return err
	}
	judge, err := k.judge(ctx, s)
	if err != nil {
		return err
	}
	options := modeleval.Options{Repeat: k.Repeat, Parallel: k.Parallel, Others: k.Triage}
	if k.Profile == profilePlain {
		options.Others = 0 // triage has no plain question
	}
	if k.Journal != "" {
		if options.Journal, err = modeleval.OpenJournal(k.Journal, judge.Model(), judge.Prompt()); err != nil {
			return err
		}
		if n := options.Journal.Len(); n > 0 {
			s.note("%s holds %d answers, which are not asked for again", k.Journal, n)
		}
	}
	bar, done := s.bar("judging")
	options.Progress = bar
	report, err := modeleval.Run(ctx, judge, cases, options)
	done()
	if k.Journal != "" {
		err = errors.Join(err, options.Journal.Close())
	}
	if errors.Is(err, context.Canceled) && k.Journal != "" {
		return fmt.Errorf("interrupted; the verdicts so far are in %s: run the same command again to continue", k.Journal)
	}
	if err != nil {
		return err
	}
	return k.write(s, report, old)
}

// profilePlain asks without the judge.
const profilePlain = "plain"

// measured gives the verdicts that eval measures.
type measured interface {
	modeleval.Decider
	Check(ctx context.Context) error
}

// judge makes the judge of the settings. It fails before anything is judged if the model cannot be asked.
func (k *evalCommand) judge(ctx context.Context, s *session) (measured, error) {
	flags := map[string]string{}
	if k.Model != "" && k.Model != "none" {
		flags["judge_model"] = k.Model
	}
	if k.Profile != "" && k.Profile != profilePlain {
		flags["judge_profile"] = k.Profile
	}
	cfg, err := s.configure(defaultSettings(), flags)
	if err != nil {
		return nil, err
	}
	if k.Model == "none" {
		cfg.JudgeModel = ""
	}
	cfg.JudgeParallel = max(cfg.JudgeParallel, k.Parallel)
	// What the judge has to say about single answers is in the report.
	var judge measured
	if k.Profile == profilePlain {
		judge, err = app.NewPlain(cfg, slog.New(slog.DiscardHandler), app.Options{Env: s.env})
	} else {
		judge, err = app.NewDecider(cfg, slog.New(slog.DiscardHandler), app.Options{Env: s.env})
	}
	if err != nil {
		return nil, err
	}
	if cfg.JudgeModel == "" {
		s.note("there is no model, so every verdict will be NEEDS_CONFIRMATION; name one with --model")
	}
	return judge, judge.Check(ctx)
}

// read reads and samples the cases.
func (k *evalCommand) read() ([]modeleval.Case, error) {
	var all []modeleval.Case
	for _, path := range append(append([]string{}, k.Cases...), k.More...) {
		f, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		name := filepath.Base(path)
		cases, err := modeleval.Read(strings.TrimSuffix(name, filepath.Ext(name)), f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		all = append(all, cases...)
	}
	if len(all) == 0 {
		return nil, errors.New("the files hold no cases")
	}
	if k.Balanced {
		return modeleval.Balanced(all, k.Limit)
	}
	return modeleval.Sample(all, k.Limit)
}

// before loads the report to compare with; nil without one.
func (k *evalCommand) before() (*modeleval.Report, error) {
	if k.Compare == "" {
		return nil, nil
	}
	f, err := os.Open(k.Compare)
	if err != nil {
		return nil, err
	}
	report, err := modeleval.LoadReport(f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, fmt.Errorf("%s: %w", k.Compare, err)
	}
	return report, nil
}

func (k *evalCommand) write(s *session, r, old *modeleval.Report) (err error) {
	if k.InputPrice > 0 || k.OutputPrice > 0 {
		r.Price(k.InputPrice, k.OutputPrice)
	}
	if k.Report != "" {
		if err := writeTo(s, k.Report, r.WriteJSON); err != nil {
			return err
		}
	}
	var c *modeleval.Comparison
	if old != nil {
		if c, err = modeleval.Compare(old, r); err != nil {
			return err
		}
	}
	if k.Markdown != "" {
		if err := writeTo(s, k.Markdown, func(w io.Writer) error { return r.WriteMarkdown(w, c, true) }); err != nil {
			return err
		}
	}
	if k.json() && k.Report != "-" {
		if err := r.WriteJSON(s.out); err != nil {
			return err
		}
	} else if k.Report != "-" && k.Markdown != "-" {
		if err := r.WriteMarkdown(s.out, c, false); err != nil {
			return err
		}
	}
	if c != nil && c.Dropped() {
		return exit(exitFound)
	}
	return nil
}
