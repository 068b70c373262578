package evaluate

import (
	"time"

	"tenet/internal/corpus"
)

// withinNode is what holds at the federation node that a request names, or else at the one that its repository is bound to;
// nil where neither is. A node that is not there is not_found, a repository that is bound to two nodes alike a conflict: to
// take all rules, or none, in their place would be a guess.
func withinNode(view *corpus.View, nodeID, repository string, now time.Time) (*corpus.Within, error) {
	if nodeID == "" {
		bound, err := view.Federation().Bound(repository)
		if err != nil || bound == "" {
			return nil, err
		}
		nodeID = bound
	}
	return view.Within(nodeID, now)
}

// source is the node that supplies a rule; empty without a node in play.
func (r *run) source(ruleID string) string {
	if r.within == nil {
		return ""
	}
	return r.within.Source(ruleID)
}
