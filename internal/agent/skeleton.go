package agent

import (
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"tenet/internal/llm"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// wishes are ways to begin a wish that are no part of the rule.
var wishes = regexp.MustCompile(`(?i)^\s*(please\b[, ]*)?((i|we)('d| would)? (want|wish|like|need)( to have| to make sure| it)?( a rule)?( that| which says( that)?)?|` +
	`(add|make|create|write|draft)( me| us)?( a| the)?( new)? rule( that| which)?( says| demands| requires)?( that)?|there (should|must) be a rule( that)?|make sure( that)?|` +
	`ensure( that)?|please)\b[:, ]*`)

// modalities are words that say how binding a wish is, the strictest reading first.
var modalities = []struct {
	words    *regexp.Regexp
	modality rule.Modality
}{
	{regexp.MustCompile(`(?i)\b(must not|mustn't|shall not|may not|cannot|can not|can't|never|forbidden|prohibited|not allowed|nobody|no one|do not|don't)\b|^no\b`), rule.MustNot},
	{regexp.MustCompile(`(?i)\b(must|shall|required|has to|have to|need to|needs to|mandatory|always|only)\b`), rule.Must},
	{regexp.MustCompile(`(?i)\b(should|ought|recommended|prefer|preferably|avoid)\b`), rule.Should},
	{regexp.MustCompile(`(?i)\b(may|can|allowed|permitted|optional)\b`), rule.May},
}

// severities are words that say how much a violation would matter.
var severities = []struct {
	words    *regexp.Regexp
	severity rule.Severity
}{
	{regexp.MustCompile(`(?i)\b(critical|severe|catastrophic|illegal|passwords?|secrets?|credentials?|private keys?|api keys?|production data)\b`), rule.Critical},
	{regexp.MustCompile(`(?i)\b(high|serious|important|personal data|customer data|payments?|security|encrypt(ed|ion)?|law|legal|fraud)\b`), rule.High},
	{regexp.MustCompile(`(?i)\b(low|minor|style|cosmetic|naming|nice to have)\b`), rule.Low},
}

// needs are ways to demand something that a rule says with must.
var needs = []struct {
	words *regexp.Regexp
	must  string
}{
	{regexp.MustCompile(`(?i)\b(needs?|has|have) to\b`), "must"},
	{regexp.MustCompile(`(?i)\bneeds? (a|an|the|at least|two|both)\b`), "must have $1"},
}

// skeleton makes a draft of the words of a wish alone. The statement stays in the author's words, but that what needs to be must be:
// nothing is made up.
func skeleton(wish, scope string) wire.RuleDraft {
	statement := strings.Join(strings.Fields(llm.Clean(wish)), " ")
	if rest := wishes.ReplaceAllString(statement, ""); len(strings.Fields(rest)) >= 2 {
		statement = rest
	}
	for _, n := range needs {
		statement = n.words.ReplaceAllString(statement, n.must)
	}
	if r, size := utf8.DecodeRuneInString(statement); unicode.IsLower(r) {
		statement = string(unicode.ToUpper(r)) + statement[size:]
	}
	if last, _ := utf8.DecodeLastRuneInString(statement); unicode.IsLetter(last) || unicode.IsDigit(last) {
		statement += "."
	}
	d := wire.RuleDraft{Statement: statement, Modality: rule.Must, Severity: rule.Medium, Scope: []string{}, Tags: []string{}, Exceptions: []string{}}
	for _, m := range modalities {
		if m.words.MatchString(statement) {
			d.Modality = m.modality
			break
		}
	}
	for _, s := range severities {
		if s.words.MatchString(statement) {
			d.Severity = s.severity
			break
		}
	}
	if scope = rule.CleanScope(scope); scope != "" && scope != "*" {
		d.Scope = []string{scope}
	}
	return d
}
