package app

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"tenet/internal/config"
	"tenet/internal/judge"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Profiles are the ways in which a judge's model can be asked, by the values of judge_profile.
func Profiles() []string {
	names := make([]string, len(judge.Profiles))
	for i, p := range judge.Profiles {
		names[i] = string(p)
	}
	return names
}

// Decider decides single rules as a node with the same settings would, without a database and without storing verdicts.
// `tenet eval` measures it.
type Decider struct {
	models  models
	judge   *judge.Judge
	profile judge.Profile
}

// NewDecider returns a Decider. It fails like [New] where the model's settings cannot work. Without a model it decides no
// rule.
func NewDecider(cfg config.Config, log *slog.Logger, o Options) (*Decider, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	cfg.EmbeddingModel = ""
	m, err := openModels(cfg, log, o)
	if err != nil {
		return nil, err
	}
	return &Decider{models: m, judge: m.newJudge(cfg, log, nil, nil), profile: m.profile(cfg)}, nil
}

// Check reports whether the model's server answers and accepts the key. Of several models, one that works is enough.
func (d *Decider) Check(ctx context.Context) error {
	m, ok := d.models.judge.(interface {
		Check(ctx context.Context) error
	})
	if !ok {
		return nil
	}
	err := m.Check(ctx)
	if _, partial := errors.AsType[*provider.PartialError](err); partial {
		return nil
	}
	return err
}

// Model names the model, or is empty.
func (d *Decider) Model() string { return d.models.judging() }

// Prompt names the version of the prompts.
func (d *Decider) Prompt() string { return judge.PromptVersionOf(d.profile) }

// Triage returns for each rule whether it could concern s.
func (d *Decider) Triage(ctx context.Context, s *subject.Subject, rules []*rule.Rule) ([]wire.TriageOutcome, rule.Cost) {
	t := d.judge.Triage(ctx, s, rules)
	return t.Outcomes, t.Cost
}

// Decide returns the verdict of r on s, with the laws of modality and enforcement applied.
func (d *Decider) Decide(ctx context.Context, s *subject.Subject, r *rule.Rule) (rule.RuleVerdict, rule.Cost) {
	result := d.judge.Decide(ctx, s, []*rule.Rule{r})
	v := result.Verdicts[0]
	v.Verdict = rule.Settle(v.Verdict, r.Modality, r.Enforcement)
	return v, result.Cost
}
