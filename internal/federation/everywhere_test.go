package federation_test

import (
	"strings"
	"testing"
	"time"

	"tenet/internal/federation"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// everywhere lists the rules that hold at a node because no node has them.
func (c *corpus) everywhere(t *testing.T, node string, at time.Time) string {
	t.Helper()
	set, ok := federation.Effective(c, node, at)
	if !ok {
		t.Fatalf("no node %s", node)
	}
	ids := make([]string, len(set.Everywhere))
	for i, r := range set.Everywhere {
		ids[i] = r.ID
	}
	return strings.Join(ids, " ")
}

func TestGuardedRulesOfNoNodeHoldAtEveryNode(t *testing.T) {
	c := newCorpus("critical", "high", "medium", "should", "may", "warn", "shadow", "draft", "later", "attached")
	c.rules["critical"].Severity, c.rules["medium"].Severity = rule.Critical, rule.Medium
	c.rules["should"].Modality, c.rules["may"].Modality = rule.Should, rule.May
	c.rules["warn"].Enforcement, c.rules["shadow"].Enforcement = rule.Warn, rule.Shadow
	c.rules["draft"].Status = rule.Draft
	evening := noon.Add(6 * time.Hour)
	c.rules["later"].EffectivePeriod.From = &evening
	c.node("org", "")
	c.node("team", "org")
	c.node("alone", "org", func(n *rule.Node) { n.OwnRulesOnly = true })
	c.node("repo", "alone")
	c.node("other", "")
	c.attach("team", "attached")
	for node, want := range map[string]string{"org": "critical high", "team": "critical high", "other": "critical high", "alone": "", "repo": ""} {
		if got := c.everywhere(t, node, noon); got != want {
			t.Errorf("at %s: %q, want %q", node, got, want)
		}
	}
	if got := c.everywhere(t, "org", evening); got != "critical high later" {
		t.Errorf("in the evening: %q", got)
	}
	if set, _ := federation.Effective(c, "org", noon); set.Holds(evening) {
		t.Error("the set does not end when a rule comes into force")
	}
	if set, _ := federation.Effective(c, "org", noon); len(set.Entries) != 0 {
		t.Errorf("the tree gives %v", set.Entries)
	}
	// A rule that a node has, in force or not, is that node's.
	c.attach("other", "high")
	if got := c.everywhere(t, "org", noon); got != "critical" {
		t.Errorf("with high attached elsewhere: %q", got)
	}
	c.tree = c.tree.Apply(nil, []store.AttachmentState{{Attachment: attachment("other", "high"), Removed: true}})
	if got := c.everywhere(t, "org", noon); got != "critical high" {
		t.Errorf("with high removed again: %q", got)
	}
}

func TestMayTake(t *testing.T) {
	c := newCorpus()
	for _, n := range [][3]string{{"org", "", "acme/**"}, {"team", "org", "acme/pay-*"}, {"repo", "team", ""}, {"x", "org", "*/twin"}, {"y", "org", "two/t*"}} {
		c.node(n[0], n[1], func(node *rule.Node) {
			if n[2] != "" {
				node.Repositories = []string{n[2]}
			}
		})
	}
	for _, tt := range []struct {
		repository, node string
		may              bool
	}{
		{"acme/pay-api", "team", true},
		{"acme/pay-api", "REPO", true},
		{"https://github.com/Acme/pay-api.git", "repo", true},
		{"acme/pay-api", "org", false},
		{"acme/pay-api", "x", false},
		{"https://github.com/Acme/pay-api.git", "x", false},
		{"acme/web", "team", true}, // below the organization
		{"elsewhere/web", "team", true},
		{"", "team", true},
		{"acme/pay-api", "gone", true}, // which others refuse
		{"two/twin", "x", true},
		{"two/twin", "y", true},
		{"two/twin", "team", false},
	} {
		err := c.tree.MayTake(tt.repository, tt.node)
		if (err == nil) != tt.may || (err != nil && rule.CodeOf(err) != rule.CodeConflict) {
			t.Errorf("%s to %s: %v", tt.repository, tt.node, err)
		}
	}
	err := c.tree.MayTake("two/twin", "team")
	if err == nil || !strings.Contains(err.Error(), "x (x) and to y (y)") {
		t.Errorf("the refusal names not both nodes: %v", err)
	}
}
