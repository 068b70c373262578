// Package sandbox lets the authors of rules try them: in the playground, which keeps nothing, and by test cases that are
// kept with a rule and run again and again. Both go through the same checks and the same judge as real evaluations.
package sandbox

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"tenet/internal/check"
	"tenet/internal/job"
	"tenet/internal/llm"
	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

// MaxSample bounds a sample, in bytes.
const MaxSample = 512 << 10

// Evaluator tells what a rule says of a subject without keeping anything, verdicts included.
type Evaluator interface {
	Try(ctx context.Context, r rule.Rule, in subject.Input) (rule.Trial, error)
}

// Sample is what a rule is tried on. Code goes before facts.
type Sample struct {
	// Code is a snippet or a unified diff; its content tells which.
	Code string
	// Path is the path of a snippet; if empty, one that the rule concerns.
	Path string
	// Facts are keys and values; the text under narrative is the scenario in plain words.
	Facts map[string]any
}

// Config sets up [New]. All fields but Model are required.
type Config struct {
	Store     store.Store
	Evaluator Evaluator
	Recorded  Recorded
	Views     Views
	Snapshots Snapshots
	Queue     job.Queue // of the jobs that HandleRun does
	// Model writes test cases; nil means that there is none.
	Model llm.Model
	Now   func() time.Time
}

// Sandbox tries rules.
type Sandbox struct {
	cfg      Config
	redactor *redact.Redactor
	runs     job.Runs[RunFilter, RunResult]
}

// New makes a sandbox.
func New(cfg Config) *Sandbox {
	b := &Sandbox{cfg: cfg, redactor: redact.New()}
	b.runs = job.Runs[RunFilter, RunResult]{Kind: RunKind, Name: "test run", Store: cfg.Store, Queue: cfg.Queue, Now: cfg.Now, Do: b.runAll}
	return b
}

// clean is a text as the model may see it: without secrets.
func (b *Sandbox) clean(text string) string {
	text, _ = b.redactor.Text(text)
	return text
}

// cleanRule is a rule as the model may see it.
func (b *Sandbox) cleanRule(r *rule.Rule) map[string]any {
	return map[string]any{"statement": b.clean(r.Statement), "modality": r.Modality, "rationale": b.clean(r.Rationale)}
}

// Play tries a rule on a sample. The rule need not be stored or complete: what it lacks takes its default. The error is
// invalid, and names the fields of the rule, sample_code or sample_facts.
func (b *Sandbox) Play(ctx context.Context, r rule.Rule, s Sample) (rule.Trial, error) {
	r = own(r)
	r.Normalize()
	if err := validate(&r); err != nil {
		return rule.Trial{}, err
	}
	in, err := s.input(&r)
	if err != nil {
		return rule.Trial{}, err
	}
	trial, err := b.cfg.Evaluator.Try(ctx, r, in)
	return trial, fieldsOf(err, "sample_code", "sample_facts")
}

// own is a copy of a rule that shares nothing with it that Normalize writes to: rules of the corpus view are read by others.
func own(r rule.Rule) rule.Rule {
	r.SourceRefs = slices.Clone(r.SourceRefs)
	if r.Check == nil {
		return r
	}
	c := *r.Check
	if c.Pattern != nil {
		p := *c.Pattern
		c.Pattern = &p
	}
	r.Check = &c
	return r
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
