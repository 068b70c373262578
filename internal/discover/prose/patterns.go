package prose

import (
	_ "embed" // the table
	"slices"
	"strings"

	"tenet/internal/rule"
)

//go:embed patterns.txt
var patternsFile string

var (
	// modals are the wordings within a sentence.
	modals table
	// openings are the wordings that begin an order, besides its verb.
	openings table
)

// pattern is a row of patterns.txt, which explains its parts.
type pattern struct {
	sequence
	says    rule.Modality
	means   Means
	in      where
	unless  *sequence
	test    test // nil for none
	phrase  string
	turns   bool
	words   string
	example string
}

// table holds patterns by the word that decides.
type table map[string][]*pattern

// where restricts a pattern to restrictions.
type where int

const (
	rules where = 1 << iota
	policy
	behind
	item
	advice
)

// The names that patterns.txt has for restrictions, conditions and means.
var (
	restrictions = map[string]where{"rules": rules, "policy": policy, "behind": behind, "item": item, "advice": advice}
	tests        = map[string]test{
		"advised": advised, "affirmed": affirmed, "bounded": bounded, "extent": extent, "few": few, "governed": governed, "prescribed": prescribed, "demanding": demanding, "denied": denied, "due": due, "joined": joined, "named": namedOffice, "needed": needed, "only": only,
		"ours": ours, "parted": parted, "peopled": peopled, "refused": refused, "unwanted": unwanted, "used": used, "verbNext": verbNext,
	}
	meanings = map[string]Means{
		"binding": ByBinding, "restraint": ByRestraint, "advice": ByAdvice, "negation": ByNegation, "order": BySentence, "permission": ByPermission, "statement": ByStatement,
	}
)

// readPatterns reads the tables of patterns.txt. It panics where a line is malformed.
func readPatterns(content string) map[string]table {
	all := map[string]table{}
	var into table
	var group, last pattern
	for line := range strings.Lines(content) {
		line = strings.TrimRight(line, "\n")
		switch {
		case line == "" || line[0] == '#':
		case line == "[modals]" || line == "[openings]":
			into = table{}
			all[strings.Trim(line, "[]")] = into
		case line[0] == '*':
			words := strings.Fields(line)
			means, ok := meanings[words[2]]
			group = pattern{says: rule.Modality(words[1]), means: means}
			if !ok || !slices.Contains(rule.Modalities, group.says) {
				panic("prose: patterns.txt has the line " + line)
			}
		case line[0] == ' ':
			last.example = strings.TrimSpace(line)
			p := last
			for w := range p.elements[p.decides].words {
				into[w] = append(into[w], &p)
			}
		default:
			last = group
			last.read(line)
		}
	}
	return all
}

// read reads the words and the options of a pattern.
func (p *pattern) read(line string) {
	words, options, _ := strings.Cut(line, " / ")
	p.words, p.sequence = words, parse(words)
	for o := range strings.SplitSeq(options, ", ") {
		name, value, _ := strings.Cut(o, " ")
		switch {
		case o == "":
		case restrictions[name] != 0:
			p.in |= restrictions[name]
		case tests[name] != nil:
			p.test = tests[name]
		case name == "turns":
			p.turns = true
		case name == "phrase":
			p.phrase = value
		case name == "unless":
			s := parse(value)
			p.unless = &s
		default:
			panic("prose: patterns.txt has the option " + o)
		}
	}
}
