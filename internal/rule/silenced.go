package rule

import (
	"fmt"
	"slices"
	"strings"
)

// MaxSilenced bounds how many rules, nodes and repositories a [Silenced] lists.
const MaxSilenced = 20

// Silenced summarizes the rules in force that a change of federation nodes ends, or narrows, at some node or for some repositories. Without
// the change they would hold there. A nil Silenced is none.
type Silenced struct {
	Total      int              `json:"total" doc:"Rules in force that end at some node or for some repositories, or hold there in fewer scopes."`
	BySeverity map[Severity]int `json:"by_severity" doc:"How many there are of each severity."`
	Guarded    int              `json:"guarded" doc:"How many of them need allow_weakening and a reason to end: enforced CRITICAL and HIGH rules."`
	Rules      []SilencedRule   `json:"rules" nullable:"false" doc:"The first 20: those that need allow_weakening, then the most severe."`
	NodesTotal int              `json:"nodes_total" doc:"Nodes at which some rule ends."`
	Nodes      []SilencedNode   `json:"nodes" nullable:"false" doc:"The first 20 of them, by path."`
	// Repositories are globs of repositories that have another node than before, or one for the first time.
	Repositories []string `json:"repositories" nullable:"false" doc:"The first 20 globs of repositories that lose rules because they have another node than before."`
}

// SilencedRule is a rule that ends somewhere.
type SilencedRule struct {
	RuleID    string   `json:"rule_id" doc:"The rule."`
	Slug      string   `json:"slug,omitempty" doc:"Its slug."`
	Statement string   `json:"statement" doc:"Its statement."`
	Severity  Severity `json:"severity" enum:"LOW,MEDIUM,HIGH,CRITICAL" doc:"How much a violation matters."`
	Guarded   bool     `json:"guarded" doc:"Whether it needs allow_weakening and a reason to end."`
	Scope     []string `json:"scope,omitempty" doc:"The scopes in which it still holds at the place; absent if it does not."`
	At        string   `json:"at" doc:"One of the places where it ends: the path of a node, or a glob of repositories."`
}

// Label returns the slug of the rule, or its id if it has none.
func (r *SilencedRule) Label() string {
	if r.Slug != "" {
		return r.Slug
	}
	return r.RuleID
}

// SilencedNode is a node at which rules end.
type SilencedNode struct {
	NodeID string `json:"node_id" doc:"The node."`
	Path   string `json:"path" doc:"Names of the nodes on the way to it and its own, joined by /."`
}

// maxNames bounds the names in the sentence of a [Silenced].
const maxNames = 3

// String returns the summary as a sentence, such as "181 rules in force no longer apply to acme/**: 12 HIGH, 169 MEDIUM, for example
// LOG-001".
func (s *Silenced) String() string {
	noun, verb := "rules", "apply"
	if s.Total == 1 {
		noun, verb = "rule", "applies"
	}
	var by []string
	for _, severity := range slices.Backward(Severities) {
		if n := s.BySeverity[severity]; n > 0 {
			by = append(by, fmt.Sprintf("%d %s", n, severity))
		}
	}
	names := make([]string, 0, maxNames)
	for i := range s.Rules[:min(len(s.Rules), maxNames)] {
		names = append(names, s.Rules[i].Label())
	}
	eg := "for example "
	if s.Total <= maxNames {
		eg = ""
	}
	return fmt.Sprintf("%d %s in force no longer %s to %s: %s, %s%s", s.Total, noun, verb, s.places(), strings.Join(by, ", "), eg, strings.Join(names, ", "))
}

// places names the repositories and nodes.
func (s *Silenced) places() string {
	list := slices.Clone(s.Repositories)
	for _, n := range s.Nodes {
		list = append(list, "node "+n.Path)
	}
	total := len(s.Repositories) + s.NodesTotal
	if total > maxNames+1 {
		return fmt.Sprintf("%s and %d more places", strings.Join(list[:maxNames], ", "), total-maxNames)
	}
	return strings.Join(list, ", ")
}
