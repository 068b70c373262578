package cli

import (
	"bytes"
	"strings"
	"testing"

	"tenet/internal/wire"
)

func TestFleetSaysHowManyEdgesHaveABundle(t *testing.T) {
	for _, test := range []struct {
		current, edges int
		want           string
	}{
		{0, 1, "production: 0 of 1 edges have bundle 7"},
		{1, 1, "production: 1 of 1 edges has bundle 7"},
		{1, 3, "production: 1 of 3 edges has bundle 7"},
		{3, 3, "production: 3 of 3 edges have bundle 7"},
	} {
		var out, errs bytes.Buffer
		fleet := wire.Fleet{Rollout: []wire.Rollout{{Environment: "production", BundleSeq: 7, Edges: test.edges, Current: test.current}}}
		if err := printFleet(&session{out: &out, err: &errs}, fleet); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(errs.String(), test.want+"\n") {
			t.Errorf("%q, want %q", errs.String(), test.want)
		}
	}
}
