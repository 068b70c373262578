package main

import "testing"

// TestUnseenCommands keeps the rules from stopping fewer harmful commands, in any spelling, or more harmless ones than promised.
func TestUnseenCommands(t *testing.T) {
	rules, err := load()
	if err != nil {
		t.Fatal(err)
	}
	list, err := read("")
	if err != nil {
		t.Fatal(err)
	}
	var bad, forms, good tally
	for _, c := range list {
		if !c.stop {
			good.add(rules, c.text, false, true)
			continue
		}
		bad.add(rules, c.text, false, false)
		for _, form := range spellings(c.text) {
			forms.add(rules, form, false, false)
		}
	}
	if bad.all < 60 || bad.stopped*100 < bad.all*95 || forms.all < 600 || forms.stopped*100 < forms.all*95 {
		t.Errorf("%d of %d harmful commands are stopped, %d of %d respelt", bad.stopped, bad.all, forms.stopped, forms.all)
	}
	if good.all < 120 || good.stopped*100 > good.all*2 {
		t.Errorf("%d of %d harmless commands are stopped", good.stopped, good.all)
	}
}
