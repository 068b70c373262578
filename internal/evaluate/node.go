package evaluate

import (
	"time"

	"tenet/internal/corpus"
	"tenet/internal/rule"
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

// place tells in an evaluation which node was applied and which node supplies each rule.
func (r *run) place(e *rule.Evaluation) {
	if r.within == nil {
		return
	}
	e.NodeID = r.within.NodeID
	for _, list := range [][]rule.RuleVerdict{e.RuleVerdicts, e.Violations, e.Warnings} {
		for i := range list {
			list[i].SourceNodeID = r.within.Source(list[i].RuleID)
		}
	}
}
