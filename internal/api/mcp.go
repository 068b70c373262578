package api

import (
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
)

// ProjectHeader names the project of a request to [MCP]'s handler. The API replaces it in every request.
const ProjectHeader = "X-Tenet-Project"

// MCP serves the Model Context Protocol at /mcp for callers with a key. Its tools call the API, which decides what they
// may do.
type MCP struct{ Handler http.Handler }

// Routes implements [rest.Resource].
func (m MCP) Routes(r *rest.Router) {
	r.Inner("/mcp", auth.Viewer, func(w http.ResponseWriter, r *http.Request) {
		inner := r.Clone(r.Context())
		inner.Header.Set(ProjectHeader, rest.Project(r.Context()))
		m.Handler.ServeHTTP(w, inner)
	})
}
