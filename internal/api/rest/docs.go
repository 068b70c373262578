package rest

import (
	"cmp"
	"embed"
	"io/fs"
	"net/http"
	"strings"

	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/swaggest/swgui"
	static "github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// describeItself mounts the description, the documentation made of it, and the metrics.
func (s *Server) describeItself(r *Router) {
	r.Raw("/openapi.json", auth.Public, PublicAccess, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(s.spec())
	})
	docs := documentation()
	r.Raw("/docs", auth.Public, PublicAccess, docs)
	r.Raw("/docs/{file...}", auth.Public, PublicAccess, docs)
	// Metrics cover all projects, so they need a key for all; a viewer's is enough.
	r.Raw("/metrics", auth.Viewer, AllProjects, promhttp.HandlerFor(s.cfg.Registry, promhttp.HandlerOpts{Registry: s.cfg.Registry, ErrorHandling: promhttp.ContinueOnError}).ServeHTTP)
}

// WriteJSON answers with JSON.
func WriteJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	encode(w, v)
}

// docsPolicy lets the page use files of this server and nothing else; no script or style is in the page itself.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; " +
	"img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// The page of the documentation: the interface, what starts it, and what it looks like around it.
var (
	//go:embed docs
	docsFiles embed.FS
	ownDocs   = map[string]string{"": "text/html; charset=utf-8", "start.js": "text/javascript; charset=utf-8", "page.css": "text/css; charset=utf-8"}
)

// documentation serves the interactive documentation from the program, so that it works offline.
func documentation() http.HandlerFunc {
	files := v5emb.NewHandlerWithConfig(swgui.Config{BasePath: "/docs/"})
	return func(w http.ResponseWriter, r *http.Request) {
		file := strings.Trim(r.PathValue("file"), "/")
		media, own := ownDocs[file]
		if !own && !embedded(file) {
			WriteProblem(w, r, rule.NotFound("file", Clip(file, maxValue)))
			return
		}
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Cache-Control", "no-cache")
		if !own {
			files.ServeHTTP(w, r)
			return
		}
		content, err := docsFiles.ReadFile("docs/" + cmp.Or(file, "page.html"))
		if err != nil {
			WriteProblem(w, r, err)
			return
		}
		w.Header().Set("Content-Type", media)
		_, _ = w.Write(content)
	}
}

// embedded reports whether the documentation has a file; most are compressed.
func embedded(file string) bool {
	for _, name := range []string{file, file + ".gz"} {
		if info, err := fs.Stat(static.FS, name); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}
