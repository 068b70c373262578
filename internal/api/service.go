package api

import (
	"encoding/json"
	"io/fs"
	"net/http"
	"strings"

	"github.com/swaggest/swgui"
	static "github.com/swaggest/swgui/v5/static"
	"github.com/swaggest/swgui/v5emb"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// serviceRoutes are the routes outside /api: what the server is and how it is.
func (s *server) serviceRoutes() {
	s.raw("/{$}", auth.Public, publicAccess, s.root)
	s.raw("/health", auth.Public, publicAccess, s.health)
	s.raw("/ready", auth.Public, publicAccess, s.ready)
	s.raw("/openapi.json", auth.Public, publicAccess, s.openAPI())
	docs := s.docs()
	s.raw("/docs", auth.Public, publicAccess, docs)
	s.raw("/docs/{file...}", auth.Public, publicAccess, docs)
	// Metrics tell of all projects, so they need a key for all; a viewer's is enough.
	s.raw("/metrics", auth.Viewer, allProjects, s.metrics.handler().ServeHTTP)
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", jsonType)
	encode(w, v)
}

func (s *server) root(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, map[string]any{
		"name": "Tenet", "version": s.cfg.Version,
		"links": map[string]string{
			"docs": "/docs", "openapi": "/openapi.json", "health": "/health", "ready": "/ready", "metrics": "/metrics",
			"rules": rulesPath, "search": searchPath + "/hybrid", "evaluate": evaluatePath, "evaluations": evaluationsPath,
		},
	})
}

func (s *server) health(w http.ResponseWriter, _ *http.Request) {
	answerJSON(w, map[string]string{"status": "ok", "version": s.cfg.Version})
}

func (s *server) ready(w http.ResponseWriter, r *http.Request) {
	if s.cfg.Ready != nil {
		if err := s.cfg.Ready(r.Context()); err != nil {
			if rule.CodeOf(err) == rule.CodeInternal {
				err = rule.Errorf(rule.CodeUnavailable, "the node cannot answer now")
			}
			s.writeProblem(w, r, err)
			return
		}
	}
	body := struct {
		Status string      `json:"status"`
		Judge  *JudgeState `json:"judge,omitempty"`
	}{Status: "ready"}
	if s.cfg.JudgeState != nil {
		state := s.cfg.JudgeState()
		body.Judge = &state
	}
	answerJSON(w, body)
}

// JudgeState is how the judge's model is. A node whose model does not work is ready all the same: it answers, and says of
// every rule that nobody could judge it.
type JudgeState struct {
	// Model is the configured model, or empty.
	Model  string      `json:"model"`
	Status JudgeStatus `json:"status"`
	// Detail says what is wrong and what to set. It holds no key.
	Detail string `json:"detail,omitempty"`
}

// JudgeStatus is the state of a model in a word.
type JudgeStatus string

// States of the judge's model.
const (
	JudgeNone        JudgeStatus = "none"     // no model is configured
	JudgeChecking    JudgeStatus = "checking" // the first check is under way
	JudgeOK          JudgeStatus = "ok"       // a model can be asked
	JudgeUnreachable JudgeStatus = "unreachable"
	JudgeBadKey      JudgeStatus = "bad_key" // the server refuses the key
)

// openAPI serves the description, which is complete once all routes are registered.
func (s *server) openAPI() http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Cache-Control", "no-cache")
		w.Header().Set("Content-Type", jsonType)
		_, _ = w.Write(s.spec())
	}
}

// specification renders the description for people and for comparing.
func (s *server) specification() []byte {
	b, err := json.MarshalIndent(s.api.OpenAPI(), "", "  ")
	if err != nil {
		panic("api: the description cannot be encoded: " + err.Error())
	}
	return append(b, '\n')
}

// docsPolicy lets the page use what this server serves and nothing else. The page's own script and style are inline.
const docsPolicy = "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; " +
	"img-src 'self' data:; connect-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'none'"

// docs serves the interactive documentation from the program itself.
func (s *server) docs() http.HandlerFunc {
	ui := v5emb.NewHandlerWithConfig(swgui.Config{
		Title: "Tenet API", SwaggerJSON: "/openapi.json", BasePath: "/docs/", HideCurl: false, ShowTopBar: false,
		SettingsUI: map[string]string{"defaultModelsExpandDepth": "1", "docExpansion": `"list"`},
	})
	return func(w http.ResponseWriter, r *http.Request) {
		if file := strings.Trim(r.PathValue("file"), "/"); file != "" && !embedded(file) {
			s.writeProblem(w, r, rule.NotFound("file", cut(file, maxValue)))
			return
		}
		w.Header().Set("Content-Security-Policy", docsPolicy)
		w.Header().Set("Cache-Control", "no-cache")
		ui.ServeHTTP(w, r)
	}
}

// embedded reports whether the documentation has a file; most are kept compressed.
func embedded(file string) bool {
	for _, name := range []string{file, file + ".gz"} {
		if info, err := fs.Stat(static.FS, name); err == nil && !info.IsDir() {
			return true
		}
	}
	return false
}
