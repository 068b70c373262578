package search

import (
	"fmt"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

var today = time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)

// someNames are the names of a project with the rules SEC-003 and no-eval, and a few sources.
var someNames = corpusNames{
	rule: func(name string) (string, bool) {
		id, ok := map[string]string{"SEC-003": "id-3", "NO-EVAL": "id-1", "0198F0A2-7C3E-7B1A-9D1E-2F6B8C4D5E6F": "id-9"}[strings.ToUpper(name)]
		return id, ok
	},
	source: func(name string) bool {
		return map[string]bool{"gdpr": true, "cwe-95": true, "card handling policy": true, "https://example.com/policy": true, "iso 27001": true, "sec-003": true}[corpus.NormalSource(name)]
	},
}

func TestReadQuery(t *testing.T) {
	t.Parallel()
	for q, want := range map[string]string{
		"encrypt customer data":                  "words=encrypt customer data",
		`"customer data" keys`:                   `words="customer data" | words=keys`,
		"GDPR Art. 32":                           "citation=GDPR Art. 32",
		"gdpr art. 32 (1)":                       "citation=gdpr art. 32 (1)",
		"encryption GDPR Art. 32":                "words=encryption | citation=GDPR Art. 32",
		"Art. 32 GDPR":                           "citation=GDPR Art. 32",
		"§ 5.2":                                  "citation=§ 5.2",
		"§ 5.2 of the card handling policy":      "citation=card handling policy § 5.2",
		"rules that cite section 7":              "ignored=rules that | citation=section 7",
		"PCI DSS requirement 3.4":                "citation=PCI DSS requirement 3.4",
		"a section of the database":              "words=a section of the database",
		"see https://example.com/policy?a=1.":    "words=see | citation=https://example.com/policy?a=1",
		"cwe-95":                                 "citation=cwe-95",
		"ISO 27001 backups":                      "citation=ISO 27001 | words=backups",
		"SEC-003":                                "rule=SEC-003", // a source has the name, too: the rule goes first
		"sec-003 eval":                           "rule=sec-003 | words=eval",
		"0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f":   "rule=0198f0a2-7c3e-7b1a-9d1e-2f6b8c4d5e6f",
		"SEC-999":                                "words=SEC-999",
		"in force on 2025-03-01":                 "in_force=2025-03-01",
		"in force now":                           "in_force=2026-11-23",
		"rules currently in force":               "ignored=rules | in_force=2026-11-23",
		"retention in effect as of 1 March 2025": "words=retention | in_force=2025-03-01",
		"valid in June 2026":                     "in_force=2026-06",
		"2025-03-01":                             "in_force=2025-03-01",
		"before June 2026":                       "changed_before=2026-06",
		"logs before 2026":                       "words=logs | changed_before=2026",
		"changed since yesterday":                "changed_since=2026-11-22",
		"last updated after June 2026":           "changed_since=2026-07-01",
		"changed in May 2026":                    "changed_in=2026-05",
		"made before March 3rd, 2026":            "made_before=2026-03-03",
		"created on 2026-01-31":                  "made_in=2026-01-31",
		"in force on 2025-02-30":                 "words=in force on 2025-02-30", // there is no such day
		"enforce payments":                       "words=enforce payments",
		"keys, 2025-13-01":                       "words=keys, 2025-13-01",
		`words:"Art. 32" gdpr`:                   "words=Art. 32 | citation=gdpr",
		`cites:"the handbook" leave`:             "citation=the handbook | words=leave",
		"rule:sec-003":                           "rule=sec-003",
		"made-since:2026-05 in-force:2026-01-01": "made_since=2026-05 | in_force=2026-01-01",
		`"Art. 32"`:                              `words="Art. 32"`,

		"changed-in:2026 GDPR Art. 32 encryption NO-eval ": "changed_in=2026 | citation=GDPR Art. 32 | words=encryption | rule=NO-eval",

		"the rules": "words=the rules",
		"":          "",
		" , ":       "",
		"?!":        "words=?!",
	} {
		got, err := readQuery(q, today, someNames)
		if err != nil {
			t.Errorf("%q: %v", q, err)
			continue
		}
		var list []string
		for _, p := range got.pieces {
			list = append(list, fmt.Sprintf("%s=%s", p.kind, p.value))
		}
		if s := strings.Join(list, " | "); s != want {
			t.Errorf("%q is read as\n%s\nwant\n%s", q, s, want)
		}
		checkReading(t, q, &got)
	}
	for _, q := range []string{"in-force:soon", "rule:SEC-999", "changed-in:2026-13"} {
		if _, err := readQuery(q, today, someNames); rule.CodeOf(err) != rule.CodeInvalid || !strings.Contains(err.Error(), "search") {
			t.Errorf("%q: %v", q, err)
		}
	}
}

// checkReading checks that the pieces lie in the query, that nothing that counts is lost, and that each other reading leads to a query that is
// read so.
func checkReading(t *testing.T, q string, got *query) {
	t.Helper()
	at := 0
	for _, p := range got.pieces {
		if p.start < at || p.end <= p.start || p.end > len(q) {
			t.Fatalf("%q: pieces %+v", q, got.pieces)
		}
		if named.MatchString(q[at:p.start]) {
			t.Errorf("%q: %q is lost", q, q[at:p.start])
		}
		at = p.end
	}
	if named.MatchString(q[at:]) {
		t.Errorf("%q: %q is lost", q, q[at:])
	}
	for _, r := range got.reading() {
		if r.Says == "" || r.Text == "" {
			t.Errorf("%q: %+v", q, r)
		}
		for _, o := range r.Others {
			again, err := readQuery(o.Query, today, someNames)
			if err != nil {
				t.Errorf("%q with %q as %s is %q: %v", q, r.Text, o.Kind, o.Query, err)
				continue
			}
			found := o.Kind == wire.ReadIgnored
			for _, p := range again.pieces {
				found = found || p.kind == o.Kind
			}
			if !found {
				t.Errorf("%q with %q as %s is %q, which is read as %+v", q, r.Text, o.Kind, o.Query, again.pieces)
			}
		}
	}
}

func FuzzReadQuery(f *testing.F) {
	for _, seed := range []string{"GDPR Art. 32 before June 2026", `cites:"x" "y`, "§§ 1 (a)(b) in force on 31 December 9999", "rule:SEC-003 \u202e", "\xff in-force:2026", "«a» “b” of the card handling policy § 7"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, q string) {
		if !utf8.ValidString(q) {
			return
		}
		got, err := readQuery(q, today, someNames)
		if err == nil {
			at := 0
			for _, p := range got.pieces {
				if p.start < at || p.end <= p.start || p.end > len(q) {
					t.Fatalf("%q: pieces %+v", q, got.pieces)
				}
				at = p.end
			}
			got.reading()
		} else if rule.CodeOf(err) != rule.CodeInvalid {
			t.Fatal(err)
		}
	})
}
