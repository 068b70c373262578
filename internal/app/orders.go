package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"tenet/internal/checkpoint"
)

// ordersFile holds, in the folder of an edge, the last orders of its server.
const ordersFile = "orders.json"

// orders are those of a server that hold until it takes them back, also for an edge that starts while the server cannot be reached.
type orders struct {
	Edge      string `json:"edge"` // the name that they were given to
	Pinned    bool   `json:"pinned"`
	Paused    bool   `json:"paused"`
	Forgotten bool   `json:"forgotten"`
}

// restore does what the server last said. An edge without a server has none that could take it back, and the orders are not for one with another name.
func (s *shipping) restore() error {
	if s.server == nil {
		return nil
	}
	data, err := os.ReadFile(s.ordersPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var o orders
	if err := json.Unmarshal(data, &o); err != nil {
		return fmt.Errorf("%s does not say whether the edge may answer: %w; remove it to have the server asked", s.ordersPath(), err)
	}
	if s.kept = o; o.Edge == s.edge.Name {
		s.follow(o)
	}
	return nil
}

// obey does what the server says, and keeps it for the next start.
func (s *shipping) obey(o orders) error {
	s.follow(o)
	if s.kept == o || s.kept == (orders{}) && o == (orders{Edge: o.Edge}) {
		return nil
	}
	data, err := json.Marshal(o)
	if err != nil {
		return err
	}
	if err := checkpoint.WriteFile(s.ordersPath(), append(data, '\n')); err != nil {
		return err
	}
	s.kept = o
	return nil
}

func (s *shipping) follow(o orders) {
	s.edge.follower.Pin(o.Pinned)
	s.paused.Store(o.Paused)
	s.forgotten.Store(o.Forgotten)
}

func (s *shipping) ordersPath() string { return filepath.Join(s.folder, ordersFile) }
