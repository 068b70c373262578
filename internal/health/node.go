package health

import (
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/federation"
	"tenet/internal/wire"
)

// nodeOf returns the id of the federation node that a filter names, as [federation.IDOf] does. An empty filter and the word that selects what has no
// node stay as they are.
func nodeOf(view *corpus.View, name string) (string, error) {
	if name = strings.TrimSpace(name); name == "" || name == wire.NobodysName {
		return name, nil
	}
	return federation.IDOf(view.Federation(), name)
}
