package rest

import (
	"context"
	"log/slog"
	"net/http"
	"strings"
	"time"
)

// AccessLog logs each request when it is answered, with the id that its answer and its errors in the log have. The query is left out, which may
// hold words of a subject, and keys in the path are redacted. Probes, scrapes and files of the console are not logged.
func AccessLog(next http.Handler, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if path := r.URL.Path; path == "/health" || path == "/ready" || path == "/metrics" || strings.HasPrefix(path, "/assets/") {
			next.ServeHTTP(w, r)
			return
		}
		began, id := time.Now(), requestID(r)
		r.Header.Set("X-Request-Id", id) // what answers the request names it so too
		w.Header().Set("X-Request-Id", id)
		answer := &accessed{ResponseWriter: w}
		ctx, method, path, remote := r.Context(), r.Method, Clip(withoutKeys(r.URL.Path), maxField), r.RemoteAddr
		defer func() {
			log.InfoContext(ctx, "request", slog.String("request_id", id), slog.String("method", Clip(method, maxMethod)), slog.String("path", path),
				slog.Int("status", answer.code()), slog.Int64("bytes", answer.bytes), slog.Duration("took", time.Since(began).Round(time.Microsecond)), slog.String("remote", remote))
		}()
		next.ServeHTTP(answer, r.WithContext(context.WithValue(ctx, loggedKey{}, id)))
	})
}

// loggedKey is the key of the id of a request that AccessLog logs.
type loggedKey struct{}

// logged reports whether AccessLog logs a request. Those that a page of the console makes in turn have ids of their own.
func logged(ctx context.Context, id string) bool {
	outer, _ := ctx.Value(loggedKey{}).(string)
	return outer == id
}

// maxMethod bounds a method in the log, in bytes.
const maxMethod = 16

// accessed notes the status and the size of an answer.
type accessed struct {
	http.ResponseWriter

	status int
	bytes  int64
}

// code is the status; that of an answer without one is 200.
func (w *accessed) code() int {
	if w.status == 0 {
		return http.StatusOK
	}
	return w.status
}

// WriteHeader implements [http.ResponseWriter].
func (w *accessed) WriteHeader(status int) {
	if w.status == 0 || w.status < http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *accessed) Write(p []byte) (int, error) {
	n, err := w.ResponseWriter.Write(p)
	w.bytes += int64(n)
	return n, err
}

// Unwrap is for [http.ResponseController].
func (w *accessed) Unwrap() http.ResponseWriter { return w.ResponseWriter }
