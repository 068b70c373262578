package api

import (
	"net/http"

	"tenet/internal/auth"
)

// ProjectHeader names the project of a request to the Model Context Protocol for whoever serves it. It is set here, whatever the
// caller sends.
const ProjectHeader = "X-Tenet-Project"

// mcpRoutes mount the Model Context Protocol, for whoever has a key. What its tools may do is decided when they do it.
func (s *server) mcpRoutes() {
	if s.cfg.MCP == nil {
		return
	}
	const path = "/mcp"
	p := &plan{role: auth.Viewer, place: ownProject, inner: true, query: map[string]bool{"project_id": false}}
	s.plans[path] = p
	s.mux.HandleFunc(path, func(w http.ResponseWriter, r *http.Request) {
		ctx, err := s.admit(r, p)
		if err != nil {
			s.writeProblem(w, r, err)
			return
		}
		r = r.Clone(ctx)
		r.Header.Set(ProjectHeader, project(ctx))
		s.cfg.MCP.ServeHTTP(w, r)
	})
}
