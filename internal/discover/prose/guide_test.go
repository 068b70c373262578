package prose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"tenet/internal/discover/prose"
)

// Duties that a lead, capitals, a condition or a clause behind another gives.
func TestDutiesOfGuides(t *testing.T) {
	guide := "# Parcels\n\nEvery parcel should have a label. Labels should be dry. Shelves should be swept.\n\n"
	for text, want := range map[string][]string{
		"All guests will:\n\n- Lock the gate\n- Not feed the geese\n": {"3 MUST All guests will lock the gate", "4 MUST_NOT All guests will not feed the geese"},
		"A good fence will:\n\n- Save you time\n":                     {"3 MUST Save you time"},
		"We should not do the following in the cellar:\n\n- Lighting fires\n- Any cooking\n": {
			"3 SHOULD We should not do the following in the cellar: Lighting fires", "4 SHOULD We should not do the following in the cellar: Any cooking",
		},
		"## Changelog\n\nA changelog SHOULD be in each box. It was begun in May.\n": {"3 SHOULD A changelog SHOULD be in each box."},
		"## Changelog\n\nA changelog should be in each box.\n":                      nil,
		"It is crucial to lock the gate.":                                           {"1 SHOULD It is crucial to lock the gate."},
		"It is not essential to lock the gate.":                                     nil,
		"All sheds, whoever built them, should look like a single hand made them.":  {"1 SHOULD All sheds, whoever built them, should look like a single hand made them."},
		"We may close only if all guests have left.":                                {"1 MUST We may close only if all guests have left."},
		"Unless stated otherwise, we follow the rules of the guild.":                {"1 MUST Unless stated otherwise, we follow the rules of the guild."},
		"Guests come and go; so make sure to count them.":                           {"1 MUST Guests come and go; so make sure to count them."},
		"Include the issue number in each letter.":                                  {"1 MUST Include the issue number in each letter."},
		"If it burns twice, involve someone else.":                                  {"1 MUST If it burns twice, involve someone else."},
	} {
		if got := said(text, prose.Policy); !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"If a parcel leaks, use the tray.":                                 "If a parcel leaks, use the tray.",
		"If you want to see more, use the lamp.":                           "",
		"Only the keeper can open the vault.":                              "Only the keeper can open the vault.",
		"If you like to stay with tools only the keeper has, it can wait.": "",
		"Use the tray.": "",
	} {
		got := said(guide+text, prose.Document)
		if len(got) < 3 || want == "" && len(got) != 3 || want != "" && !strings.HasSuffix(got[len(got)-1], want) {
			t.Errorf("%q: got %q", text, got)
		}
	}
	manual := "# Parcels\n\nEvery parcel should have a label. Labels should be dry. Shelves should be swept.\n\n" + strings.Repeat("The shelf is old. It came by train. ", 8)
	if got := said(manual+"If a parcel leaks, use the tray.", prose.Document); len(got) != 3 {
		t.Errorf("a step of a manual: %q", got)
	}
}

// A list of orders, one of which forbids or prefers, is of rules in a document that often advises; a list of steps is not.
func TestListsOfGuides(t *testing.T) {
	guide := "# Parcels\n\nEvery parcel should have a label. Labels should be dry. Shelves should be swept.\n\n"
	if got := said(guide+"- Wipe the tray\n- Do not stack glass\n- Turn the key twice\n", prose.Document); len(got) != 6 {
		t.Errorf("a list of rules: %q", got)
	}
	if got := said(guide+"- Wipe the tray\n- Open the hatch\n- Turn the key twice\n", prose.Document); len(got) != 3 {
		t.Errorf("a list of steps: %q", got)
	}
	if got := said("# Parcels\n\nThe shelf is old.\n\n- Wipe the tray\n- Do not stack glass\n- Turn the key twice\n\n"+"The rail is new. It came by train. The lamp is red.", prose.Document); len(got) > 1 {
		t.Errorf("a document that never advises: %q", got)
	}
}

// said lists what is found in a text: line, modality and statement.
func said(text string, g prose.Genre) (got []string) {
	for _, n := range find(text, g) {
		got = append(got, fmt.Sprint(n.Line, " ", n.Modality, " ", n.Statement))
	}
	return got
}
