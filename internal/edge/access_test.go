package edge

import (
	"testing"

	"tenet/internal/bundle"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// An edge whose server wants keys lets nobody in without one, be it that all keys are of other projects.
func TestAnEdgeWithoutKeysOfItsProjectIsClosedIfTheServerIs(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		contents bundle.Contents
		want     int
	}{
		"no keys at all":         {bundle.Contents{}, 0},
		"keys of other projects": {bundle.Contents{KeysRequired: true}, 1},
		"a key of the project":   {bundle.Contents{KeysRequired: true, Keys: []store.Key{{ID: "k"}}}, 1},
	} {
		tt.contents.Project = rule.Project{ID: "p"}
		c := &Corpus{}
		c.Put(bundle.Head{}, &tt.contents, nil)
		if n, err := (keys{c}).Count(t.Context()); err != nil || n != tt.want {
			t.Errorf("%s: counts %d keys, %v; want %d", name, n, err, tt.want)
		}
	}
}
