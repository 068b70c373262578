package app

import (
	"context"
	"time"

	"tenet/internal/audit"
	"tenet/internal/console"
	"tenet/internal/rule"
	"tenet/internal/sso"
	"tenet/internal/store"
)

// openCallers reads the identity providers of the settings. It asks none of them yet.
func (a *App) openCallers(env func(string) string) (sso.Callers, error) {
	callers := sso.Callers{Keys: a.keys}
	list, err := sso.ReadFile(a.cfg.SSOFile, env)
	if err != nil || len(list) == 0 {
		return callers, err
	}
	callers.People = sso.New(sso.Config{
		Providers: list, Store: sso.Store{SessionReader: a.store.Sessions, Updater: a.store}, Lifetime: a.cfg.ConsoleSessionAge, Logger: a.log,
	})
	return callers, nil
}

// providers are the identity providers at which people can sign in.
func providers(c sso.Callers) []sso.Provider {
	if c.People == nil {
		return nil
	}
	return c.People.Providers()
}

// recordSignIn records a sign-in to the console in the default project, and publishes one with the key of an administrator where people sign in
// at identity providers.
func (a *App) recordSignIn(ctx context.Context, s console.SignIn) error {
	at := rule.Instant(time.Now())
	body := audit.JSON(map[string]any{"action": s.Action, "key_id": s.Who.KeyID, "address": s.From, "break_glass": s.BreakGlass})
	return a.store.Update(ctx, func(tx store.Tx) error {
		err := audit.Append(ctx, tx, rule.DefaultProject, audit.Record{Kind: audit.KindSignIn, At: at, Actor: s.Who.Name, Body: body})
		if err != nil || !s.BreakGlass {
			return err
		}
		return a.parts.webhooks.Publish(ctx, tx, rule.Event{
			ID: audit.NewID(), ProjectID: rule.DefaultProject, Type: rule.BreakGlass, Time: at, Severity: rule.High,
			Data: audit.JSON(map[string]any{"actor": s.Who.Name, "key_id": s.Who.KeyID, "address": s.From, "at": at}),
		})
	})
}
