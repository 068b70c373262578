// Package sandbox lets the authors of rules try them: in the playground, which keeps nothing, and by test cases that are
// kept with a rule and run again and again. Both go through the same checks and the same judge as real evaluations.
package sandbox

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"tenet/internal/check"
	"tenet/internal/corpus"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// MaxSample bounds a sample, in bytes.
const MaxSample = 512 << 10

// Evaluator judges a subject by a rule and stores nothing, not even verdicts.
type Evaluator interface {
	// Try asks a model only with asks true; without, what no check decides needs confirmation.
	Try(ctx context.Context, r rule.Rule, in subject.Input, asks bool) (rule.Trial, error)
}

// Sample is the input of a trial. Code goes before facts.
type Sample struct {
	// Code is a snippet or a unified diff; its content shows which.
	Code string
	// Path is the path of a snippet; if empty, one that the rule concerns.
	Path string
	// Facts are keys and values; the text under narrative is the scenario in plain words.
	Facts map[string]any
	// ChecksOnly asks no model: what no check decides needs confirmation.
	ChecksOnly bool
}

// Store holds the parts of the database that this package uses.
type Store struct {
	store.Updater
	Jobs      store.JobReader
	Rules     store.RuleReader
	Runs      store.RunReader
	TestCases store.TestCaseReader
}

// Config sets up [New]. All fields but Model are required.
type Config struct {
	Store     Store
	Evaluator Evaluator
	Recorded  Recorded
	Views     corpus.Views
	Snapshots Snapshots
	Queue     job.Queue // of the jobs that HandleRun does
	// Model writes test cases; it may be nil.
	Model llm.Model
	Now   func() time.Time
}

// Sandbox tries rules.
type Sandbox struct {
	cfg      Config
	redactor *redact.Redactor
	runs     job.Runs[wire.RunFilter, wire.RunResult]
}

// New makes a sandbox.
func New(cfg Config) *Sandbox {
	b := &Sandbox{cfg: cfg, redactor: redact.New()}
	b.runs = job.Runs[wire.RunFilter, wire.RunResult]{Kind: RunKind, Name: "test run", Store: job.RunStore{Updater: cfg.Store, Runs: cfg.Store.Runs, Jobs: cfg.Store.Jobs}, Queue: cfg.Queue, Now: cfg.Now, Do: b.runAll}
	return b
}

// clean is a text as the model may see it: without secrets.
func clean(r *redact.Redactor, text string) string {
	text, _ = r.Text(text)
	return text
}

// cleanRule is a rule as the model may see it.
func cleanRule(by *redact.Redactor, r *rule.Rule) map[string]any {
	return map[string]any{"statement": clean(by, r.Statement), "modality": r.Modality, "rationale": clean(by, r.Rationale)}
}

// Play tries a rule on a sample. The rule need not be stored or complete: what it lacks takes its default. The error is
// invalid, and names the fields of the rule, sample_code or sample_facts.
func (b *Sandbox) Play(ctx context.Context, r rule.Rule, s Sample) (rule.Trial, error) {
	r = r.Clone() // Normalize writes to it, and others read the rules of a corpus view
	r.Normalize()
	if err := validate(&r); err != nil {
		return rule.Trial{}, err
	}
	in, err := s.input(&r)
	if err != nil {
		return rule.Trial{}, err
	}
	trial, err := b.cfg.Evaluator.Try(ctx, r, in, !s.ChecksOnly)
	return trial, fieldsOf(err, "sample_code", "sample_facts")
}

// validate checks all that an evaluation relies on.
func validate(r *rule.Rule) error {
	if err := r.Validate(); err != nil {
		return err
	}
	if a := r.AppliesTo; a != nil {
		for _, globs := range [][]string{a.Paths, a.ExcludePaths, a.Repositories} {
			if _, err := subject.CompileGlobs(globs); err != nil {
				return err
			}
		}
	}
	if r.Check == nil {
		return nil
	}
	_, err := check.Compile(r.Check)
	return err
}

// narrative is the key of facts whose text is the scenario in plain words.
const narrative = "narrative"

// input makes the material of a subject of a sample.
func (s Sample) input(r *rule.Rule) (subject.Input, error) {
	var p rule.Problems
	if len(s.Code) > MaxSample {
		p.Add("sample_code", "has %d bytes; at most %d are allowed", len(s.Code), MaxSample)
		return subject.Input{}, p.Err("the sample is too large")
	}
	if strings.TrimSpace(s.Code) != "" {
		if isDiff(s.Code) {
			return subject.Input{Diff: s.Code}, nil
		}
		path := s.Path
		if path == "" {
			path = pathFor(r)
		}
		return subject.Input{Files: []subject.InputFile{{Path: path, Content: &s.Code}}}, nil
	}
	if text, err := json.Marshal(s.Facts); err != nil || len(text) > MaxSample {
		p.Add("sample_facts", "have more than %d bytes as JSON", MaxSample)
		return subject.Input{}, p.Err("the sample is too large")
	}
	in := subject.Input{}
	for key, value := range s.Facts {
		if text, ok := value.(string); ok && key == narrative {
			in.Action = text
			continue
		}
		if in.Facts == nil {
			in.Facts = make(map[string]any, len(s.Facts))
		}
		in.Facts[key] = value
	}
	return in, nil
}
