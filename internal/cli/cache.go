package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// cacheCommands are `tenet cache ...`.
type cacheCommands struct {
	Stats  cacheStatsCommand  `cmd:"" help:"Count the stored verdicts."`
	Prune  cachePruneCommand  `cmd:"" help:"Delete old stored verdicts."`
	Forget cacheForgetCommand `cmd:"" help:"Delete the stored verdicts of an evaluation."`
	Clear  cacheClearCommand  `cmd:"" help:"Delete all stored verdicts of the project."`
}

type cacheStatsCommand struct {
	output
}

func (cacheStatsCommand) Help() string {
	return `Verdicts that a model gave are kept by content: the rule's text, the hunk, the model and the version of the prompt.
What did not change is not judged again.

    tenet cache stats
    tenet cache stats --project payments --format json`
}

func (k *cacheStatsCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	stats, err := client.Get(ctx, c, op.GetCache)
	return show(s, k.output, stats, err, printCache)
}

func printCache(s *session, stats wire.CacheStats) error {
	text := fmt.Sprintf("project %s: %s, %.1f MiB", stats.ProjectID, amount(stats.Count, "verdict"), float64(stats.Bytes)/(1<<20))
	if stats.Oldest != nil && stats.Newest != nil {
		text += fmt.Sprintf(", made %s to %s", day(*stats.Oldest), day(*stats.Newest))
	}
	_, err := fmt.Fprintln(s.out, text)
	return err
}

type cachePruneCommand struct {
	OlderThan time.Duration `placeholder:"TIME" help:"Delete verdicts made longer ago than this, such as 720h."`
	MaxMB     int64         `name:"max-mb" placeholder:"N" help:"Delete the oldest until the others have at most so many MiB of text."`
	output
}

func (cachePruneCommand) Help() string {
	return `The node does this automatically when a project's verdicts grow beyond the setting cache_max_mb.

    tenet cache prune --older-than 720h
    tenet cache prune --max-mb 50`
}

func (k *cachePruneCommand) Run(ctx context.Context, s *session) error {
	if k.OlderThan <= 0 && k.MaxMB <= 0 {
		return errors.New("say what to delete: --older-than TIME, --max-mb N, or both; tenet cache clear deletes all")
	}
	var prune wire.PruneCache
	if k.OlderThan > 0 {
		before := time.Now().Add(-k.OlderThan)
		prune.Before = &before
	}
	if size := k.MaxMB << 20; size > 0 {
		prune.MaxBytes = &size
	}
	return deleteVerdicts(ctx, s, k.output, func(c *client.Client) (wire.CacheDeleted, error) { return client.Call(ctx, c, op.PruneCache, prune) })
}

type cacheForgetCommand struct {
	Evaluation string `required:"" placeholder:"ID" help:"The evaluation."`
	Rule       string `placeholder:"RULE" help:"Only the verdict of this rule."`
	output
}

func (cacheForgetCommand) Help() string {
	return `After a wrong verdict: what a model said in this evaluation, or before it about the same text, is judged again when it is
needed. Feedback that a verdict is wrong does the same for its rule.

    tenet cache forget --evaluation 01a207c4-3d5c-704b-b828-3fb0aac63805
    tenet cache forget --evaluation 01a207c4-3d5c-704b-b828-3fb0aac63805 --rule SEC-003`
}

func (k *cacheForgetCommand) Run(ctx context.Context, s *session) error {
	return deleteVerdicts(ctx, s, k.output, func(c *client.Client) (wire.CacheDeleted, error) {
		return client.Call(ctx, c, op.PruneCache, wire.PruneCache{EvaluationID: k.Evaluation, RuleID: k.Rule})
	})
}

type cacheClearCommand struct{ output }

func (cacheClearCommand) Help() string {
	return `Everything is judged again when it is needed. Records of evaluations are not touched: they hold their verdicts.

    tenet cache clear --project payments`
}

func (k *cacheClearCommand) Run(ctx context.Context, s *session) error {
	return deleteVerdicts(ctx, s, k.output, func(c *client.Client) (wire.CacheDeleted, error) { return client.Get(ctx, c, op.ClearCache) })
}

func deleteVerdicts(ctx context.Context, s *session, o output, remove func(*client.Client) (wire.CacheDeleted, error)) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		d, err := remove(c)
		return show(s, o, d, err, func(s *session, d wire.CacheDeleted) error {
			_, err := fmt.Fprintf(s.out, "%s deleted\n", amount(d.Deleted, "verdict"))
			return err
		})
	})
}
