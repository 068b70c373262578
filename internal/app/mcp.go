package app

import (
	"net/http"
	"sync"

	"tenet/internal/api"
	"tenet/internal/client"
	"tenet/internal/mcp"
)

// modelProtocol serves the Model Context Protocol. Its tools call the API of this node in process with the key of the request that
// called them, so that they may do what that key may do. It is made when first asked for: most commands never do.
func (a *App) modelProtocol(version string) http.Handler {
	inside := &http.Client{Transport: client.InProcess(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a.handler.ServeHTTP(w, r)
	}))}
	handler := sync.OnceValue(func() http.Handler {
		return mcp.Handler(a.protocolConfig(version, inside))
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { handler().ServeHTTP(w, r) })
}

func (a *App) protocolConfig(version string, inside *http.Client) mcp.Config {
	return mcp.Config{
		Version: version, MaxBody: a.cfg.MaxBody, Logger: a.log,
		Client: func(header http.Header) (*client.Client, error) {
			c, err := client.New("http://localhost", client.KeyOf(header), inside)
			if err != nil {
				return nil, err
			}
			return c.InProject(header.Get(api.ProjectHeader)), nil
		},
	}
}
