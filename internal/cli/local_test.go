package cli

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestACommandSaysThatAServerWorksOnItsDatabase holds while the server answers, and not after it has died.
func TestACommandSaysThatAServerWorksOnItsDatabase(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/health" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer server.Close()
	dir := t.TempDir()
	remove := announce(dir, server.URL)
	if got := serving(t.Context(), dir); got != server.URL {
		t.Errorf("the server is %q", got)
	}
	if _, _, errs := run(t, "", "policy", "set", "--uncovered", "action=deny", "--data", dir); !strings.Contains(errs, "--server "+server.URL) {
		t.Errorf("prints %s", errs)
	}
	server.Close()
	if got := serving(t.Context(), dir); got != "" {
		t.Errorf("a dead server is %q", got)
	}
	remove()
	if _, err := os.Stat(filepath.Join(dir, serverFile)); err == nil {
		t.Error("the file is there after the server")
	}
	for _, text := range []string{"", "{", `{"url":"file:///etc/passwd"}`, strings.Repeat("x", 10000)} {
		if err := os.WriteFile(filepath.Join(dir, serverFile), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if got := serving(t.Context(), dir); got != "" {
			t.Errorf("%.20q names the server %q", text, got)
		}
	}
}
