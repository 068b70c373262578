package prose_test

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/discover/prose"
)

// compare checks what is found in texts of a genre: lines, modalities and statements.
func compare(t *testing.T, g prose.Genre, tests map[string][]string) {
	t.Helper()
	for text, want := range tests {
		var got []string
		for _, n := range find(text, g) {
			got = append(got, fmt.Sprint(n.Line, " ", n.Modality, " ", n.Statement))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q:\n got %q\nwant %q", text, got, want)
		}
	}
}

// A text regulates, whatever its name, if most of its sentences are orders and some of them forbid or prefer, or if many say must or should. A
// manual does not.
func TestTextsThatRegulate(t *testing.T) {
	const rules = "# Yard\n\n- Shut the gates\n- Avoid the lawn\n- Never feed the dogs\n- Prefer the side door\n- Don't whistle\n- Keep the keys"
	compare(t, prose.Document, map[string][]string{
		rules: {
			"3 MUST Shut the gates", "4 SHOULD Avoid the lawn", "5 MUST_NOT Never feed the dogs", "6 SHOULD Prefer the side door", "7 MUST_NOT Don't whistle", "8 MUST Keep the keys",
		},
		"# Pump\n\n- Open the valve\n- Start the pump\n- Read the dial\n- Never touch the belt\n- Close the valve\n- Stop the pump\n- Turn the key": {"6 MUST_NOT Never touch the belt"},
		"# Pump\n\nGuests must sign. Keys must be kept. Gates must close. Dogs must rest. Parcels must wait. Carts must stop. Lamps must burn. Bells must ring.\n\n- Wear the badge": {
			"3 MUST Guests must sign.", "3 MUST Keys must be kept.", "3 MUST Gates must close.", "3 MUST Dogs must rest.", "3 MUST Parcels must wait.", "3 MUST Carts must stop.",
			"3 MUST Lamps must burn.", "3 MUST Bells must ring.", "5 MUST Wear the badge",
		},
		"# Pump\n\n## Best practices\n\n- Grease the belt\n\n### Winter\n\n- Drain the tank\n\n## Start\n\n- Turn the key": {"5 MUST Grease the belt", "9 MUST Drain the tank"},
		"# Pump\n\n## Conventional pumps\n\n- Grease the belt":                                                             nil,
	})
}

// A document that describes things is heeded where it says how they should be, if it often does: in a tenth of its sentences. What it says of
// what should happen, or asks, is no rule.
func TestDocumentsThatAdvise(t *testing.T) {
	const (
		advice = "# Mill\n\nThe wheel should turn slowly. You should see the sack now. The chute shouldn't be wet. The miller decides how many bags should be sewn. Sacks should never be dragged.\n"
		tale   = "\nThe mill grinds corn. It was built of stone. The river drives it. People like it. It has two floors. The roof is red. Many birds live there. " +
			"Its doors are blue. The yard is small. A road leads there. Corn comes by cart. Flour leaves by boat. The inn is near. The bell is old. Dogs sleep here. " +
			"Cats hunt there. Children play. The miller sings. The wind blows. The grass is long. The lake is deep. Boats are slow. The stones are worn. The sun sets. " +
			"The moon rises. Frogs croak. The cook bakes. The baker sells. The town eats. The year ends.\n"
	)
	want := []string{"3 SHOULD The wheel should turn slowly.", "3 SHOULD The chute shouldn't be wet.", "3 SHOULD Sacks should never be dragged."}
	compare(t, prose.Document, map[string][]string{advice: want, advice + tale + tale: nil, "# Mill\n\n## Usage\n\n" + advice[8:]: nil})
	compare(t, prose.Document, map[string][]string{
		"# Mill\n\n## Responsibilities\n\n- Sweep the floor\n\n## Parts\n\n- Sweep the floor": {"5 MUST Sweep the floor"},
	})
}

// Orders and demands together show that a text regulates, where it often forbids; a section of what is forbidden does so alone.
func TestTextsThatForbid(t *testing.T) {
	const text = "# Sheds\n\n- Sweep the floor\n- Oil the hinges; never force them\n- Never smoke\n- Avoid draughts\n- Don't whistle\n- Lamps must burn\n\n" +
		"Sheds are old. The floor is oak. The door is wide. A road leads there. Tools hang high. Boats are near. It is cool.\n"
	found := find(text, prose.Document)
	if len(found) != 7 || found[0].Statement != "Sweep the floor" {
		t.Errorf("found %+v", found)
	}
	compare(t, prose.Document, map[string][]string{
		"# Sheds\n\n- Sweep the floor\n\n## Common Mistakes and Forbidden Acts\n\n- Leaving lamps on": {"7 MUST_NOT Do not: Leaving lamps on"},
	})
	compare(t, prose.Instructions, map[string][]string{
		"Only the keeper may open it.\n\nEvery parcel requires a stamp.\n\nUpper shelves are reserved for glass.": {
			"1 MUST Only the keeper may open it.", "3 MUST Every parcel requires a stamp.", "5 MUST Upper shelves are reserved for glass.",
		},
	})
}

// What a text shows to type is no rule, however many orders it gives.
func TestManuals(t *testing.T) {
	text := "# Pump\n"
	for range 6 {
		text += "\nAlways open the valve:\n\n```\nvalve open\n```\n\nNever stop here.\n"
	}
	for _, n := range find(text+"\n- Turn the key\n", prose.Document) {
		if n.Statement == "Turn the key" {
			t.Errorf("found %+v", n)
		}
	}
}

