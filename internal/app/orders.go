package app

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	"tenet/internal/checkpoint"
)

// ordersFile holds, in the folder of an edge, the last orders of its server, by the name of the edge: a start under another name does not take them back.
const ordersFile = "orders.json"

// orders are those of a server that hold until it takes them back, also for an edge that starts while the server cannot be reached.
type orders struct {
	Pinned    bool `json:"pinned"`
	Paused    bool `json:"paused"`
	Forgotten bool `json:"forgotten"`
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
	if err := json.Unmarshal(data, &s.kept); err != nil {
		return fmt.Errorf("%s does not say whether the edge may answer: %w; remove it to have the server asked", s.ordersPath(), err)
	}
	s.follow(s.kept[s.edge.Name])
	return nil
}

// obey does what the server says, and keeps it for the next start.
func (s *shipping) obey(o orders) error {
	s.follow(o)
	if s.kept[s.edge.Name] == o {
		return nil
	}
	kept := map[string]orders{}
	maps.Copy(kept, s.kept)
	kept[s.edge.Name] = o
	data, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	if err := checkpoint.WriteFile(s.ordersPath(), append(data, '\n')); err != nil {
		return err
	}
	s.kept = kept
	return nil
}

func (s *shipping) follow(o orders) {
	s.edge.follower.Pin(o.Pinned)
	s.paused.Store(o.Paused)
	s.forgotten.Store(o.Forgotten)
}

func (s *shipping) ordersPath() string { return filepath.Join(s.folder, ordersFile) }
