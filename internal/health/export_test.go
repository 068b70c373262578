package health

import (
	"context"

	"tenet/internal/store"
)

// Counted gives m rules whose verdicts tx has counted.
func Counted(ctx context.Context, m *Monitor, tx store.Tx, projectID string, ruleIDs []string) error {
	return m.conditions.counted(ctx, tx, projectID, ruleIDs, nil)
}
