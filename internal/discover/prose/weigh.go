package prose

import (
	"slices"
	"strings"
	"unicode"

	"tenet/internal/blocks"
	"tenet/internal/rule"
	"tenet/internal/text"
)

// silentSections are headings of sections without rules.
var silentSections = []string{
	"definition", "glossary", "table of contents", "contents", "changelog", "references", "further reading", "see also",
	"related documents", "revision history", "version history", "acknowledg",
}

// silentTitles are such headings only where they say nothing else.
var silentTitles = text.Words("license licence licensing resources copyright links")

// factualSections are headings of descriptions; only words that bind make a rule there.
var factualSections = []string{
	"command", "quick start", "quickstart", "usage", "installation", "installing", "setup", "getting started", "architecture", "overview", "structure",
	"layout", "quick reference", "background", "introduction", "features", "tech stack", "technology stack", "directory", "directories",
	"purpose", "mission", "vision",
}

// regulating are words of headings that announce rules, even where others announce facts.
var regulating = []string{"rule", "convention", "requirement", "guideline", "polic", "critical", "important", "mandatory"}

// asideSections are headings of advice to people who report or ask something.
var asideSections = []string{
	"bug report", "report a bug", "reporting a bug", "reporting bugs", "report bugs", "found a bug", "find a bug", "issues", "reporting an issue", "reporting issues", "question",
	"getting help", "get help", "need help", "feature request", "feedback", "suggestion", "stay in touch",
}

// ruleSections are headings of rules, below which an item without a verb is one, too.
var ruleSections = []string{"rule", "convention", "standard", "guideline", "code style", "coding style", "style guide", "style", "requirement", "best practice", "idiom"}

// namingLeads are leads to lists of how things are named or written.
var namingLeads = []string{"naming", "convention", "code style", "coding style", "format"}

// sealedSections are headings of texts of law and of what has changed: whatever they say in capitals is no rule of the text.
var sealedSections = []string{"license", "licence", "licensing", "copyright", "changelog", "release notes", "version history", "revision history"}

// silent reports whether the innermost heading announces no rules.
func silent(section []string) bool {
	if len(section) == 0 {
		return false
	}
	last := section[len(section)-1]
	title := strings.Trim(lower(unnumbered(last)), " .:*_")
	return ending(last, silentSections) && !acted(last) || silentTitles[title] || title == "release notes"
}

// sealed reports whether the innermost heading announces no rules, not even such as say so in capitals.
func sealed(section []string) bool {
	return silent(section) && ending(section[len(section)-1], sealedSections)
}

// ending reports whether one of the list begins or ends a heading: "External references", and not "The API references models only".
func ending(heading string, list []string) bool {
	heading = strings.Trim(lower(unnumbered(heading)), " .:*_")
	return slices.ContainsFunc(list, func(s string) bool {
		at := strings.LastIndex(heading, s)
		return strings.HasPrefix(heading, s) || at > 0 && heading[at-1] == ' ' && !strings.Contains(heading[at:], " ")
	})
}

// acted reports whether a heading says what to do, so that it announces nothing: "Compile definitions".
func acted(heading string) bool {
	t := tokenize(unnumbered(heading))
	return len(t) > 1 && verbs[t[0].low] && !noun(t[0].low)
}

// factual reports whether the innermost heading announces facts.
func factual(section []string) bool {
	if n := len(section); n > 0 && strings.HasSuffix(strings.ToLower(section[n-1]), " usage") { // "E-mail usage" regulates
		return false
	}
	return announced(section, factualSections) && !announced(section, regulating)
}

func announced(section, list []string) bool {
	if len(section) == 0 {
		return false
	}
	last := strings.ToLower(section[len(section)-1])
	for _, s := range list {
		for from := 0; from < len(last); {
			at := strings.Index(last[from:], s)
			if at < 0 {
				break
			}
			if at += from; (at == 0 || last[at-1] == ' ') && !strings.HasPrefix(last[at+len(s):], "d ") { // not "structured analysis"
				return true
			}
			from = at + 1
		}
	}
	return false
}

// gravest are words of a rule that nothing weighs more than.
var gravest = []string{"critical", "under no circumstances", "zero tolerance", "strictly prohibited", "strictly forbidden", "at all costs", "non-negotiable"}

// concern is a subject that weighs, with the words that show it.
type concern struct {
	name  string
	words map[string]bool
}

// concerns are subjects where a breach hurts others.
var concerns []concern

// severity weighs a norm by its wording, and says why where it is not as usual.
func severity(n *Norm, r reading) (s rule.Severity, why string) {
	low := lower(n.Statement)
	about, word := concerned(low)
	advises := n.Modality == rule.Should || n.Modality == rule.May
	for _, s := range gravest {
		if strings.Contains(low, s) && !advises {
			return rule.Critical, "it says " + s
		}
	}
	switch {
	case n.Modality == rule.May:
		return rule.Low, ""
	case advises && about != "" && n.Modality == rule.Should:
		return rule.Medium, "it advises about " + about + " (" + word + ")"
	case advises:
		return rule.Low, ""
	case about == "safety" && n.Modality == rule.MustNot && deadly(low):
		return rule.Critical, "a breach can cost lives"
	case shouted(n.Quote):
		return rule.High, "its words are in capitals"
	case about != "":
		return rule.High, "it is about " + about + " (" + word + ")"
	case n.Modality == rule.MustNot && r.means == ByBinding:
		return rule.High, "it prohibits"
	case announced(n.Section, []string{"critical", "security", "never", "safety", "privacy"}):
		return rule.High, "its heading says so"
	}
	for w := range strings.FieldsFuncSeq(low, func(r rune) bool { return r == ' ' || r == ',' || r == '.' || r == ':' || r == ';' || r == '`' }) {
		if looks[w] {
			return rule.Low, "it is about style (" + w + ")"
		}
	}
	return rule.Medium, ""
}

// concerned returns the subject of a statement that weighs, and the word that shows it; empty without one.
func concerned(low string) (about, word string) {
	for w := range strings.FieldsSeq(low) {
		w = strings.Trim(w, ".,;:()`\"'*!?")
		for i := range concerns {
			if concerns[i].words[w] {
				return concerns[i].name, w
			}
		}
	}
	return "", ""
}

// deadly reports whether a statement names a danger to life.
func deadly(low string) bool {
	for _, w := range []string{"death", "fatal", "life", "lives", "explosive", "high voltage", "asbestos", "firearm", "weapon"} {
		if strings.Contains(low, w) {
			return true
		}
	}
	return false
}

// Why says in a sentence why the severity is not as usual; empty where it is.
func (n *Norm) Why() string {
	if n.reason == "" {
		return ""
	}
	return "Severity " + strings.ToLower(string(n.Severity)) + ": " + n.reason + "."
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

// Tags returns labels for what the norm is about, by its words, its innermost heading, and the path of its file.
func (n *Norm) Tags(file string) []string {
	load()
	about := lower(n.Statement) + " " + strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return unicode.ToLower(r)
		}
		return ' '
	}, file)
	if k := len(n.Section); k > 0 {
		about += " " + lower(n.Section[k-1])
	}
	seen := make([]bool, len(topics))
	for w := range strings.FieldsSeq(about) {
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
