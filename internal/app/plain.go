package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"unicode"

	"tenet/internal/config"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Plain asks a model in one sentence whether a subject keeps a rule, and believes the word that it answers. It has none of the
// judge's safeguards: `tenet eval` compares the judge with it, and nothing else may use it.
type Plain struct{ Decider }

// plainVersion is the version of the plain question.
const plainVersion = "plain-v1"

// NewPlain returns a Plain that asks the model of the settings.
func NewPlain(cfg config.Config, log *slog.Logger, o Options) (*Plain, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	cfg.EmbeddingModel = ""
	m, err := openModels(cfg, log, o)
	if err == nil && m.judge == nil {
		err = errors.New("the plain question needs a model; name one with --model")
	}
	return &Plain{Decider{models: m}}, err
}

// Prompt names the version of the question.
func (p *Plain) Prompt() string { return plainVersion }

// Triage finds nothing out: nobody asks for it plainly.
func (p *Plain) Triage(_ context.Context, _ *subject.Subject, rules []*rule.Rule) ([]wire.TriageOutcome, rule.Cost) {
	return make([]wire.TriageOutcome, len(rules)), rule.Cost{}
}

// Decide returns the model's word on r and s.
func (p *Plain) Decide(ctx context.Context, s *subject.Subject, r *rule.Rule) (rule.RuleVerdict, rule.Cost) {
	v := rule.RuleVerdict{RuleID: r.ID, Verdict: rule.NeedsConfirmation, DecidedBy: rule.ByNone}
	question := fmt.Sprintf("Rule (%s): %s\n\n%s\nIs the rule kept? Answer with one word, ALLOW or DENY.\n", r.Modality, r.Statement, plainSubject(s))
	answer, err := p.models.judge.Complete(ctx, llm.Request{Prompt: question, MaxOutputTokens: 8})
	cost := rule.Cost{Calls: 1, InputTokens: answer.InputTokens, OutputTokens: answer.OutputTokens}
	if err != nil {
		v.Reasoning = "The model gave no answer: " + err.Error()
		return v, cost
	}
	v.Reasoning = answer.Text
	word := strings.FieldsFunc(answer.Text+".", func(r rune) bool { return !unicode.IsLetter(r) })
	if len(word) > 0 {
		if verdict, ok := rule.Parse(word[0], rule.Verdicts); ok {
			v.Verdict, v.DecidedBy = verdict, rule.ByModel
		}
	}
	return v, cost
}

// plainSubject writes a subject as it is.
func plainSubject(s *subject.Subject) string {
	var b strings.Builder
	if s.Action != "" {
		b.WriteString("Action: " + s.Action + "\n")
	}
	if len(s.Facts) > 0 {
		facts, err := json.MarshalIndent(s.Facts, "", "  ")
		if err == nil {
			b.WriteString("Facts: " + string(facts) + "\n")
		}
	}
	for i := range s.Files {
		b.WriteString("File " + s.Files[i].Path + ":\n")
		for _, h := range s.Files[i].Hunks {
			for _, line := range h.Lines {
				if line.Op == '-' {
					b.WriteString("- ")
				}
				b.WriteString(line.Text + "\n")
			}
		}
	}
	return b.String()
}
