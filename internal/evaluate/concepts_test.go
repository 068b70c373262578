package evaluate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"tenet/internal/corpus"
	"tenet/internal/diff"
	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/subject"
)

func added(path string, lines ...string) *subject.Subject {
	h := diff.Hunk{Lines: make([]diff.Line, len(lines))}
	for i, l := range lines {
		h.Lines[i] = diff.Line{Op: diff.OpAdd, Text: l}
	}
	return &subject.Subject{Files: []diff.File{{Path: path, Hunks: []diff.Hunk{h}}}}
}

func TestConceptsOf(t *testing.T) {
	for _, c := range []struct {
		path, line string
		want       []string
	}{
		{"a/Dockerfile", "", []string{"dockerfile docker container image", "blank empty line"}},
		{"a.py", "except:", []string{"python", "exception handler catch error handling", "colon annotation key"}},
		{"a.ts", "a === b", []string{"typescript", "strict equality comparison operator"}},
		{"a.ts", "x={}", []string{"typescript", "assignment variable", "empty object block braces"}},
		{"a.ts", "a ||= b", []string{"typescript", "logical boolean operator condition", "assignment variable"}},
		{"a.c", "parseTLSConfig", []string{"c language", "parse serialization deserialization data", "tls certificate verification encryption", "TLS", "configuration setting option", "Config"}},
		{"a.xyz", `"0.0.0.0"`, []string{"string literal quotes", "numeric number literal", "bind all interfaces address"}},
		{"a.xyz", "0755", []string{"numeric number literal", "octal number file permission mode"}},
		{"a.xyz", "été_" + strings.Repeat("n", 5000), nil},
	} {
		got := conceptsOf(added(c.path, c.line))
		got = slices.DeleteFunc(got, func(text string) bool { return text == "long line length" })
		for _, want := range c.want {
			if !slices.Contains(got, want) {
				t.Errorf("%s %q: %q has no %q", c.path, c.line, got, want)
			}
		}
		if c.path == "a.xyz" && len(got) != len(c.want) {
			t.Errorf("%q: %q, want %q", c.line, got, c.want)
		}
	}
	s := added("a.go", "if x {}")
	s.Files[0].Hunks[0].Lines[0].Op = diff.OpDelete
	if got := conceptsOf(s); len(got) != 1 {
		t.Errorf("removed lines: %q", got)
	}
	if n := len(conceptTable.texts); n > maxConcepts {
		t.Errorf("%d concepts, but room for %d", n, maxConcepts)
	}
	long := added("a.js", slices.Repeat([]string{"someHTTPServer1 = otherXMLParser2"}, 100_000)...)
	if got := conceptsOf(long); len(got) > maxRankedParts+maxConcepts {
		t.Errorf("%d texts of a long subject", len(got))
	}
}

// Of a line longer than the room for concepts, only the beginning is read.
func TestConceptsOfOneLongLine(t *testing.T) {
	const beginning = "someHTTPServer1 = "
	beyond := added("a.js", beginning+strings.Repeat("x", maxConceptBytes)+" catch(e) { parseTLSConfig(0755) }", "while (true) {}")
	if got := conceptsOf(beyond); !slices.Contains(got, "assignment variable") || slices.Contains(got, "TLS") || slices.Contains(got, "octal number file permission mode") {
		t.Errorf("%q", got)
	}
	acronym := added("a.js", "TLS"+strings.Repeat("x", 4*maxConceptBytes))
	for _, text := range conceptsOf(acronym) {
		if len(text) > maxConceptBytes {
			t.Errorf("a text of %d bytes is ranked by", len(text))
		}
	}
	c := concepts{room: maxConceptBytes}
	c.line(strings.Repeat("a", 10*maxConceptBytes))
	if c.room != 0 {
		t.Errorf("room is %d after a line that is longer", c.room)
	}
}

// A rule that has no word of a change is ranked by what the change does; words that both have count more.
func TestConceptsRank(t *testing.T) {
	state := func(id, statement string) store.RuleState {
		return store.RuleState{Rule: rule.Rule{ID: id, ProjectID: "default", Version: 1, Status: rule.Effective, Severity: rule.Medium, Modality: rule.Must, Statement: statement}}
	}
	view, err := corpus.New(1, []store.RuleState{
		state("r1", "Invoices must name a cost centre."), state("r3", "Error handlers must not swallow exceptions."), state("r2", "Travel needs an approval."), state("r4", "Stock is counted twice a year."),
	})
	if err != nil {
		t.Fatal(err)
	}
	few := 3
	first := func(s *subject.Subject) string {
		concepts := func() []string { return conceptsOf(s) }
		return view.Applicable(&corpus.Query{Now: time.Now(), AnyKind: true, AnyPath: true, Terms: termsOf(s), Concepts: concepts, Few: few})[0].Rule.ID
	}
	if got := first(added("a.js", "} catch (e) {}")); got != "r3" {
		t.Errorf("%s is first, not the rule about handlers", got)
	}
	if got := first(added("a.js", "invoices = cost_centre")); got != "r1" {
		t.Errorf("%s is first, not the rule about invoices", got)
	}
	few = 4
	if got := first(added("a.js", "} catch (e) {}")); got == "r3" {
		t.Errorf("concepts are read although all rules may be judged")
	}
}

func BenchmarkConcepts(b *testing.B) {
	s := added("a.go", slices.Repeat([]string{"\tif err := ledger.Post(ctx, account, amount); err != nil { return fmt.Errorf(\"post: %w\", err) }"}, 60)...)
	for b.Loop() {
		conceptsOf(s)
	}
}
