package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"tenet/internal/client"
)

// cacheCommands are `tenet cache ...`.
type cacheCommands struct {
	Stats cacheStatsCommand `cmd:"" help:"Tell how many verdicts are kept."`
	Prune cachePruneCommand `cmd:"" help:"Delete old kept verdicts."`
	Clear cacheClearCommand `cmd:"" help:"Delete all kept verdicts of the project."`
}

type cacheStatsCommand struct {
	Format string `short:"f" enum:"text,json" default:"text" help:"${enum}."`
}

// Help is the long help of the command.
func (cacheStatsCommand) Help() string {
	return `Verdicts that a model gave are kept by content: the rule's text, the hunk, the model and the version of the prompt.
What did not change is not judged again.

    tenet cache stats
    tenet cache stats --project payments --format json`
}

// Run prints what is kept for the project.
func (k *cacheStatsCommand) Run(ctx context.Context, s *session) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		stats, err := c.CacheStats(ctx)
		if err != nil {
			return err
		}
		if k.Format == "json" {
			return printJSON(s.out, stats)
		}
		text := fmt.Sprintf("project %s: %d verdicts, %.1f MiB", stats.ProjectID, stats.Count, float64(stats.Bytes)/(1<<20))
		if stats.Oldest != nil && stats.Newest != nil {
			text += fmt.Sprintf(", made %s to %s", day(*stats.Oldest), day(*stats.Newest))
		}
		_, err = fmt.Fprintln(s.out, text)
		return err
	})
}

type cachePruneCommand struct {
	OlderThan time.Duration `placeholder:"TIME" help:"Delete verdicts made longer ago than this, such as 720h."`
	MaxMB     int64         `name:"max-mb" placeholder:"N" help:"Delete the oldest until the others have at most so many MiB of text."`
}

// Help is the long help of the command.
func (cachePruneCommand) Help() string {
	return `The node does this by itself when a project's verdicts grow beyond the setting cache_max_mb.

    tenet cache prune --older-than 720h
    tenet cache prune --max-mb 50`
}

// Run deletes old verdicts.
func (k *cachePruneCommand) Run(ctx context.Context, s *session) error {
	if k.OlderThan <= 0 && k.MaxMB <= 0 {
		return errors.New("say what to delete: --older-than TIME, --max-mb N, or both; tenet cache clear deletes all")
	}
	var before time.Time
	if k.OlderThan > 0 {
		before = time.Now().Add(-k.OlderThan)
	}
	return s.deleteVerdicts(ctx, func(c *client.Client) (int64, error) { return c.PruneCache(ctx, before, max(0, k.MaxMB)<<20) })
}

type cacheClearCommand struct{}

// Help is the long help of the command.
func (cacheClearCommand) Help() string {
	return `Everything is judged again when it is needed. Records of evaluations are not touched: they hold their verdicts.

    tenet cache clear --project payments`
}

// Run deletes all verdicts of the project.
func (cacheClearCommand) Run(ctx context.Context, s *session) error {
	return s.deleteVerdicts(ctx, func(c *client.Client) (int64, error) { return c.ClearCache(ctx) })
}

func (s *session) deleteVerdicts(ctx context.Context, remove func(*client.Client) (int64, error)) error {
	return s.with(ctx, keepsData, func(c *client.Client) error {
		n, err := remove(c)
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(s.out, "%d verdicts deleted\n", n)
		return err
	})
}
