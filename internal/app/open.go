package app

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/config"
	"tenet/internal/judge"
	"tenet/internal/judge/probe"
	"tenet/internal/llm"
	"tenet/internal/llm/provider"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/sqlstore"
)

// models are the models of a node. Each may be nil.
type models struct {
	judge    llm.Model
	confirm  llm.Model
	embedder llm.Embedder
}

// openModels opens the models that the settings name, except those that the options give. They share the slots that bound the
// calls to each provider.
func openModels(cfg config.Config, log *slog.Logger, o Options) (m models, err error) {
	slots := provider.NewSlots(cfg.JudgeParallel)
	open := func(given llm.Model, name string) (llm.Model, error) {
		if given != nil || name == "" {
			return given, nil
		}
		return provider.New(name, o.Env, provider.Options{Timeout: cfg.JudgeTimeout, Slots: slots, Logger: log})
	}
	if m.judge, err = open(o.Model, cfg.JudgeModel); err != nil {
		return m, err
	}
	if m.confirm, err = open(o.Confirm, cfg.ConfirmModel); err != nil {
		return m, err
	}
	if m.embedder = o.Embedder; m.embedder == nil && cfg.EmbeddingModel != "" {
		m.embedder, err = provider.NewEmbedder(cfg.EmbeddingModel, o.Env, provider.Options{Logger: log, Slots: slots})
	}
	return m, err
}

// judging names the model that judges; empty without one.
func (m models) judging() string {
	if m.judge == nil {
		return ""
	}
	return m.judge.ID()
}

// profile returns how the model that judges is asked; of several, the first counts.
func (m models) profile(cfg config.Config) judge.Profile {
	first, _, _ := strings.Cut(m.judging(), ",")
	return judge.Profile(cfg.Profile(first))
}

// embedding names the model whose vectors are compared; empty without one.
func (m models) embedding() string {
	if m.embedder == nil {
		return ""
	}
	return m.embedder.ID()
}

// newJudge returns a judge that stores verdicts in a cache and draws control rules from samples; both may be nil.
func (m models) newJudge(cfg config.Config, log *slog.Logger, cache *judge.Cache, samples func(projectID string) []probe.Sample) *judge.Judge {
	return judge.New(judge.Config{
		Model: m.judge, Confirm: m.confirm, Profile: m.profile(cfg), Timeout: cfg.JudgeTimeout, TotalTimeout: cfg.Judging(), Concurrency: cfg.JudgeParallel, MaxTokens: cfg.JudgeTokens, Logger: log, Cache: cache, Samples: samples,
	})
}

func openStore(ctx context.Context, cfg config.Config, log *slog.Logger) (store.Store, error) {
	opts := sqlstore.Options{Logger: log, Replicas: addresses(cfg.ReadURLs), Staleness: cfg.ReadStaleness}
	if cfg.DatabaseURL != "" {
		return sqlstore.OpenPostgres(ctx, cfg.DatabaseURL, opts)
	}
	dir, err := dataDir(cfg)
	if err != nil {
		return store.Store{}, err
	}
	return sqlstore.OpenSQLite(ctx, dir, opts)
}

// dataDir is the folder of the embedded database.
func dataDir(cfg config.Config) (string, error) {
	if cfg.Data != "" {
		return cfg.Data, nil
	}
	return DefaultData(os.Getenv)
}

// DefaultData is the folder of the embedded database where none is given: tenet below XDG_DATA_HOME or ~/.local/share.
func DefaultData(env func(string) string) (string, error) {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "tenet"), nil
	}
	home := env("HOME")
	if home == "" {
		return "", rule.Errorf(rule.CodeInvalid, "there is no home folder to keep data in; give a folder with --data")
	}
	return filepath.Join(home, ".local", "share", "tenet"), nil
}
