package release

import (
	"context"

	"tenet/internal/audit"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/wire"
)

// ApprovalRequested is the event of a snapshot that some gates let pass only once people have approved it.
type ApprovalRequested struct {
	wire.Snapshot
	Environments []ApprovalsWanted `json:"environments"`
}

// ApprovalsWanted is an environment with the approvals that its gates ask for.
type ApprovalsWanted struct {
	Environment wire.Environment `json:"environment"`
	Approvals   int              `json:"approvals"`
}

// publishRequest publishes that a new snapshot needs approvals, if it does.
func (r *Releases) publishRequest(ctx context.Context, tx store.Tx, s *store.Snapshot) error {
	if r.publish == nil {
		return nil
	}
	var wanted []ApprovalsWanted
	for _, environment := range wire.Environments {
		body, err := tx.Releases.Gates(ctx, s.ProjectID, string(environment))
		if err != nil {
			return err
		}
		g, err := readGates(body, environment)
		if err != nil {
			return err
		}
		if g.Approvals > 0 {
			wanted = append(wanted, ApprovalsWanted{environment, g.Approvals})
		}
	}
	if len(wanted) == 0 {
		return nil
	}
	return r.publish(ctx, tx, rule.Event{
		ID: audit.NewID(), ProjectID: s.ProjectID, Type: rule.SnapshotApprovalRequested, Time: s.CreatedAt,
		Data: audit.JSON(ApprovalRequested{snapshotOf(*s, nil), wanted}),
	})
}
