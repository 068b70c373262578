package app

import (
	"context"
	"os"
	"path/filepath"

	"tenet/internal/config"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// markerName is the name of the file beside an embedded database that says that rules were in it.
const markerName = "tenet.has-rules"

// markerText is for people who find the file.
const markerText = "The database tenet.db beside this file has held rules. Without it, Tenet would start again with the starter packs.\n"

// guardEmptied refuses to start with an embedded database that was removed or emptied: a fresh one, with the starter packs, would
// evaluate as if the rules that were in it had never been.
func guardEmptied(ctx context.Context, cfg config.Config, projects store.ProjectReader) error {
	path, err := markerPath(cfg)
	if err != nil || path == "" {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return nil //nolint:nilerr // without the marker the database may be new
	}
	list, err := projects.List(ctx)
	if err != nil || len(list) > 0 {
		return err
	}
	return rule.Errorf(rule.CodeUnavailable,
		"the database of rules in %s was removed or emptied: restore it from a backup, or remove the file %s to begin again with the starter packs", filepath.Dir(path), path)
}

// markFilled notes that the database holds rules.
func markFilled(cfg config.Config) error {
	path, err := markerPath(cfg)
	if err != nil || path == "" {
		return err
	}
	if _, err := os.Stat(path); err == nil {
		return nil
	}
	if err := os.WriteFile(path, []byte(markerText), 0o600); err != nil {
		return rule.Errorf(rule.CodeUnavailable, "cannot write to the data folder: %w", err)
	}
	return nil
}

// markerPath is empty for a database on a server.
func markerPath(cfg config.Config) (string, error) {
	if cfg.DatabaseURL != "" {
		return "", nil
	}
	dir, err := dataDir(cfg)
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, markerName), nil
}
