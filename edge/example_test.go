package edge_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"

	"tenet/edge"
	"tenet/internal/app"
	"tenet/internal/config"
	"tenet/internal/wire"
)

// published is a server that has deployed the starter packs to production.
func published() (address string, keys []string, stop func()) {
	dir, err := os.MkdirTemp("", "tenet-example-")
	must(err)
	cfg, err := config.Load("", none, map[string]string{"data": dir, "listen": "127.0.0.1:0", "alerts": "false"})
	must(err)
	a, err := app.New(context.Background(), cfg, slog.New(slog.DiscardHandler), app.Options{Env: none})
	must(err)
	must(a.Start(context.Background()))
	_, body := ask(a, http.MethodPost, "/api/v1/snapshots", []byte(`{"name":"first"}`))
	var made wire.Snapshot
	must(json.Unmarshal(body, &made))
	ask(a, http.MethodPost, "/api/v1/snapshots/"+made.ID+"/deploy", []byte(`{"environment":"production"}`))
	var info wire.BundleInfo
	_, body = ask(a, http.MethodGet, "/api/v1/bundles/production/info", nil)
	must(json.Unmarshal(body, &info))
	s := httptest.NewServer(a.Handler())
	return s.URL + "/api/v1/bundles/production", info.Keys, func() {
		s.CloseClientConnections()
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = a.Stop(ended)
		_ = os.RemoveAll(dir)
	}
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

// lines is a Sink that writes records as lines of JSON to a file that is synced.
type lines struct{ file *os.File }

func (l lines) Write(_ context.Context, r edge.Record) error {
	if _, err := l.file.Write(append(r.Body, '\n')); err != nil {
		return err
	}
	return l.file.Sync()
}

func Example() {
	address, keys, stop := published()
	defer stop()
	ctx := context.Background()
	file, err := os.CreateTemp("", "records")
	must(err)
	defer func() { _ = os.Remove(file.Name()) }()

	e, err := edge.Open(ctx, edge.Config{Bundle: address, Trusted: keys, Sink: lines{file}})
	if err != nil {
		panic(err)
	}
	defer func() { _ = e.Close() }()
	content := "import os\n\nresult = eval(os.environ[\"X\"])\n"
	a, err := e.Evaluate(ctx, edge.Request{Files: []edge.File{{Path: "report.py", Content: &content}}})
	if err != nil {
		panic(err) // not judged, and so not allowed
	}
	fmt.Println(a.OverallVerdict)
	for _, v := range a.Violations {
		fmt.Println(v.RuleSlug, v.Locations[0].FilePath, v.Locations[0].StartLine)
	}
	info, err := file.Stat()
	must(err)
	fmt.Println("recorded:", info.Size() > 0)
	// Output:
	// DENY
	// PY-001 report.py 3
	// recorded: true
}
