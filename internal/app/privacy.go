package app

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"tenet/internal/config"
	"tenet/internal/privacy"
)

// RotatePrivacyKey puts a new key before the one in the privacy key file.
func RotatePrivacyKey(cfg config.Config) error {
	file, err := privacyKey(cfg)
	if err != nil {
		return err
	}
	return file.Rotate()
}

// RetirePrivacyKeys wraps the keys of all people under the first key of the privacy key file, and takes the older ones out of it. From names an
// older file whose keys it opens, too; it may be empty. It returns how many keys it has wrapped. Progress gets that and the number of all.
func RetirePrivacyKeys(ctx context.Context, cfg config.Config, from string, progress func(done, all int)) (n int, err error) {
	file, err := privacyKey(cfg)
	if err != nil {
		return 0, err
	}
	var older *privacy.KeyFile
	if from != "" {
		older = privacy.NewKeyFile(from, false)
	}
	s, err := openStore(ctx, cfg, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	keeper := privacy.New(privacy.Config{Store: s, Read: s.PersonalKeys, Key: file, Now: time.Now})
	return keeper.Retire(ctx, older, progress)
}
