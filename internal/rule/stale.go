package rule

import (
	"fmt"
	"slices"
	"strings"
)

// StaleWord is the answer of an edge whose bundle is too old.
type StaleWord string

// Values of [StaleWord].
const (
	StaleOpen    StaleWord = "open"    // it answers as ever, with a notice
	StaleConfirm StaleWord = "confirm" // the overall verdict is never ALLOW
	StaleClosed  StaleWord = "closed"  // the overall verdict is DENY
)

// staleWords are all values, the mildest first.
var staleWords = []StaleWord{StaleOpen, StaleConfirm, StaleClosed}

// StaleModes holds a word for each severity.
type StaleModes map[Severity]StaleWord

// DefaultStale holds the modes of an edge whose settings name none.
const DefaultStale = "CRITICAL=closed,HIGH=confirm,MEDIUM=confirm,LOW=open"

// ParseStale reads modes such as [DefaultStale]. One word sets all severities; those that are not named have confirm.
func ParseStale(s string) (StaleModes, error) {
	modes := StaleModes{}
	for _, severity := range Severities {
		modes[severity] = StaleConfirm
	}
	for part := range strings.SplitSeq(s, ",") {
		name, word, named := strings.Cut(strings.TrimSpace(part), "=")
		if !named {
			name, word = "", name
		}
		if !slices.Contains(staleWords, StaleWord(word)) {
			return nil, fmt.Errorf("%q is not open, confirm or closed", word)
		}
		if !named {
			for _, severity := range Severities {
				modes[severity] = StaleWord(word)
			}
			continue
		}
		severity, ok := Parse(name, Severities)
		if !ok {
			return nil, fmt.Errorf("%q is not a severity; use one of %s", name, Names(Severities))
		}
		modes[severity] = StaleWord(word)
	}
	return modes, nil
}

// Strictest returns the strictest word of all severities.
func (m StaleModes) Strictest() StaleWord {
	strictest := StaleOpen
	for _, word := range m {
		if slices.Index(staleWords, word) > slices.Index(staleWords, strictest) {
			strictest = word
		}
	}
	return strictest
}

// Demanding returns w, or the word of a fail mode if that is stricter.
func (w StaleWord) Demanding(f FailMode) StaleWord {
	demand := map[FailMode]StaleWord{FailOpen: StaleOpen, FailAsk: StaleConfirm, FailClosed: StaleClosed}[f]
	if slices.Index(staleWords, demand) > slices.Index(staleWords, w) {
		return demand
	}
	return w
}
