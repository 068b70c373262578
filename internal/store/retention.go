package store

import (
	"context"

	"tenet/internal/rule"
)

// RetentionReader reads how long projects keep their records.
type RetentionReader interface {
	// Get returns the retention of a project; the zero value if none was set. It fails if the stored one cannot be read.
	Get(ctx context.Context, projectID string) (rule.Retention, error)
	// FirstBody returns the Seq of the first entry of a kind in the audit chain, up to one, that still has its body; 0 if none has.
	FirstBody(ctx context.Context, projectID, kind string, through int64) (int64, error)
}

// RetentionTx writes how long projects keep their records.
type RetentionTx interface {
	RetentionReader

	// Put stores the retention of a project; not_found without the project.
	Put(ctx context.Context, projectID string, r rule.Retention) error
}
