package judge

import (
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"strings"
	"testing"

	"tenet/internal/rule"
)

// FuzzParseAnswer asserts what must hold for any answer: a rule has an entry or a fault, and an entry is complete.
func FuzzParseAnswer(f *testing.F) {
	good := `{"rule_ref":"R1","evidence":[{"quote":"q","file":"f"}],"absence":"","reasoning":"because of it","issue":"i","fix":"f","verdict":"DENY"}`
	for _, s := range []string{
		`{"verdicts":[` + good + `]}`, `{"verdicts":[` + good + `,` + good + `]}`, `{"verdicts":[{"rule_ref":"R1","verdict":"ALLOW","reasoning":"looked at it"}`,
		`{"verdicts":[]}`, `{"verdicts":[{}]}`, "```json\n{}", `{"verdicts":[{"rule_ref":"R2","verdict":NaN}]}`, `[]`, ``, `{"verdicts":[{"a":"\"}"}]}`,
		`{"verdicts":[{"rule_ref":"\u0052\u0031","verdict":"ALLOW","reasoning":"looked at it"}]}`,
	} {
		f.Add(s, 3)
	}
	f.Fuzz(func(t *testing.T, text string, n int) {
		n = min(max(n, 0), 20)
		answers, faults := parseAnswer(text, n)
		if len(answers) != n || len(faults) != n {
			t.Fatalf("%d answers, %d faults for %d rules", len(answers), len(faults), n)
		}
		for i, a := range answers {
			if (a == nil) == (faults[i] == "") {
				t.Fatalf("rule %d has answer %v and fault %q", i, a, faults[i])
			}
			if a == nil {
				continue
			}
			if a.Ref != ref(i) || a.Reasoning == "" || len(text) > maxAnswer {
				t.Fatalf("rule %d has %+v", i, a)
			}
			switch a.Verdict {
			case rule.Allow, rule.NeedsConfirmation:
			case rule.Deny:
				if len(a.Evidence) == 0 && a.Absence == "" {
					t.Fatalf("rule %d denies without evidence", i)
				}
			default:
				t.Fatalf("rule %d has the verdict %q", i, a.Verdict)
			}
			if !strings.HasPrefix(strings.TrimSpace(text), "{") {
				t.Fatalf("accepted %q", text)
			}
		}
	})
}

// TestAnEntryThatContradictsItselfIsUnusable has entries that allow in one place and do not in another.
func TestAnEntryThatContradictsItselfIsUnusable(t *testing.T) {
	entry := func(verdict, more string) string {
		return `{"verdicts":[{"rule_ref":"R1","reasoning":"because of it",` + more + verdict + `}]}`
	}
	const allow, quote = `"verdict":"ALLOW"`, `"evidence":[{"quote":"rm -rf","file":""}],`
	for _, c := range []struct {
		text, fault string
	}{
		{entry(`"verdict":"ALLOW","Verdict":"DENY"`, ""), "not what was asked for"},
		{entry(`"VERDICT":"DENY","verdict":"ALLOW"`, ""), "not what was asked for"},
		{entry(allow, `"Rule_Ref":"R2",`), "not what was asked for"},
		{entry(allow, quote+`"issue":"It deletes everything.",`), "objects"},
		{entry(allow, `"absence":"a test","issue":"It brings no test.",`), "objects"},
		{entry(allow, quote+`"issue":"No issue found.",`), ""},
		{entry(allow, quote+`"issue":"none",`), ""},
		{entry(allow, quote), ""},
		{entry(`"verdict":"NEEDS_CONFIRMATION"`, quote+`"issue":"It deletes everything.",`), ""},
	} {
		answers, faults := parseAnswer(c.text, 1)
		if (answers[0] == nil) != (c.fault != "") || !strings.Contains(faults[0], c.fault) {
			t.Errorf("%s: %+v, fault %q, want %q", c.text, answers[0], faults[0], c.fault)
		}
	}
}

// TestPromptsOfAVersionNeverChange holds the content of every released prompt version. To change a prompt, copy the
// folder, raise PromptVersion, and add the new hash; verdicts are kept and replayed by version.
func TestPromptsOfAVersionNeverChange(t *testing.T) {
	want := map[string]string{
		"v1":        "b5c85fa459a1bef295f8511b3fd930612be545ba75c2f015f5920901301f68e7",
		"v2":        "1c567956b6d2e98700e3f5c46f5618834b729eaff201c037ca2f344287c085af",
		"v3":        "815caabb6f337b6ab935733c9aed029e9328af5c7f0fa2af7322f9157b3acc08",
		"v4":        "c39868efc4918763d8bb40f4b3c51217b28500f50bd1b37336d28f871c08445b",
		"small-v1":  "1be6ad6ee9b5df3a8ffcc6769340d070b1bf4071574ed4a747f2275a3fb7723d",
		"triage-v1": "97bf0694aff9530fafd395166c57a3c2f6c9398ee21aa015726f186d61141d07",
	}
	folders, err := fs.ReadDir(prompts, "prompts")
	if err != nil {
		t.Fatal(err)
	}
	for _, folder := range folders {
		sum := sha256.New()
		err := fs.WalkDir(prompts, "prompts/"+folder.Name(), func(path string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() {
				return err
			}
			b, err := fs.ReadFile(prompts, path)
			sum.Write([]byte(path))
			sum.Write(b)
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(sum.Sum(nil)); got != want[folder.Name()] {
			t.Errorf("the prompts of %s have the hash %s, want %s", folder.Name(), got, want[folder.Name()])
		}
	}
	if _, ok := want[PromptVersion]; !ok {
		t.Errorf("there is no hash for %s", PromptVersion)
	}
}

// TestTheSystemTextIsShort keeps what every call pays for in bounds: 150 tokens per rule of a full batch, of which the
// rule itself needs a good part.
func TestTheSystemTextIsShort(t *testing.T) {
	if n := len(systemText); n > 1560 {
		t.Errorf("the system text has %d bytes", n)
	}
}

// A MUST_NOT rule whose statement forbids in its own words reaches the model as one prohibition, not two; one that names the forbidden act
// keeps MUST_NOT.
func TestProhibitionsReachTheModelOnce(t *testing.T) {
	for statement, want := range map[string]string{
		"Keys must not be logged.":          `{"rule_ref":"R1","MUST":"Keys must not be logged."}`,
		"Log keys.":                         `{"rule_ref":"R1","MUST_NOT":"Log keys."}`,
		"Log keys that must not be shared.": `{"rule_ref":"R1","MUST_NOT":"Log keys that must not be shared."}`,
	} {
		if got := ruleLine(ref(0), rule.MustNot, statement, ruleRest{}); got != want {
			t.Errorf("the model sees %s, want %s", got, want)
		}
	}
}
