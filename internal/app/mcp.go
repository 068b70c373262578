package app

import (
	"net/http"

	"tenet/internal/api"
	"tenet/internal/client"
	"tenet/internal/mcp"
)

// modelProtocol serves the Model Context Protocol. Its tools call the API of this node in process with the key of the request that
// called them, so that they may do what that key may do.
func (a *App) modelProtocol(version string) http.Handler {
	inside := &http.Client{Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.handler.ServeHTTP(w, r)
	}))}
	return mcp.Handler(mcp.Config{
		Version: version, MaxBody: a.cfg.MaxBody, Logger: a.log,
		Client: func(header http.Header) (*client.Client, error) {
			c, err := client.New("http://localhost", client.KeyOf(header), inside)
			if err != nil {
				return nil, err
			}
			return c.InProject(header.Get(api.ProjectHeader)), nil
		},
	})
}
