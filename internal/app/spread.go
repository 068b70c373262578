package app

import (
	"context"

	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store/sqlstore"
)

// Spread says where the rows of a database are, and what keeps its tables from being spread over servers.
type Spread = sqlstore.Spread

// CheckSpread looks at the database of the settings, which must be one on PostgreSQL, and changes nothing.
func CheckSpread(ctx context.Context, cfg config.Config) (Spread, error) {
	if cfg.DatabaseURL == "" {
		return Spread{}, errOnServers
	}
	return sqlstore.CheckSpread(ctx, cfg.DatabaseURL)
}

// Distribute spreads its tables by project, each cut into as many parts as shards says, or the server if that is 0.
func Distribute(ctx context.Context, cfg config.Config, shards int, progress func(done, all int)) (Spread, error) {
	if cfg.DatabaseURL == "" {
		return Spread{}, errOnServers
	}
	return sqlstore.Distribute(ctx, cfg.DatabaseURL, shards, progress)
}

var errOnServers = rule.Errorf(rule.CodeInvalid, "only PostgreSQL is spread over servers: name the coordinator of its cluster with --database-url; see docs/scaling.md")
