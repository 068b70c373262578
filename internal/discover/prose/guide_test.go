package prose_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/blocks"
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
		"## References\n\nA reference SHOULD be in each box. It must be dry.\n":    {"3 SHOULD A reference SHOULD be in each box."},
		"## Changelog\n\nA changelog should be in each box.\n":                     nil,
		"It is crucial to lock the gate.":                                          {"1 SHOULD It is crucial to lock the gate."},
		"It is not essential to lock the gate.":                                    nil,
		"All sheds, whoever built them, should look like a single hand made them.": {"1 SHOULD All sheds, whoever built them, should look like a single hand made them."},
		"We may close only if all guests have left.":                               {"1 MUST We may close only if all guests have left."},
		"Unless stated otherwise, we follow the rules of the guild.":               {"1 MUST Unless stated otherwise, we follow the rules of the guild."},
		"Guests come and go; so make sure to count them.":                          {"1 MUST Guests come and go; so make sure to count them."},
		"Include the issue number in each letter.":                                 {"1 MUST Include the issue number in each letter."},
		"If it burns twice, involve someone else.":                                 {"1 MUST If it burns twice, involve someone else."},
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

// Below headings that announce no rules only a sentence that binds in capitals is one: no text of law, which is in capitals throughout, no
// sentence beside it, and nothing that tells of licences and changes. Nor is what explains the capitals.
func TestCapitalsBelowSilentHeadings(t *testing.T) {
	for text, want := range map[string][]string{
		"## License\n\nIN NO EVENT SHALL THE KEEPERS OR HOLDERS BE LIABLE FOR ANY CLAIM. You should have received a copy.":   nil,
		"## 9. Licence:\n\nEach guest MUST be given a copy.":                                                                 nil,
		"## Resources\n\nIN NO EVENT SHALL THE KEEPERS OR HOLDERS BE LIABLE FOR ANY CLAIM. You should have received a copy.": nil,
		"## Resources\n\nYou should have received a copy.\nGuests MUST NOT lend it. It must be dry.":                         {"4 MUST_NOT Guests MUST NOT lend it."},
		"## Changelog\n\n- v2: you MUST upgrade the client before v3":                                                        nil,
		"## Release notes\n\n- v2: you MUST upgrade the client before v3":                                                    nil,
		"## Copyright\n\nAll copies MUST have this note.":                                                                    nil,
		"The key words MUST, MUST NOT, SHOULD and MAY in this text are to be interpreted as described in RFC 2119.":          nil,
		"The key words \"MUST\", \"SHALL NOT\" and \"MAY\" are to be interpreted as described in BCP 14.":                    nil,
		"The words `MUST` and `SHOULD` should be interpreted as below.":                                                      nil,
		"The keyword **MUST** must be understood as in RFC 2119.":                                                            nil,
		"MUST, SHOULD and MAY must be read as described in RFC 2119.":                                                        nil,
		"A text that follows RFC 2119 MUST name it.":                                                                         {"1 MUST A text that follows RFC 2119 MUST name it."},
		"Terms MUST be kept as defined in the list.":                                                                         {"1 MUST Terms MUST be kept as defined in the list."},
	} {
		for _, g := range []prose.Genre{prose.Document, prose.Policy, prose.Instructions} {
			if got := said(text, g); !slices.Equal(got, want) {
				t.Errorf("%q in genre %d:\n got %q\nwant %q", text, g, got, want)
			}
		}
	}
}

// Steps are no rules, even where one says what not to do, which alone is read: they have numbers, or a heading about how something is done.
func TestStepsOfGuides(t *testing.T) {
	guide := "# Parcels\n\nEvery parcel should have a label. Labels should be dry. Shelves should be swept.\n\n"
	bullets := "- Open the lid\n- Fetch the tray\n- Do not close the window\n- Turn the key\n"
	for text, want := range map[string]int{
		"## Trays\n\n" + bullets: 4,
		"## Trays\n\n1. Open the lid\n2. Fetch the tray\n3. Do not close the window\n4. Turn the key\n":                        1,
		"## Trays\n\n1. The lamp\n\n   - Open the lid\n   - Fetch the tray\n   - Do not close the window\n   - Turn the key\n": 1,
		"## Install\n\n" + bullets:                  1,
		"## Building it\n\n### Trays\n\n" + bullets: 1,
		"## Overview\n\n" + bullets:                 1,
		"## Rules for the build\n\n" + bullets:      4,
	} {
		if got := said(guide+text, prose.Document); len(got) != 3+want {
			t.Errorf("%q: got %q", text, got)
		}
	}
	for tag, want := range map[string]int{"ol": 4, "ul": 7} {
		list, _, err := blocks.HTML("<h1>Parcels</h1><p>Every parcel should have a label. Labels should be dry. Shelves should be swept.</p><"+tag+
			"><li>Open the lid</li><li>Fetch the tray</li><li>Do not close the window</li><li>Turn the key</li></"+tag+">", blocks.Sentences)
		if err != nil {
			t.Fatal(err)
		}
		if got, _ := prose.Find(t.Context(), list, prose.Document); len(got) != want {
			t.Errorf("in %s: %+v", tag, got)
		}
	}
}

// An order that a condition makes a rule does not make one of what stands behind it for the reader's sake.
func TestAsidesBehindConditions(t *testing.T) {
	guide := "# Parcels\n\nEvery parcel should have a label. Labels should be dry. Shelves should be swept.\n\n"
	if got := said(guide+"If a parcel leaks, when it is wet, ask the keeper.", prose.Document); len(got) != 3 {
		t.Errorf("got %q", got)
	}
}

// All items of a long list are read alike, and each costs no more than in a short one.
func TestLongLists(t *testing.T) {
	guide := "# Parcels\n\nEvery parcel should have a label. Labels should be dry. Shelves should be swept.\n\n" + strings.Repeat("Trays should be flat. ", 50) + "\n\n"
	rules := guide + "- Do not stack glass\n" + strings.Repeat("- Wipe the tray\n", 299)
	if got := said(rules, prose.Document); len(got) != 353 {
		t.Errorf("of 300 rules and 53 others %d were found", len(got))
	}
	took := func(text string, g prose.Genre, n, times int) time.Duration {
		list := blocks.Markdown(guide+strings.Repeat(text, n), 1, blocks.Sentences)
		start := time.Now()
		for range times {
			prose.Find(t.Context(), list, g)
		}
		return time.Since(start)
	}
	for text, g := range map[string]prose.Genre{"- Wipe the tray\n": prose.Document, "- Report lost badges\n": prose.Policy, "- Yellow paper forms\n": prose.Policy} {
		// A machine that does other things makes a measurement longer, never shorter, so the shortest of several count.
		short, long := took(text, g, 50, 400), took(text, g, 20_000, 1)
		for round := 0; long > 4*short; round++ {
			if round == 20 {
				t.Fatalf("%q: 400 lists of 50 took %s, and one of 20,000 %s", text, short, long)
			}
			short, long = min(short, took(text, g, 50, 400)), min(long, took(text, g, 20_000, 1))
		}
	}
}

// said lists what is found in a text: line, modality and statement.
func said(text string, g prose.Genre) (got []string) {
	for _, n := range find(text, g) {
		got = append(got, fmt.Sprint(n.Line, " ", n.Modality, " ", n.Statement))
	}
	return got
}
