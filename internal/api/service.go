package api

import (
	"context"
	"net/http"

	"tenet/internal/api/rest"
	"tenet/internal/auth"
	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// Service serves the routes outside /api: the name, the version and the state of the server.
type Service struct {
	Version string
	// Ready returns an error while the node cannot answer; nil means that it always can.
	Ready func(ctx context.Context) error
	// JudgeState returns the state of the judge's model for /ready; nil leaves it out.
	JudgeState func() llm.State
	// Replicas returns the replicas of the database for /ready; nil, or none, leaves them out.
	Replicas func() []wire.Replica
}

// Routes implements [rest.Resource].
func (s Service) Routes(r *rest.Router) {
	r.Raw("/{$}", auth.Public, rest.PublicAccess, s.root)
	r.Raw("/health", auth.Public, rest.PublicAccess, s.health)
	r.Raw("/ready", auth.Public, rest.PublicAccess, s.ready)
}

func (s Service) root(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, map[string]any{
		"name": "Tenet", "version": s.Version,
		"links": map[string]string{
			"docs": "/docs", "openapi": "/openapi.json", "health": "/health", "ready": "/ready", "metrics": "/metrics",
			"rules": op.ListRules.Path, "search": op.SearchHybrid.Path, "evaluate": op.Evaluate.Path, "evaluations": op.ListEvaluations.Path,
		},
	})
}

func (s Service) health(w http.ResponseWriter, _ *http.Request) {
	rest.WriteJSON(w, map[string]string{"status": "ok", "version": s.Version})
}

func (s Service) ready(w http.ResponseWriter, r *http.Request) {
	if s.Ready != nil {
		if err := s.Ready(r.Context()); err != nil {
			if rule.CodeOf(err) == rule.CodeInternal {
				err = rule.Errorf(rule.CodeUnavailable, "the node cannot answer now")
			}
			rest.WriteProblem(w, r, err)
			return
		}
	}
	body := struct {
		Status string     `json:"status"`
		Judge  *llm.State `json:"judge,omitempty"`
		// Replicas are counted and not named: anybody may read this.
		Replicas *replicaCount `json:"replicas,omitempty"`
	}{Status: "ready"}
	if s.JudgeState != nil {
		state := s.JudgeState()
		body.Judge = &state
	}
	if s.Replicas != nil {
		body.Replicas = countReplicas(s.Replicas())
	}
	rest.WriteJSON(w, body)
}

// replicaCount counts the replicas of the database, and those of them where nothing is read now.
type replicaCount struct {
	Total   int `json:"total"`
	LeftOut int `json:"left_out"`
}

// countReplicas returns nil without any.
func countReplicas(list []wire.Replica) *replicaCount {
	if len(list) == 0 {
		return nil
	}
	n := &replicaCount{Total: len(list)}
	for i := range list {
		if list[i].LeftOut != "" {
			n.LeftOut++
		}
	}
	return n
}
