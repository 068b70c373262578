package prose

import (
	"strings"

	"tenet/internal/blocks"
	"tenet/internal/rule"
)

// silentSections are headings of sections without rules.
var silentSections = []string{
	"definition", "glossary", "table of contents", "contents", "changelog", "references", "further reading", "see also",
	"resources", "related documents", "revision history", "version history", "acknowledg", "license", "licence",
}

// factualSections are headings of descriptions; only words that bind make a rule there.
var factualSections = []string{
	"command", "quick start", "quickstart", "usage", "installation", "installing", "setup", "getting started", "architecture", "overview", "structure",
	"layout", "quick reference", "background", "introduction", "features", "tech stack", "technology stack", "directory", "directories",
}

// silent reports whether the innermost heading announces no rules.
func silent(section []string) bool { return announced(section, silentSections) }

// factual reports whether the innermost heading announces facts.
func factual(section []string) bool {
	return announced(section, factualSections) && !announced(section, []string{"rule", "convention", "requirement", "guideline", "polic"})
}

func announced(section, list []string) bool {
	if len(section) == 0 {
		return false
	}
	last := strings.ToLower(section[len(section)-1])
	for _, s := range list {
		if strings.HasPrefix(last, s) || strings.Contains(last, " "+s) {
			return true
		}
	}
	return false
}

// gravest are words of a rule that nothing weighs more than.
var gravest = []string{"critical", "under no circumstances", "zero tolerance", "strictly prohibited", "strictly forbidden", "at all costs", "non-negotiable"}

// severity weighs a norm by its wording.
func severity(n *Norm, r reading) rule.Severity {
	if n.Modality == rule.Should || n.Modality == rule.May {
		return rule.Low
	}
	low := lower(n.Statement)
	for _, s := range gravest {
		if strings.Contains(low, s) {
			return rule.Critical
		}
	}
	if n.Modality == rule.MustNot && r.means == ByBinding || shouted(n.Quote) || announced(n.Section, []string{"critical", "security", "never"}) {
		return rule.High
	}
	for w := range strings.FieldsSeq(low) {
		if grave[strings.Trim(w, ".,;:()`\"'")] {
			return rule.High
		}
	}
	return rule.Medium
}

// shouted reports whether the words that bind are in capitals.
func shouted(s string) bool {
	for _, w := range []string{"MUST", "NEVER", "ALWAYS", "IMPORTANT", "DO NOT", "NOT ", "REQUIRED", "SHALL"} {
		if at := strings.Index(s, w); at >= 0 && (at == 0 || !blocks.WordByte(s[at-1])) && (at+len(w) == len(s) || !blocks.WordByte(s[at+len(w)])) {
			return true
		}
	}
	return false
}

// Tags returns labels for what the norm is about, by its words and its innermost heading.
func (n *Norm) Tags() []string {
	text := lower(n.Statement)
	if k := len(n.Section); k > 0 {
		text += " " + lower(n.Section[k-1])
	}
	seen := make([]bool, len(topics))
	for w := range strings.FieldsSeq(text) {
		w = strings.Trim(w, ".,;:()`\"'*!?")
		for i := range topics {
			if topics[i].words[w] {
				seen[i] = true
			}
		}
	}
	var out []string
	for i := range topics {
		if seen[i] {
			out = append(out, topics[i].tag)
		}
	}
	return out
}

// precision is the share of norms found by some means that are right, as measured; docs/discovery-quality.md says on what.
var precision = [byLast]float64{
	ByBinding: 0.97, ByRestraint: 0.92, ByAdvice: 0.95, ByNegation: 0.95, ByItem: 0.99, BySentence: 0.96, ByLead: 0.75, ByPractice: 0.94, ByPermission: 0.67,
}

// inDocuments is the same for texts that are not there to regulate, where must often says how something works.
const inDocuments = 0.79

// confidence returns the measured precision of some means in texts of a genre.
func confidence(m Means, g Genre) float64 {
	if g == Document {
		return inDocuments
	}
	return precision[m]
}
