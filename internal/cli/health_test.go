package cli

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestHealth(t *testing.T) {
	state := http.StatusOK
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/ready" {
			t.Errorf("asks %s", r.URL.Path)
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(state)
		_, _ = w.Write([]byte(`{"status":"ready"}`))
	})
	plain, secret := httptest.NewServer(handler), httptest.NewTLSServer(handler)
	defer plain.Close()
	defer secret.Close()
	cert := filepath.Join(t.TempDir(), "cert.pem")
	if err := os.WriteFile(cert, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secret.Certificate().Raw}), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		environ []string
		args    []string
		state   int
		code    int
		says    string
	}{
		"named":       {nil, []string{"--server", plain.URL}, 200, 0, "is ready"},
		"by settings": {[]string{"TENET_LISTEN=" + plain.Listener.Addr().String()}, nil, 200, 0, "is ready"},
		"TLS":         {[]string{"TENET_LISTEN=" + secret.Listener.Addr().String(), "TENET_TLS_CERT=" + cert, "TENET_TLS_KEY=" + cert}, nil, 200, 0, "is ready"},
		"starting":    {nil, []string{"--server", plain.URL}, 503, 1, "is not ready"},
		"not a Tenet": {nil, []string{"--server", plain.URL}, 404, 2, "Not Found"},
		"not there":   {[]string{"TENET_LISTEN=127.0.0.1:1"}, nil, 200, 2, "127.0.0.1:1"},
	} {
		state = test.state
		code, out, errs := runIn(t.Context(), t, "", test.environ, append([]string{"health"}, test.args...)...)
		if code != test.code || !strings.Contains(out+errs, test.says) {
			t.Errorf("%s: exit code %d, %q, want %d and %q", name, code, out+errs, test.code, test.says)
		}
	}
}

func TestTheLocalAddressOfAServer(t *testing.T) {
	for listen, want := range map[string]string{
		"0.0.0.0:8080": "127.0.0.1:8080", ":9000": "127.0.0.1:9000", "[::]:8080": "[::1]:8080", "10.0.0.7:80": "10.0.0.7:80", "localhost:1": "localhost:1",
	} {
		if got, err := localAddress(listen); err != nil || got != want {
			t.Errorf("%s: %s (%v), want %s", listen, got, err, want)
		}
	}
}
