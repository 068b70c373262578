package evidence

import (
	"testing"

	"tenet/internal/store"
)

// A reader may find what a row was at its mark, or at any time since.
func TestARowMayBeAsItWasSinceTheMark(t *testing.T) {
	t.Parallel()
	row := func(version byte) []store.RowInForce {
		return []store.RowInForce{{Kind: store.RuleInForce, ID: "a", Hash: store.RowHash{version}}}
	}
	e := &explained{rows: map[name]state{}, before: map[name][]state{}}
	e.apply(1, true, append(row(1), store.RowInForce{Kind: store.ProjectInForce, ID: "p", Hash: store.RowHash{9}}))
	e.apply(2, false, row(2))
	e.apply(3, false, row(3))
	for _, tt := range []struct {
		mark    int64
		version byte
		fine    bool
	}{
		{1, 1, true},
		{1, 2, true},
		{1, 3, true},
		{2, 1, false},
		{2, 2, true},
		{3, 2, false},
		{3, 3, true},
		{1, 4, false},
	} {
		if problems := e.compare(tt.mark, row(tt.version), nil, true); (len(problems) == 0) != tt.fine {
			t.Errorf("version %d read after entry %d: %v", tt.version, tt.mark, problems)
		}
	}
}
