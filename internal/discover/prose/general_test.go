package prose_test

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/discover/prose"
	"tenet/internal/rule"
)

// An item of a list keeps the words that lead to it, also of lists in lists, and a prohibition above a list holds for its items.
func TestLeads(t *testing.T) {
	for text, want := range map[string][]string{
		"Any new feature must:\n\n- be useful to many\n- have tests\n- not slow the start": {
			"3 MUST Any new feature must be useful to many", "4 MUST Any new feature must have tests", "5 MUST_NOT Any new feature must not slow the start",
		},
		"Every change must\n\n* be small\n* be tested": {"3 MUST Every change must be small", "4 MUST Every change must be tested"},
		"Staff must **not** use the van to:\n\n1. move house;\n2. carry pets.": {
			"3 MUST_NOT Staff must not use the van to move house", "4 MUST_NOT Staff must not use the van to carry pets.",
		},
		"Drivers must:\n\n- when parking:\n  - lock the doors\n  - never leave keys inside\n- keep a log": {
			"4 MUST Drivers must, when parking, lock the doors", "5 MUST_NOT Drivers must, when parking, never leave keys inside", "6 MUST Drivers must keep a log",
		},
		"Visitors must:\n\n- wear a badge\n- never take pictures of:\n  - screens\n  - doors": {
			"3 MUST Visitors must wear a badge", "4 MUST_NOT Visitors must never take pictures of: screens; doors",
		},
		"The following are prohibited:\n\n- Selling tickets\n- Any use of drones\n": {
			"3 MUST_NOT The following are prohibited: Selling tickets", "4 MUST_NOT The following are prohibited: Any use of drones",
		},
		"The following acts are strictly prohibited, at any hour:\n\nFeeding the bears.\n\nIntroduction of other animals.\n\nThe park opens at nine.\n": {
			"3 MUST_NOT The following acts are strictly prohibited, at any hour: Feeding the bears.",
			"5 MUST_NOT The following acts are strictly prohibited, at any hour: Introduction of other animals.",
		},
		"All guests shall be responsible for:\n\n- Timely payment;\n- Returning all keys.": {
			"3 MUST All guests shall be responsible for Timely payment", "4 MUST All guests shall be responsible for Returning all keys.",
		},
		"All carpenters will be:\n\n- Paid each week\n- Given gloves": {"3 MUST All carpenters will be paid each week", "4 MUST All carpenters will be given gloves"},
		"Guests should:\n- Use the side door\n- Avoid the garden":     {"2 SHOULD Guests should use the side door", "3 SHOULD Guests should avoid the garden"},
	} {
		var got []string
		for _, n := range find(text, prose.Policy) {
			got = append(got, fmt.Sprint(n.Line, " ", n.Modality, " ", n.Statement))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

// Policies speak in the third person, in the passive, and of duties by name.
func TestWordings(t *testing.T) {
	const no = rule.Modality("")
	for text, want := range map[string]rule.Modality{
		"Visitors should wear a badge at all times.":                             rule.Should,
		"Cleaning the vats is the responsibility of the night shift.":            rule.Must,
		"It is the responsibility of each driver to check the tyres.":            rule.Must,
		"Managers have a duty to answer within a day.":                           rule.Must,
		"It is the policy of the library to lend to anybody.":                    rule.Must,
		"Samples are to be kept cold.":                                           rule.Must,
		"Dogs are not to be left alone.":                                         rule.MustNot,
		"Tenants agree to pay in advance.":                                       rule.Must,
		"Tenants agree not to smoke indoors.":                                    rule.MustNot,
		"Volunteers may also not sign for parcels.":                              rule.MustNot,
		"Volunteers may open the till only if a manager is there.":               rule.Must,
		"Employees will wear helmets.":                                           rule.Must,
		"Employees will not lend their helmets.":                                 rule.MustNot,
		"All samples are labelled.":                                              rule.Must,
		"The vats are cleaned every night.":                                      rule.Must,
		"No employee may take samples home.":                                     rule.MustNot,
		"{{company}} demands that samples stay cold.":                            rule.Must,
		"Quarantine returned parcels.":                                           rule.Must,
		"If a guest is asked, the guest may not, by word or sign, claim a room.": rule.MustNot,

		"Entry is restricted to members.":                         rule.Must,
		"The club does not allow dogs.":                           rule.MustNot,
		"Volunteers are to report faults.":                        rule.Must,
		"Training is solely the responsibility of managers.":      rule.Must,
		"Samples are only kept in the cold room.":                 rule.Must,
		"In the lab, all waste is sorted.":                        rule.Must,
		"It's recommended to wear gloves.":                        rule.Should,
		"If a vat leaks, and the leak is small, close the valve.": rule.Must,
		"HR will inform the night shift.":                         rule.Must,
		"Human Resources will review the list.":                   rule.Must,
		"The owner of each vat reviews and approves the seals.":   rule.Must,
		"The manager informs HR of leaks.":                        rule.Must,
		"If a vat is full, then close the valve.":                 rule.Must,
		"If no valve fits, then you should use a clamp.":          rule.Should,
		"Staff bear the additional responsibility of cleaning.":   rule.Must,
		"Our shared responsibility is to keep the vats clean.":    rule.Must,
		"The warden's responsibilities include cleaning.":         rule.Must,
		"It is the brewer's responsibility to taste.":             rule.Must,
		"The brewery expects all employees to sign.":              rule.Should,
		"Words must be separated by a dash.":                      rule.Must,
		"- One sample per vat":                                    rule.Must,
		"Regardless of the hour, close the valve.":                rule.Must,
		"Fourth, keep the valve clean.":                           rule.Must,
		"Consider a second valve.":                                rule.Should,
		"Thoroughly self-check each valve.":                       rule.Must,

		"There is a misconception that vats must be round.":                    no,
		"Round vats are often preferred.":                                      no,
		"A leak of that kind should not happen.":                               no,
		"Keep in mind that vats are heavy.":                                    no,
		"- [Pull cords](#pull-cords)":                                          no,
		"Please include a stack trace.":                                        no,
		"If you find a bug, please open an issue.":                             no,
		"If you have an idea, tell us in the forum.":                           no,
		"Patches are welcome.":                                                 no,
		"Behave like a veteran plumber.":                                       no,
		"The dump leaves files that somebody must repair.":                     no,
		"The scope of this policy includes all who are responsible for a vat.": no,
		"A breach may lead to measures, up to and including dismissal.":        no,
		"It requires you to think that a vat is a vat.":                        no,
		"You will need to wait a moment.":                                      no,
		"No approval is required.":                                             no,
		"Please refer to the manual.":                                          no,
		"The purpose is to be clear.":                                          no,
		"Would you wear a badge?":                                              no,
		"It will inform the night shift.":                                      no,
		"The window manager will show the vats.":                               no,
		"Some vats require seals that nobody makes.":                           no,
		"Vats sometimes need to be moved.":                                     no,
		"This should make it easy to find them.":                               no,
		"They show a number, which means that the vat has to be round.":        no,
		"GET the list of vats.":                                                no,
		"For more about vats, check the manual.":                               no,
		"Use whatever clamp you like.":                                         no,
		"People may ignore the bell.":                                          no,
		"Two votes would be required to pass it.":                              no,
		"Pull cords (PCs) let you stop the belt.":                              no,
		"[Time sheets](x.md) provides a list.":                                 no,
		"There is a spare (kept in case it must be replaced).":                 no,
	} {
		found := find(text, prose.Policy)
		switch {
		case want == no && len(found) > 0:
			t.Errorf("%q: found %s %q (%s)", text, found[0].Modality, found[0].Statement, found[0].Method)
		case want != no && (len(found) != 1 || found[0].Modality != want):
			t.Errorf("%q: found %+v, want one norm, %s", text, found, want)
		}
	}
	if found := find("Visitors should wear a badge at all times.", prose.Document); len(found) != 1 {
		t.Errorf("in any document: found %+v", found)
	}
	if found := find("You should wear a badge.", prose.Document); len(found) != 0 {
		t.Errorf("advice of a manual: found %+v", found)
	}
}

// Blanks of a template are part of the statement, and a line that is broken by hand is one line.
func TestBlanks(t *testing.T) {
	found := find("Staff of <Your Company> must keep\\\nreceipts.", prose.Policy)
	if len(found) != 1 || found[0].Statement != "Staff of <Your Company> must keep receipts." {
		t.Errorf("found %+v", found)
	}
}

// The severity follows from what a rule is about and how it says so, and the reason is given where it is not as usual.
func TestReasons(t *testing.T) {
	for text, want := range map[string]string{
		"Helmets must be worn near hazardous vats.":        "HIGH Severity high: it is about safety (helmets).",
		"Invoices must be paid within a month.":            "HIGH Severity high: it is about money (invoices).",
		"The lease must comply with statutory limits.":     "HIGH Severity high: it is about the law (statutory).",
		"Passwords should be long.":                        "MEDIUM Severity medium: it advises about security and privacy (passwords).",
		"No visitor may touch explosive samples.":          "CRITICAL Severity critical: a breach can cost lives.",
		"Lines must have no trailing blanks.":              "LOW Severity low: it is about style (trailing).",
		"Parcels MUST be weighed.":                         "HIGH Severity high: its words are in capitals.",
		"Parcels must be weighed.":                         "MEDIUM ",
		"# Safety\n\nLadders must be held by a colleague.": "HIGH Severity high: its heading says so.",
		"Parcels must not be thrown.":                      "HIGH Severity high: it prohibits.",
		"It is critical: parcels must be weighed.":         "CRITICAL Severity critical: it says critical.",
	} {
		found := find(text, prose.Policy)
		if len(found) != 1 || string(found[0].Severity)+" "+found[0].Why() != want {
			t.Errorf("%q: found %+v, want %s", text, found, want)
		}
	}
}

// An item without a verb is a rule below a heading of rules, if it has a label, and nowhere else; conditions below a prohibition are part
// of it.
func TestLabelsAndConditions(t *testing.T) {
	for text, want := range map[string][]string{
		"# Conventions\n\n- **Naming**: short words in small letters\n- **Note**: this is a sentence.": {"3 Naming: short words in small letters"},
		"# Overview\n\n- **Naming**: short words in small letters":                                     nil,
		"Parcels must not be opened if any of the following is true:\n\n- it is wet\n- it is warm": {
			"1 Parcels must not be opened if any of the following is true: it is wet; it is warm",
		},
		"# Rules\n\n- Verify `gh` is available\n- Map the fields by running the tool\n- Suffix names with a dash": {
			"3 Verify `gh` is available", "4 Map the fields by running the tool", "5 Suffix names with a dash",
		},
		"# License agreements\n\n- Send them to the office": {"3 Send them to the office"},
		"# License\n\n- Send them to the office":            nil,
	} {
		var got []string
		for _, n := range find(text, prose.Instructions) {
			got = append(got, fmt.Sprint(n.Line, " ", n.Statement))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

// The confidence falls with signs of doubt.
func TestConfidence(t *testing.T) {
	confidence := func(text string, g prose.Genre) float64 {
		t.Helper()
		found := find(text, g)
		if len(found) != 1 {
			t.Fatalf("%q: found %+v", text, found)
		}
		return found[0].Confidence
	}
	sure := confidence("Every parcel must be weighed at the desk.", prose.Policy)
	for _, test := range []struct {
		text  string
		genre prose.Genre
	}{{"Every parcel must be weighed at the desk.", prose.Document}, {"Every parcel must be weighed at the desk.", prose.Remarks}, {"Must be weighed", prose.Policy}} {
		if got := confidence(test.text, test.genre); got >= sure {
			t.Errorf("%q: %.2f, and surely a rule %.2f", test.text, got, sure)
		}
	}
}

// What something only is, has or does is a rule in texts that regulate, and no more than a fact elsewhere.
func TestOnly(t *testing.T) {
	for _, text := range []string{
		"Keys are kept only in the safe.", "Parcels come from the depot only.", "Boxes contain only books.", "Garden tools only via the yard.",
	} {
		for _, g := range []prose.Genre{prose.Policy, prose.Instructions} {
			if found := find(text, g); len(found) != 1 || found[0].Modality != rule.Must || found[0].Means != prose.ByRestraint {
				t.Errorf("%v: %q: found %+v", g, text, found)
			}
		}
		if found := find(text, prose.Document); len(found) != 0 {
			t.Errorf("a document: %q: found %+v", text, found)
		}
	}
	for _, text := range []string{"The shop currently contains only books.", "If keys are kept only in the safe, all is well.", "This is done only in winter.", "The dog only barks."} {
		if found := find(text, prose.Policy); len(found) != 0 {
			t.Errorf("%q: found %+v", text, found)
		}
	}
}

// Among facts about a project an order counts where it says when it holds, or is a paragraph of words alone.
func TestOrdersAmongFacts(t *testing.T) {
	compare(t, prose.Instructions, map[string][]string{
		"# Yard\n\n## Overview\n\nShut each gate behind you.\n\nRun `gate --list` to see them.\n\n- Read the plan before moving a fence\n- Open the shed": {
			"5 MUST Shut each gate behind you.", "9 MUST Read the plan before moving a fence",
		},
		"# Yard\n\n## CRITICAL: gate commands\n\n- Use the brass key": {"5 MUST Use the brass key"},
		"# Yard\n\n- `gate open` (never `gate force`)\n- `gate list` shows `gates`\n- Build: `gate make` instead of `make`": {
			"3 MUST `gate open` (never `gate force`)", "5 MUST Build: `gate make` instead of `make`",
		},
		"# Yard\n\n- Shut the gate; the dog sleeps; no carts on the lawn; never whistle": {
			"3 MUST Shut the gate; the dog sleeps", "3 MUST_NOT No carts on the lawn", "3 MUST_NOT Never whistle",
		},
		"# Yard\n\nDeath is real — don't fudge the dice.\n\nThe yard API references gates only.\n\n## The API References Models\n\n- Never paint the gate\n\n## References\n\n- Never paint the gate": {
			"3 MUST_NOT Death is real — don't fudge the dice.", "9 MUST_NOT Never paint the gate",
		},
	})
}

// The sentences behind the first of an item that goes on with its lead speak about it.
func TestLaterSentencesOfItems(t *testing.T) {
	compare(t, prose.Policy, map[string][]string{
		"Staff must not use the van to:\n\n- carry pets. This does not hold for fish.\n- move house. The form is in the hall.": {
			"3 MUST_NOT Staff must not use the van to carry pets.", "4 MUST_NOT Staff must not use the van to move house.",
		},
		"# Gate checklist\n\n- [ ] Hinges are oiled. This is good for them.": {"3 MUST Hinges are oiled."},
		"Penalties can include:\n\n- Reprimand\n- Report to the board":       nil,
		"If it burns, page Fire Watch.\n\nIf you hear of a door that is not shut, address those who left it.": {
			"1 MUST If it burns, page Fire Watch.", "3 MUST If you hear of a door that is not shut, address those who left it.",
		},
	})
}

// Capitals, contrasts and leads in capitals give force to items that have no verb; what a program does automatically has none.
func TestForceWithoutVerbs(t *testing.T) {
	compare(t, prose.Instructions, map[string][]string{
		"# Yard\n\n## Architecture\n\n- NO gates without hinges\n- Sheds: ZERO open fires\n- no cellar\n- ALL sheds return their keys\n- Sheds for tools, NOT carts\n- One lamp per shed": {
			"5 MUST_NOT NO gates without hinges", "6 MUST_NOT Sheds: ZERO open fires", "8 MUST ALL sheds return their keys", "9 MUST Sheds for tools, NOT carts", "10 MUST One lamp per shed",
		},
		"Patterns (BANNED):\n\n- Nested gates":                      {"3 MUST_NOT Patterns (BANNED): Nested gates"},
		"Pre-paint requirements:\n\n- `gate test` passes":           {"3 MUST Pre-paint requirements: `gate test` passes"},
		"# Yard\n\n- Sheds hold tools only where the roof is sound": {"3 MUST Sheds hold tools only where the roof is sound"},
	})
	compare(t, prose.Policy, map[string][]string{
		"Dogs bark at night, so shut the kennel.\n\nMisuse includes any loud whistle.\n\nAll lamps are automatically lit.\n\nCan guests see all signs? (Visible)": {"1 MUST Dogs bark at night, so shut the kennel."},
		"The club will not tolerate misuse.\n\nKeys must be kept. Except on notice to the chair, no guest may stay.": {
			"1 MUST_NOT The club will not tolerate misuse.", "3 MUST Keys must be kept.", "3 MUST_NOT Except on notice to the chair, no guest may stay.",
		},
		"# Gate checklist\n\n- [ ] Hinges checked": {"3 MUST Hinges checked"},
	})
}
