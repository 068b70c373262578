package prose_test

import (
	"fmt"
	"slices"
	"testing"

	"tenet/internal/discover/prose"
)

// Items get their force from headings, from leads above headings, from the items beside them, and from labels with bounds.
func TestForceOfLists(t *testing.T) {
	for text, want := range map[string][]string{
		"# Yard\n\n## Conduct\n\nThe following acts are prohibited:\n\n### In the yard\n\n- Feeding the dogs\n- Whistling\n\n### In the hall\n\n- Running\n\n## Hours\n\n- From nine to five": {
			"9 MUST_NOT The following acts are prohibited: Feeding the dogs", "10 MUST_NOT The following acts are prohibited: Whistling",
			"14 MUST_NOT The following acts are prohibited: Running",
		},
		"# Yard\n\nThe following acts are prohibited:\n\n## Dogs\n\n- Feeding the dogs\n\n## Colours\n\n- Blue for guests": {"7 MUST_NOT The following acts are prohibited: Feeding the dogs"},
		"# Yard\n\n## Acts\n\nThe following are prohibited:\n\n### Dogs\n\n- Feeding the dogs\n\n### Badge requirements\n\n- Photo of the last year": {
			"9 MUST_NOT The following are prohibited: Feeding the dogs", "13 MUST Badge requirements: Photo of the last year",
		},
		"# Prohibited practices\n\n## Keys\n\n- Lending keys to guests\n\n## Allowed\n\n- Copies for the office": {"5 MUST_NOT Do not: Lending keys to guests"},
		"# Badge requirements\n\n- Photo of the last year\n- Initials in capitals": {
			"3 MUST Badge requirements: Photo of the last year", "4 MUST Badge requirements: Initials in capitals",
		},
		"# Mandatory checks\n\n- Brakes before each shift\n- Oil once a week":         {"3 MUST Mandatory checks: Brakes before each shift", "4 MUST Mandatory checks: Oil once a week"},
		"# Recommended checks\n\n- Tyres of the trailer":                              {"3 SHOULD Recommended checks: Tyres of the trailer"},
		"# History\n\n- Brakes before each shift\n- Oil once a week":                  nil,
		"# Requirements\n\n- Python 3.12\n- `make`":                                   nil,
		"# Keys\n\n- **Expiry:** 90 days\n- **Colour:** blue":                         {"3 MUST Expiry: 90 days"},
		"# Duties\n\n- Retain slips for a year\n- Report lost badges\n- Secure doors": {"3 MUST Retain slips for a year", "4 MUST Report lost badges", "5 MUST Secure doors"},
		"# Parts\n\n- Report lost badges form\n- Yellow paper":                        nil,
		"# Gate\n\n- Photo check required\n- Cannot reuse old badges": {
			"3 MUST Photo check required", "4 MUST_NOT Cannot reuse old badges",
		},
		"# Clauses\n\n4.2 Quarantine the parcels of strangers.\n\n(b) Annotate each parcel with its owner.\n": {
			"3 MUST 4.2 Quarantine the parcels of strangers.", "5 MUST Annotate each parcel with its owner.",
		},
		"# Badges\n\nIdle badges will be revoked. Violations will be punished. The committee reviews all badges. The committee is old. Guests enjoy the yard.": {
			"3 MUST Idle badges will be revoked.", "3 MUST The committee reviews all badges.",
		},
		"# Roles\n\n- **Warden:** Reviews and approves new badges\n- **Guests:** Visitors of the yard": {"3 MUST Warden: Reviews and approves new badges"},
		"# Badges\n\n- Old badges: annual review\n- All visits logged and countersigned\n- Badges revoked within 3 days of departure\n- Badges made of paper": {
			"3 MUST Old badges: annual review", "4 MUST All visits logged and countersigned", "5 MUST Badges revoked within 3 days of departure",
		},
		"# Gates\n\nThe warden is kind. The director records visits of strangers. The director holds a key. For example, you could:\n\n- Feed the dogs\n- Whistle a song": {
			"3 MUST The director records visits of strangers.",
		},
		"# Purpose\n\n- Promote the art of gates":                                                            nil,
		"# Keys\n\nKeys must not be:\nLent to guests.\nStored in the yard.\nThe yard is large.":              {"3 MUST_NOT Keys must not be: Lent to guests.", "5 MUST_NOT Keys must not be stored in the yard."},
		"# Parcels\n\n- Up to 20 parcels a day\n- No parcel, other than those of guests, may be opened.":     {"3 MUST Up to 20 parcels a day", "4 MUST_NOT No parcel, other than those of guests, may be opened."},
		"# Checks\n\n- Regularly review the list of guests\n- Monitor the gates\n- Yellow forms":             {"3 MUST Regularly review the list of guests", "4 MUST Monitor the gates"},
		"# Role\n\nAdopt the persona of a gatekeeper. Play the role of a guard. Take the role of the judge.": nil,
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

// Any verb of English gives an order in a list, and no noun does.
func TestRareVerbs(t *testing.T) {
	for text, want := range map[string]bool{
		"- Reinstall the gate after each storm": true, "- Burnish all plates on Sunday": true, "- Uncouple trailers before the ramp": true,
		"- Peer review process": false, "- Certificate renewals of the yard": false, "- Cash, gifts and travel": false, "- Joyride runs on all machines": false,
	} {
		if found := find("# Work\n\n"+text, prose.Instructions); (len(found) == 1) != want {
			t.Errorf("%q: found %+v", text, found)
		}
	}
}
