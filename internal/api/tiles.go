package api

import (
	"context"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/mod/sumdb/tlog"

	"tenet/internal/api/rest"
	"tenet/internal/audit/tree"
	"tenet/internal/auth"
	"tenet/internal/evidence"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// Tiles serves the logs of the audit chains as C2SP tlog-tiles, below /audit/{project}/. They hold hashes only.
type Tiles struct {
	Log         *evidence.Log
	Checkpoints store.LogReader
}

// Routes implements [rest.Resource].
func (s Tiles) Routes(r *rest.Router) {
	r.Raw("/audit/{id}/{file...}", auth.Viewer, rest.PathProject, func(w http.ResponseWriter, r *http.Request) {
		if err := s.serve(w, r); err != nil {
			rest.WriteProblem(w, r, err)
		}
	})
}

func (s Tiles) serve(w http.ResponseWriter, r *http.Request) error {
	project, file := rest.Project(r.Context()), r.PathValue("file")
	contentType, caching := "application/octet-stream", "public, max-age=31536000, immutable"
	var body []byte
	if file == "checkpoint" {
		c, err := s.Checkpoints.Checkpoint(r.Context(), project, 0, false)
		if err != nil {
			return err
		}
		contentType, caching, body = "text/plain; charset=utf-8", "no-cache", []byte(c.Note)
	} else {
		var err error
		if body, err = s.tile(r.Context(), project, file); err != nil {
			return err
		}
	}
	w.Header().Set("Content-Type", contentType)
	w.Header().Set("Cache-Control", caching)
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	_, err := w.Write(body)
	_ = err // the caller has gone
	return nil
}

// tile returns the tile or the bundle of entries that a path names.
func (s Tiles) tile(ctx context.Context, project, file string) ([]byte, error) {
	entries := strings.HasPrefix(file, "tile/entries/")
	path := file
	if entries {
		path = "tile/data/" + strings.TrimPrefix(file, "tile/entries/")
	}
	// The library has the height of a tile in the path, as the Go checksum database does.
	t, err := tlog.ParseTilePath(strings.Replace(path, "tile/", "tile/"+strconv.Itoa(tree.Height)+"/", 1))
	if err != nil || entries != (t.L == -1) || len(file) > 100 {
		return nil, rule.Errorf(rule.CodeNotFound, "%q is not a file of a log; the files are checkpoint, tile/<level>/<number> and tile/entries/<number>", rest.Clip(file, 100))
	}
	if entries {
		return s.Log.Bundle(ctx, project, t.N, t.W)
	}
	return s.Log.Tile(ctx, project, t.L, t.N, t.W)
}