// Boxes to tick say what is to be so, in rules; boxes of plans and what somebody declares do not.
func TestBoxes(t *testing.T) {
	compare(t, prose.Policy, map[string][]string{
		"# Gate checklist\n\n- [ ] Hinges are oiled\n- [x] Locks do not rattle\n- [ ] I have read this\n- Hinges are old": {
			"3 MUST Hinges are oiled", "4 MUST_NOT Locks do not rattle",
		},
		"# Gates\n\n## Roadmap\n\n- [ ] Hinges are oiled":           nil,
		"# Gates\n\nBefore closing time:\n\n- [ ] Hinges are oiled": {"5 MUST Before closing time: Hinges are oiled"},
	})
	compare(t, prose.Document, map[string][]string{"# Gates\n\n- [ ] Hinges are oiled": nil})
}

// A word in capitals before a rule says how much it binds, also in a heading.
func TestKeyWords(t *testing.T) {
	compare(t, prose.Document, map[string][]string{
		"## {MUST} close gates at night\n\nGates creak.":     {"1 MUST MUST close gates at night"},
		"## [SHOULD NOT] feed dogs":                          {"1 SHOULD SHOULD NOT feed dogs"},
		"## MUST\n\nGates creak.\n\n## MUSTER of the guards": nil,
	})
	compare(t, prose.Instructions, map[string][]string{
		"- FORBIDDEN: `gate --force`, whistles":                         {"1 MUST_NOT FORBIDDEN: `gate --force`, whistles"},
		"- **FORBIDDEN** `gate --force` at night":                       {"1 MUST_NOT FORBIDDEN: `gate --force` at night"},
		"- **REQUIRED**: badges":                                        {"1 MUST REQUIRED: badges"},
		"- Badges required for all guests":                              {"1 MUST Badges required for all guests"},
		"- All keys go in the safe":                                     {"1 MUST All keys go in the safe"},
		"- Some keys go in the safe":                                    nil,
		"- Every gate needs a bell":                                     {"1 MUST Every gate needs a bell"},
		"- One gate needs a bell":                                       nil,
		"## Don't oil the bell\n\n## Use oil\n\n## Prefer small keys\n": {"1 MUST_NOT Don't oil the bell", "5 SHOULD Prefer small keys"},
		"- Wrap heavy parcels in felt to prevent harm":                  {"1 MUST Wrap heavy parcels in felt to prevent harm"},
	})
}

// What a lead begins goes on in its items: what to avoid, who should act. Aims and questions are no rules.
func TestLeadsThatGoOn(t *testing.T) {
	compare(t, prose.Policy, map[string][]string{
		"# Yard\n\nAvoid parcels that are hard to carry:\n\n- Pianos in crates\n- Wet boxes of unknown weight": {
			"3 SHOULD Avoid parcels that are hard to carry", "5 SHOULD Avoid parcels that are hard to carry: Pianos in crates",
			"6 SHOULD Avoid parcels that are hard to carry: Wet boxes of unknown weight",
		},
		"# Yard\n\nWe use gates to:\n\n- keep the dogs\n- share the work": nil,
		"# Yard\n\nEvery parcel should answer:\n\n- **Who sent it?**\n- **Why?**": {
			"3 SHOULD Every parcel should answer: Who sent it?; Why?",
		},
		"# Yard\n\nYou should keep a gate which will allow you to:\n\n- let carts in\n- count the carts": {
			"3 SHOULD You should keep a gate which will allow you to: let carts in; count the carts",
		},
		"# Yard\n\nGuests:\n\n- Should wear a badge":                                    {"5 SHOULD Should wear a badge"},
		"# Yard\n\n- *Audit controls*\n  1. Gates must close.":                          {"4 MUST Gates must close."},
		"# Yard\n\n- [Open the yard](yard.md)\n- [Wear a badge](badge.md) at night":     {"4 MUST Wear a badge at night"},
		"# Yard\n\n[list the gates of the yard]\n\n[keep the gates]: https://yard.test": nil,
	})
	compare(t, prose.Instructions, map[string][]string{
		"- **Naming conventions**:\n  - Gates: `GATE-1`\n  - Keys: `key-1`":          {"2 MUST Gates: `GATE-1`", "3 MUST Keys: `key-1`"},
		"- **Purpose**: Count the carts, write them down":                            nil,
		"Use the side door for carts (not the gate itself):\n\n- Carts: `door 2`":    {"1 MUST Use the side door for carts (not the gate itself): Carts: `door 2`"},
		"# Compile definitions\n\nDo not edit the list.\n\n# Definitions\n\nDo not.": {"3 MUST_NOT Do not edit the list."},
	})
}

// A term and its definition are one statement.
func TestDefinitionLists(t *testing.T) {
	compare(t, prose.Policy, map[string][]string{
		"# Badges\n\nGuests\n: Wear a badge. Return it.\n: Must sign in\n\nLife\n: Minimum 90 days\n\nYard\n: A place for carts\n": {
			"3 MUST Guests: Wear a badge.", "4 MUST Return it.", "5 MUST Must sign in", "7 MUST Life: Minimum 90 days",
		},
	})
}
