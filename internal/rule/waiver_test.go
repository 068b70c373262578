package rule

import (
	"strings"
	"testing"
	"time"
)

func denial(by DecidedBy, places int, quote string) *RuleVerdict {
	v := &RuleVerdict{RuleID: "r", Verdict: Deny, DecidedBy: by, Evidence: []Evidence{{Kind: EvidenceQuote, Quote: quote, FilePath: "a.py"}}}
	for range places {
		v.Locations = append(v.Locations, Location{FilePath: "a.py", StartLine: 1, EndLine: 1, Snippet: quote})
	}
	return v
}

func TestAFingerprintStandsForAllThatIsCited(t *testing.T) {
	one := FingerprintOf(denial(ByModel, 1, "# see  eval(x)"), "h")
	if same := FingerprintOf(denial(ByModel, 1, "\t# see eval(x)"), "h"); one == "" || same != one {
		t.Errorf("other white space: %q and %q", one, same)
	}
	if other := FingerprintOf(denial(ByModel, 1, "# see\neval(x)"), "h"); other == one {
		t.Error("code has the fingerprint of a comment")
	}
	for _, test := range []struct {
		by     DecidedBy
		places int
		want   bool
	}{{ByModel, 19, true}, {ByModel, 20, false}, {ByCache, 20, false}, {ByCheck, 20, true}, {ByCheck, 49, true}, {ByCheck, 50, false}} {
		if got := FingerprintOf(denial(test.by, test.places, "eval(x)"), "h") != ""; got != test.want {
			t.Errorf("%s with %d places, of which more may not be listed: %v", test.by, test.places, got)
		}
	}
	if got := FingerprintOf(denial(ByCheck, 1, strings.Repeat("x", 300)), "h"); got != "" {
		t.Error("a quote that was cut has a fingerprint")
	}
}

func TestAWaiverOfACriticalRuleTakesTwoWhateverTheRuleIsNow(t *testing.T) {
	now := time.Now()
	for _, s := range []struct{ then, now Severity }{{Critical, Critical}, {High, Critical}, {Critical, High}} {
		w := Waiver{Severity: s.then, CreatedBy: "ann", ExpiresAt: now.Add(time.Hour)}
		if got := w.At(now, s.now); got != WaiverPending {
			t.Errorf("%v, by one person: %s", s, got)
		}
		if w.ApprovedAt, w.ApprovedBy = &now, "ann"; w.At(now, s.now) != WaiverPending {
			t.Errorf("%v, approved by who made it: %s", s, w.At(now, s.now))
		}
		if w.ApprovedBy = "bea"; w.At(now, s.now) != WaiverActive {
			t.Errorf("%v, by two: %s", s, w.At(now, s.now))
		}
	}
}
