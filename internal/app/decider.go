package app

import (
	"context"
	"errors"
	"log/slog"
	"os"

	"tenet/internal/config"
	"tenet/internal/judge"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Decider decides single rules as a node with the same settings would, without a database and without remembering
// verdicts: what `tenet eval` measures.
type Decider struct {
	model llm.Model
	judge *judge.Judge
}

// NewDecider makes a decider. It fails like [New] where the model's settings cannot work. No model is one, too: then no
// rule is decided.
func NewDecider(cfg config.Config, log *slog.Logger, o Options) (*Decider, error) {
	if o.Env == nil {
		o.Env = os.Getenv
	}
	slots := provider.NewSlots(cfg.JudgeParallel)
	judging, err := model(o.Model, cfg.JudgeModel, slots, cfg, log, o)
	if err != nil {
		return nil, err
	}
	confirming, err := model(o.Confirm, cfg.ConfirmModel, slots, cfg, log, o)
	if err != nil {
		return nil, err
	}
	return &Decider{model: judging, judge: judge.New(judgeConfig(cfg, judging, confirming, log))}, nil
}

// Check asks whether the model's server is there and takes the key. Of several models, one that works is enough.
func (d *Decider) Check(ctx context.Context) error {
	m, ok := d.model.(interface {
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
func (d *Decider) Model() string {
	if d.model == nil {
		return ""
	}
	return d.model.ID()
}

// Prompt names the version of the prompts.
func (d *Decider) Prompt() string { return judge.PromptVersion }

// Decide gives the verdict of r on s, with the laws of modality and enforcement applied.
func (d *Decider) Decide(ctx context.Context, s *subject.Subject, r *rule.Rule) (rule.RuleVerdict, rule.Cost) {
	result := d.judge.Decide(ctx, s, []*rule.Rule{r})
	v := result.Verdicts[0]
	v.Verdict = rule.Settle(v.Verdict, r.Modality, r.Enforcement)
	return v, result.Cost
}
