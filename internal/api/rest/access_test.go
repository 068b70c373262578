package rest_test

import (
	"bytes"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"tenet/internal/api/rest"
)

// Each answered request is one line with its id, and neither its query, its body nor a key is in the log.
func TestAccessLog(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	var given string
	h := rest.AccessLog(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		given = r.Header.Get("X-Request-Id")
		_, _ = io.Copy(io.Discard, r.Body)
		w.WriteHeader(http.StatusTeapot)
		_, _ = io.WriteString(w, "short and stout")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Error(err)
		}
	}), slog.New(slog.NewTextHandler(&b, nil)))
	for _, test := range []struct {
		target, id string
		want       []string // none: not logged
	}{
		{"/api/v1/rules/tnt_verysecretkey?q=customer+names&key=whsec_abc", "mine-1", []string{"level=INFO msg=request request_id=mine-1 method=POST path=/api/v1/rules/tnt_[redacted] status=418 bytes=15 took=", " remote=192.0.2.1"}},
		{"/p/default/audit", "tnt_sentbymistake", []string{"path=/p/default/audit status=418"}},
		{"/p/default/rules", "no good\tid", []string{"path=/p/default/rules status=418"}},
		{"/health", "", nil},
		{"/metrics", "", nil},
		{"/assets/app.css", "", nil},
	} {
		b.Reset()
		r := httptest.NewRequest(http.MethodPost, test.target, strings.NewReader("the subject"))
		r.Header.Set("X-Request-Id", test.id)
		r.Header.Set("Authorization", "Bearer tnt_other")
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		line := b.String()
		if (test.want == nil) != (line == "") || strings.Count(line, "\n") > 1 {
			t.Errorf("%s logs %q", test.target, line)
		}
		for _, part := range test.want {
			if !strings.Contains(line, part) {
				t.Errorf("%s logs %q, which lacks %q", test.target, line, part)
			}
		}
		for _, secret := range []string{"verysecret", "customer", "whsec_abc", "tnt_other", "the subject", "no good", "sentbymistake"} {
			if strings.Contains(line, secret) {
				t.Errorf("%s logs %q, with %q", test.target, line, secret)
			}
		}
		if test.want != nil && (given == "" || w.Header().Get("X-Request-Id") != given || !strings.Contains(line, "request_id="+given)) {
			t.Errorf("the request has the id %q, the answer %q, the log %q", given, w.Header().Get("X-Request-Id"), line)
		}
	}
}

// A request is one line of the log: the one at level debug, which the API writes itself, is for servers without an access log.
func TestARequestIsLoggedOnce(t *testing.T) {
	t.Parallel()
	for _, access := range []bool{true, false} {
		var b bytes.Buffer
		log := slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		var h http.Handler = rest.New(rest.Config{Logger: log})
		if access {
			h = rest.AccessLog(h, log)
		}
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "http://localhost/api/v1/none", http.NoBody))
		if n := strings.Count(b.String(), "msg=request "); n != 1 {
			t.Errorf("with an access log %t: %d lines for one request:\n%s", access, n, b.String())
		}
	}
}
