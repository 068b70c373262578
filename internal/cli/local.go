package cli

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"tenet/internal/app"
	"tenet/internal/config"
)

// serverFile is the file in the folder of a database that names the server which works on it.
const serverFile = "server.json"

// localServer is the content of that file.
type localServer struct {
	URL string `json:"url"`
	PID int    `json:"pid"`
}

// dataFolder is the folder of the embedded database of settings; empty without one.
func dataFolder(s *session, cfg *config.Config) string {
	if cfg.DatabaseURL != "" {
		return ""
	}
	if cfg.Data != "" {
		return cfg.Data
	}
	dir, err := app.DefaultData(s.env)
	if err != nil {
		return ""
	}
	return dir
}

// announce writes the file for a server at an address. The returned function removes it. A folder in which it cannot be written is no
// reason not to serve.
func announce(dir, url string) (remove func()) {
	text, err := json.Marshal(localServer{URL: url, PID: os.Getpid()})
	name := filepath.Join(dir, serverFile)
	if dir == "" || err != nil || os.WriteFile(name, append(text, '\n'), 0o600) != nil {
		return func() {}
	}
	return func() { _ = os.Remove(name) }
}

// healthTime is how long the server of a file may take to answer.
const healthTime = 300 * time.Millisecond

// serving returns the address of the server that works on the database in a folder; empty if none answers.
func serving(ctx context.Context, dir string) string {
	f, err := os.Open(filepath.Join(dir, serverFile))
	if err != nil {
		return ""
	}
	defer func() { _ = f.Close() }() // opened for reading
	text, err := io.ReadAll(io.LimitReader(f, 4096))
	var at localServer
	if err != nil || json.Unmarshal(text, &at) != nil || !strings.HasPrefix(at.URL, "http") {
		return ""
	}
	ctx, cancel := context.WithTimeout(ctx, healthTime)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, at.URL+"/health", nil)
	if err != nil {
		return ""
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return ""
	}
	_ = res.Body.Close() // only its status counts
	if res.StatusCode != http.StatusOK {
		return ""
	}
	return at.URL
}

// noteServer says that a server works on the database that a command uses in its own process.
func noteServer(ctx context.Context, s *session, dir string) {
	if s.err == io.Discard || dir == "" {
		return
	}
	if url := serving(ctx, dir); url != "" {
		s.note("a server works on this database too; --server %s asks it, and sees changes at once", url)
	}
}
