package rule

import (
	"slices"
	"strings"
)

// FailMode is the answer of hooks about a rule that Tenet could not judge.
type FailMode string

// Values of [FailMode].
const (
	FailClosed FailMode = "closed" // deny
	FailAsk    FailMode = "ask"    // leave the decision to the person
	FailOpen   FailMode = "open"   // allow, and say so
)

// FailModeWords lists all values of [FailMode] from the loosest to the strictest.
var FailModeWords = []FailMode{FailOpen, FailAsk, FailClosed}

// FailModes holds fail modes by the severity of the rule. In the settings of a hook a severity without one is closed; in the policy of a
// project it is left to the hook.
type FailModes map[Severity]FailMode

// ParseFailModes reads the setting of fail modes: one for all severities (ask), or one for each with commas between
// (CRITICAL=closed,HIGH=ask,MEDIUM=ask,LOW=open).
func ParseFailModes(s string) (FailModes, error) {
	modes := FailModes{}
	if mode, ok := Parse(strings.TrimSpace(s), FailModeWords); ok {
		for _, severity := range Severities {
			modes[severity] = mode
		}
		return modes, nil
	}
	for part := range strings.SplitSeq(s, ",") {
		name, value, _ := strings.Cut(part, "=")
		severity, isSeverity := Parse(strings.TrimSpace(name), Severities)
		mode, ok := Parse(strings.TrimSpace(value), FailModeWords)
		if !isSeverity || !ok {
			return nil, Errorf(CodeInvalid,
				"%q is no fail mode; use one of %s, or one for each severity such as CRITICAL=closed,HIGH=ask,MEDIUM=ask,LOW=open", s, Names(FailModeWords))
		}
		if _, twice := modes[severity]; twice {
			return nil, Errorf(CodeInvalid, "the fail mode of %s is given twice in %q", severity, s)
		}
		modes[severity] = mode
	}
	return modes, nil
}

// Of returns the fail mode of a severity: closed without one.
func (m FailModes) Of(s Severity) FailMode {
	if mode, ok := m[s]; ok {
		return mode
	}
	return FailClosed
}

// Strictest returns the strictest fail mode of any severity.
func (m FailModes) Strictest() FailMode {
	mode := FailOpen
	for _, s := range Severities {
		mode = mode.stricter(m.Of(s))
	}
	return mode
}

// Demanding returns fail modes that are nowhere looser than m, nor than what a policy demands of some severities.
func (m FailModes) Demanding(demands FailModes) FailModes {
	if len(demands) == 0 {
		return m
	}
	out := FailModes{}
	for _, s := range Severities {
		out[s] = m.Of(s)
		if demand, ok := demands[s]; ok {
			out[s] = out[s].stricter(demand)
		}
	}
	return out
}

// Shut reports whether a demand lets pass nothing that could not be judged, of some severity.
func (m FailModes) Shut() bool {
	for _, mode := range m {
		if mode != FailOpen {
			return true
		}
	}
	return false
}

// And returns the demands of two policies together: the stricter fail mode where both have one.
func (m FailModes) And(other FailModes) FailModes {
	var out FailModes
	for _, s := range Severities {
		mode, ok := m[s]
		if also, too := other[s]; too {
			if mode, ok = also, true; m[s] != "" {
				mode = also.stricter(m[s])
			}
		}
		if ok {
			if out == nil {
				out = FailModes{}
			}
			out[s] = mode
		}
	}
	return out
}

func (f FailMode) stricter(other FailMode) FailMode {
	if other.LooserThan(f) {
		return f
	}
	return other
}

// LooserThan reports whether f lets more pass than other. The empty word, of what is left to the hook, is looser than all.
func (f FailMode) LooserThan(other FailMode) bool {
	return slices.Index(FailModeWords, f) < slices.Index(FailModeWords, other)
}

// String writes fail modes as [ParseFailModes] reads them, the highest severity first.
func (m FailModes) String() string {
	var parts []string
	for _, s := range slices.Backward(Severities) {
		if mode, ok := m[s]; ok {
			parts = append(parts, string(s)+"="+string(mode))
		}
	}
	return strings.Join(parts, ",")
}
