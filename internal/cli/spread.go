package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/app"
)

// dbCheckCommand is `tenet db check`.
type dbCheckCommand struct {
	output
}

func (dbCheckCommand) Help() string {
	return `Looks at a database on PostgreSQL and says for each table whether its rows are spread over the servers of a Citus cluster, and what would keep it from
that: a key, foreign key or trigger that somebody has added. Without Citus it says the same. It changes nothing.

Exit code 0 says that nothing is in the way, 1 that something is.

    tenet db check --database-url postgres://tenet@coordinator/tenet`
}

// Run looks at the tables.
func (k *dbCheckCommand) Run(ctx context.Context, s *session) error {
	cfg, err := ownDatabase(s, "db check")
	if err != nil {
		return err
	}
	spread, err := app.CheckSpread(ctx, cfg)
	if err := show(s, k.output, spread, err, printSpread); err != nil {
		return err
	}
	if !spread.Ready() {
		return exit(exitFound)
	}
	return nil
}

// dbDistributeCommand is `tenet db distribute`.
type dbDistributeCommand struct {
	Apply  bool `help:"Do it. Without this, show what it would do."`
	Shards int  `placeholder:"N" help:"Parts that each table is cut into, once and for all; several times as many as there will ever be servers. Default is that of the server (citus.shard_count, mostly 32)."`
	output
}

func (dbDistributeCommand) Help() string {
	return `Spreads the tables of a database on PostgreSQL over the servers of a Citus cluster, by project: all rows of a project are on one server. The address is that of
the coordinator. Without --apply it shows the tables and changes nothing.

It is one transaction. Others read meanwhile; what they write waits, and is answered 503 after 15 seconds. Copying takes about as long as a backup. Run again,
it spreads what is not spread yet. See docs/scaling.md.

    tenet db distribute --database-url postgres://tenet@coordinator/tenet
    tenet db distribute --database-url postgres://tenet@coordinator/tenet --apply`
}

// Run plans, and spreads the tables if that is wanted.
func (k *dbDistributeCommand) Run(ctx context.Context, s *session) error {
	if k.Shards < 0 || k.Shards > 64000 {
		return errors.New("--shards must be from 1 to 64000")
	}
	cfg, err := ownDatabase(s, "db distribute")
	if err != nil {
		return err
	}
	plan, err := app.CheckSpread(ctx, cfg)
	if err != nil {
		return err
	}
	if !plan.Ready() {
		if err := show(s, k.output, plan, nil, printSpread); err != nil {
			return err
		}
		return exit(exitFound)
	}
	if !k.Apply {
		return show(s, k.output, plan, nil, func(s *session, plan app.Spread) error {
			if err := printSpread(s, plan); err != nil {
				return err
			}
			if left := plan.Left(); len(left) > 0 && plan.Citus != "" {
				s.note("%s", s.bold(fmt.Sprintf("--apply spreads %d tables", len(left))))
			}
			return nil
		})
	}
	bar, done := s.bar("spreading")
	spread, err := app.Distribute(ctx, cfg, k.Shards, bar)
	done()
	return noted(s, k.output, spread, err, func(app.Spread) string {
		return fmt.Sprintf("spread %d tables of %d over %s", len(plan.Left()), len(spread.Tables), strings.Join(spread.Nodes, ", "))
	})
}

// printSpread lists the tables, each with its size and what is in the way.
func printSpread(s *session, spread app.Spread) error {
	where := "PostgreSQL without Citus: all rows are on this server"
	if spread.Citus != "" {
		where = fmt.Sprintf("Citus %s, rows on %s", spread.Citus, cmp.Or(strings.Join(spread.Nodes, ", "), "no server"))
	}
	if _, err := fmt.Fprintf(s.out, "%s\n%d of %d tables are spread by project\n", where, len(spread.Tables)-len(spread.Left()), len(spread.Tables)); err != nil {
		return err
	}
	for _, problem := range spread.Problems {
		if _, err := fmt.Fprintf(s.out, "in the way: %s\n", problem); err != nil {
			return err
		}
	}
	rows := make([][]any, 0, len(spread.Tables))
	for _, t := range spread.Tables {
		state := "here"
		if t.Spread {
			state = "spread"
		}
		if len(t.Problems) > 0 {
			state = "in the way: " + strings.Join(t.Problems, "; ")
		}
		rows = append(rows, []any{t.Name, fmt.Sprintf("%.1f MB", float64(t.Bytes)/1e6), state})
	}
	return s.table("TABLE\tSIZE\tSTATE", rows)
}
