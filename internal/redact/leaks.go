package redact

import (
	_ "embed"
	"math"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/pelletier/go-toml/v2"
)

// gitleaksRules is config/gitleaks.toml of gitleaks v8.30.1, unchanged, so that a newer one can take its place. Its licence
// is in the same directory.
//
//go:embed gitleaks/gitleaks.toml
var gitleaksRules []byte

// leakRules returns the rules of gitleaks that apply to a text without a path. Reading them takes milliseconds.
var leakRules = sync.OnceValue(func() *ruleSet {
	set, err := readRules(gitleaksRules)
	if err != nil {
		panic("redact: the rules of gitleaks do not load: " + err.Error()) // they are part of the program
	}
	return set
})

// ruleSet holds the rules of one rule file.
type ruleSet struct {
	Allowlist allowlist   `toml:"allowlist"`
	Rules     []*leakRule `toml:"rules"`
}

// leakRule finds one kind of secret.
type leakRule struct {
	ID    string `toml:"id"`
	Regex string `toml:"regex"`
	// Path limits the rule to files of a name.
	Path string `toml:"path"`
	// Keywords are in lower case. A text without any of them has no secret of the kind, in any case of its letters.
	Keywords []string `toml:"keywords"`
	// Entropy is a bound that a secret must exceed, in bits a byte; 0 for any secret.
	Entropy float64 `toml:"entropy"`
	// SecretGroup is the group of the expression that holds the secret; 0 for the first that is not empty.
	SecretGroup int         `toml:"secretGroup"`
	Allowlists  []allowlist `toml:"allowlists"`

	// compiled returns the compiled expression. Few texts need more than a handful of the 217.
	compiled func() *regexp.Regexp
}

// allowlist names texts that are no secrets although a rule finds them.
type allowlist struct {
	Paths []string `toml:"paths"`
	// Condition is AND if the path has to match too.
	Condition string `toml:"condition"`
	// RegexTarget is match or line if the expressions apply to the match or its lines, empty if to the secret.
	RegexTarget string   `toml:"regexTarget"`
	Regexes     []string `toml:"regexes"`
	// StopWords are in lower case. A secret that contains one is none.
	StopWords []string `toml:"stopwords"`

	compiled func() *regexp.Regexp
}

// readRules reads a rule file. It leaves out rules and allowlists that need the path of a file.
func readRules(file []byte) (*ruleSet, error) {
	var set ruleSet
	if err := toml.Unmarshal(file, &set); err != nil {
		return nil, err
	}
	set.Allowlist.compiled = compile(set.Allowlist.Regexes...)
	set.Rules = slices.DeleteFunc(set.Rules, func(r *leakRule) bool { return r.Path != "" })
	for _, r := range set.Rules {
		r.compiled = compile(r.Regex)
		r.Allowlists = slices.DeleteFunc(r.Allowlists, func(a allowlist) bool { return a.Condition == "AND" && len(a.Paths) > 0 })
		for i := range r.Allowlists {
			r.Allowlists[i].compiled = compile(r.Allowlists[i].Regexes...)
		}
	}
	return &set, nil
}

// compile returns a function that compiles expressions into one at its first call; into nil without expressions.
func compile(expressions ...string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp {
		if len(expressions) == 0 {
			return nil
		}
		return regexp.MustCompile("(?:" + strings.Join(expressions, ")|(?:") + ")")
	})
}

// leak is a secret that a rule finds in a text.
type leak struct {
	rule, secret string
	// from and to are the offsets of the secret in the text.
	from, to int
	line     int // of the start of the match, from 0
}

// find returns the secrets of a text, as gitleaks does for a text without a path and without decoding. It ignores marks such as
// gitleaks:allow, by which an author could hide a secret.
func (s *ruleSet) find(text string) []leak {
	var leaks, generic []leak
	lower := strings.ToLower(text)
	for _, r := range s.Rules {
		if !slices.ContainsFunc(r.Keywords, func(k string) bool { return strings.Contains(lower, k) }) {
			continue
		}
		if strings.Contains(r.ID, "generic") {
			generic = s.apply(r, text, generic)
		} else {
			leaks = s.apply(r, text, leaks)
		}
	}
	// A secret that a rule of its own finds in the line needs no generic one.
	specific := leaks
	for _, g := range generic {
		if !slices.ContainsFunc(specific, func(l leak) bool { return l.line == g.line && strings.Contains(l.secret, g.secret) }) {
			leaks = append(leaks, g)
		}
	}
	return leaks
}

// apply appends the secrets that a rule finds.
func (s *ruleSet) apply(r *leakRule, text string, leaks []leak) []leak {
	for _, m := range r.compiled().FindAllStringSubmatchIndex(text, -1) {
		match := strings.Trim(text[m[0]:m[1]], "\n")
		at, end := r.secret(text, m)
		secret := text[at:end]
		if r.Entropy > 0 && entropy(secret) <= r.Entropy {
			continue
		}
		from := strings.LastIndexByte(text[:m[0]], '\n') + 1
		to := m[0] + len(match)
		if rest := strings.IndexByte(text[to:], '\n'); rest >= 0 {
			to += rest
		} else {
			to = len(text)
		}
		allows := func(a allowlist) bool { return a.allows(secret, match, text[from:to]) }
		if !allows(s.Allowlist) && !slices.ContainsFunc(r.Allowlists, allows) {
			leaks = append(leaks, leak{rule: r.ID, secret: secret, from: at, to: end, line: strings.Count(text[:m[0]], "\n")})
		}
	}
	return leaks
}

// secret returns where the secret of a match is: one of its groups, or all of it without the line ends around it.
func (r *leakRule) secret(text string, m []int) (from, to int) {
	for g := 1; 2*g < len(m); g++ {
		if m[2*g] >= 0 && (r.SecretGroup == g || r.SecretGroup == 0 && m[2*g] < m[2*g+1]) {
			return m[2*g], m[2*g+1]
		}
	}
	from, to = m[0], m[1]
	for from < to && text[from] == '\n' {
		from++
	}
	for from < to && text[to-1] == '\n' {
		to--
	}
	return from, to
}

// allows reports whether a secret is none.
func (a *allowlist) allows(secret, match, lines string) bool {
	target := secret
	switch a.RegexTarget {
	case "match":
		target = match
	case "line":
		target = lines
	}
	if re := a.compiled(); re != nil && re.MatchString(target) {
		return true
	}
	lower := strings.ToLower(secret)
	return slices.ContainsFunc(a.StopWords, func(w string) bool { return strings.Contains(lower, w) })
}

// entropy is Shannon's, in bits a byte.
func entropy(s string) (bits float64) {
	counts := map[rune]int{}
	for _, c := range s {
		counts[c]++
	}
	for _, n := range counts {
		p := float64(n) / float64(len(s))
		bits -= p * math.Log2(p)
	}
	return bits
}
