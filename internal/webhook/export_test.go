package webhook

import (
	"tenet/internal/store"
	"tenet/internal/wire"
)

// CheckURL is checkURL, for the fuzz test.
func (w *Webhooks) CheckURL(raw string) error { return checkURL(w.sender.guard, raw) }

// Render is render.
func Render(f wire.WebhookFormat, e *store.WebhookEvent) ([]byte, error) { return render(f, e) }
