package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/app"
	"tenet/internal/modeleval"
)

// modelCommands are `tenet model ...`.
type modelCommands struct {
	Check modelCheckCommand `cmd:"" help:"Measure how a model is best asked, and name the setting."`
}

// modelCheckCommand is `tenet model check`.
type modelCheckCommand struct {
	Model    string `placeholder:"MODEL" help:"Model to measure, as provider:model; default is the configured one ($$TENET_JUDGE_MODEL)."`
	Cases    string `placeholder:"FILE" help:"Labelled cases as JSON Lines, in the form of tenet eval; default are twelve short ones of its own."`
	Limit    int    `placeholder:"N" help:"Use a sample of N cases, always the same ones; default is all."`
	Parallel int    `default:"2" placeholder:"N" help:"Cases that are judged at once (default 2)."`
	output
}

func (modelCheckCommand) Help() string {
	return `Asks a model about cases whose right answers are known, in both profiles, and names the one that suits it:

    large   up to ten rules a call, with control rules among them
    small   one rule a call in a short form, and control rules in calls of their own; for models of few billion parameters

Both keep the same laws: no ALLOW without right answers to the control rules and without quotes that the server has found. The profile
with the most right verdicts is named, of those that allow at most one in ten of what they should deny; of equals it is large, which
takes fewer calls. Set it with TENET_JUDGE_PROFILE or judge_profile. Records name it by the version of their prompts.

Exit codes: 0 done, 1 the model should not be trusted in either profile, 2 could not do it.

    tenet model check --model ollama:qwen3:1.7b
    tenet model check --model openai:gpt-5-mini --cases cases/own.jsonl --json`
}

// profileFigures are the figures of a model in one profile.
type profileFigures struct {
	Profile     string  `json:"profile"`
	Prompt      string  `json:"prompt"`
	Fit         bool    `json:"fit"`
	Judgements  int     `json:"judgements"`
	Right       int     `json:"right"`
	Undecided   int     `json:"undecided"`
	FalseAllows int     `json:"false_allows"`
	FalseDenies int     `json:"false_denies"`
	Calls       int     `json:"calls"`
	P50MS       float64 `json:"p50_ms"`
}

// modelCheck holds the findings of tenet model check.
type modelCheck struct {
	Model string `json:"model"`
	// Profile is the one to set; empty if neither should be trusted.
	Profile  string           `json:"profile"`
	Setting  string           `json:"setting,omitempty"`
	Profiles []profileFigures `json:"profiles"`
}

func (k *modelCheckCommand) Run(ctx context.Context, s *session) error {
	if k.Parallel < 1 || k.Limit < 0 {
		return errors.New("--parallel must be at least 1, --limit at least 0")
	}
	if s.globals.Server != "" || s.globals.Key != "" || s.globals.Project != "" || s.globals.Data != "" || s.globals.DatabaseURL != "" {
		return errors.New("model check asks the model itself; it goes without --server, --key, --project, --data and --database-url")
	}
	cases, err := k.read()
	if err != nil {
		return err
	}
	found := modelCheck{Profiles: []profileFigures{}}
	var reports []*modeleval.Report
	for _, profile := range app.Profiles() {
		r, err := k.measure(ctx, s, profile, cases)
		if err != nil {
			return err
		}
		reports = append(reports, r)
		found.Model = r.Model
		found.Profiles = append(found.Profiles, profileFigures{
			Profile: profile, Prompt: r.Prompt, Fit: r.Fit(), Judgements: r.Judgements, Right: r.Correct, Undecided: r.Undecided, FalseAllows: r.FalseAllows,
			FalseDenies: r.FalseDenies, Calls: r.Cost.Calls, P50MS: r.P50MS,
		})
	}
	if best := modeleval.Better(reports); best >= 0 {
		found.Profile = app.Profiles()[best]
		found.Setting = "TENET_JUDGE_PROFILE=" + found.Profile
	}
	if err := show(s, k.output, found, nil, printModelCheck); err != nil {
		return err
	}
	if found.Profile == "" {
		return exit(exitFound)
	}
	return nil
}

func (k *modelCheckCommand) read() ([]modeleval.Case, error) {
	if k.Cases == "" {
		return modeleval.Sample(modeleval.ProfileCases(), k.Limit)
	}
	f, err := os.Open(k.Cases)
	if err != nil {
		return nil, err
	}
	name := filepath.Base(k.Cases)
	cases, err := modeleval.Read(strings.TrimSuffix(name, filepath.Ext(name)), f)
	if err := errors.Join(err, f.Close()); err != nil {
		return nil, err
	}
	if len(cases) == 0 {
		return nil, errors.New("the file holds no cases")
	}
	return modeleval.Sample(cases, k.Limit)
}

// measure judges the cases in one profile.
func (k *modelCheckCommand) measure(ctx context.Context, s *session, profile string, cases []modeleval.Case) (*modeleval.Report, error) {
	flags := map[string]string{"judge_profile": profile}
	if k.Model != "" {
		flags["judge_model"] = k.Model
	}
	cfg, err := s.configure(defaultSettings(), flags)
	if err != nil {
		return nil, err
	}
	if cfg.JudgeModel == "" {
		return nil, errors.New("there is no model to measure; name one with --model or TENET_JUDGE_MODEL")
	}
	decider, err := app.NewDecider(cfg, slog.New(slog.DiscardHandler), app.Options{Env: s.env})
	if err == nil {
		err = decider.Check(ctx)
	}
	if err != nil {
		return nil, err
	}
	bar, done := s.bar("judging, " + profile)
	report, err := modeleval.Run(ctx, decider, cases, modeleval.Options{Parallel: k.Parallel, Progress: bar})
	done()
	return report, err
}

func printModelCheck(s *session, found modelCheck) error {
	err := list(s, "", "PROFILE\tJUDGED\tRIGHT\tUNDECIDED\tFALSE ALLOW\tFALSE DENY\tCALLS\tP50", found.Profiles, func(p *profileFigures) []any {
		return []any{p.Profile, p.Judgements, p.Right, p.Undecided, p.FalseAllows, p.FalseDenies, p.Calls, fmt.Sprintf("%.1f s", p.P50MS/1000)}
	})
	if err != nil {
		return err
	}
	if found.Profile == "" {
		_, err = fmt.Fprintf(s.out, "\n%s should not judge: in neither profile is it right at all while allowing at most one in ten of what it should deny.\n", found.Model)
		return err
	}
	_, err = fmt.Fprintf(s.out, "\nAsk %s in the profile %s: %s\n", found.Model, found.Profile, found.Setting)
	return err
}
