package rule

import (
	"strings"
	"testing"
)

func TestWhoAskedInThePolicy(t *testing.T) {
	list, err := ParseCacheFacts(" Agent, person agent")
	if err != nil {
		t.Fatal(err)
	}
	p := ProjectPolicy{CacheBy: list}
	p.Normalize()
	if got := CacheFactsText(p.CacheBy); got != "person,agent" {
		t.Errorf("normalized: %s", got)
	}
	stored, err := p.Stored()
	if back := ReadPolicy([]byte(stored)); err != nil || back.Unreadable || CacheFactsText(back.CacheBy) != "person,agent" {
		t.Errorf("%s is read as %+v, %v", stored, back, err)
	}
	if _, err := ParseCacheFacts("person, place"); err == nil || !strings.Contains(err.Error(), "place") {
		t.Errorf("an unknown fact: %v", err)
	}
	wrong := ProjectPolicy{CacheBy: []CacheFact{"place"}}
	if err := wrong.Validate(); err == nil || !strings.Contains(err.Error(), "cache_by") {
		t.Errorf("a policy with an unknown fact: %v", err)
	}
	if ways := (&ProjectPolicy{CacheBy: []CacheFact{CacheByPerson}}).Loosens(&p); len(ways) != 1 || ways[0] != "cache_by without agent" {
		t.Errorf("loosened: %q", ways)
	}
	seen := map[string]string{}
	for name, id := range map[string]Identity{
		"ann by codex": {Person: "ann", Agent: "codex"}, "bo by codex": {Person: "bo", Agent: "codex"}, "ann by cursor": {Person: "ann", Agent: "cursor"},
		"ann as claimed": {Person: "ann", Agent: "codex", Claimed: []string{"person"}}, "nobody": {},
	} {
		key := p.CachedFor("key:ci", id)
		if other, taken := seen[key]; taken {
			t.Errorf("%s has the verdicts of %s", name, other)
		}
		seen[key] = name
	}
	if p.CachedFor("key:ci", Identity{Person: "Ann", Agent: "codex", Session: "s"}) != p.CachedFor("key:other", Identity{Person: "ann", Agent: "Codex"}) {
		t.Error("what the policy does not name keeps verdicts apart")
	}
	if (&ProjectPolicy{}).CachedFor("key:ci", Identity{Person: "ann"}) != "" {
		t.Error("without the policy, verdicts are not shared")
	}
}
