package prose

import (
	_ "embed" // the weights
	"fmt"
	"math"
	"strings"

	"tenet/internal/text"
)

//go:embed confidence.txt
var weightsFile string

// weights are those of the signs in confidence.txt, which bench/discovery fits.
var weights map[string]float64

// readWeights reads the weights. It panics where a line is malformed.
func readWeights(content string) map[string]float64 {
	all := map[string]float64{}
	for line := range strings.Lines(content) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		var w float64
		name, value, ok := strings.Cut(line, ": ")
		if _, err := fmt.Sscanf(value, "%g", &w); !ok || err != nil {
			panic("prose: confidence.txt has the line " + line)
		}
		all[name] = w
	}
	return all
}

// Bias is the sign that every norm has.
const Bias = "every statement"

// Confidence returns the probability that a statement with some signs is a rule, by the logistic function of their weights, in
// hundredths.
func Confidence(signs []string) float64 {
	load()
	sum := weights[Bias]
	for _, s := range signs {
		sum += weights[s]
	}
	return math.Round(100*min(max(1/(1+math.Exp(-sum)), 0.02), 0.98)) / 100
}

// Words of signs.
var (
	vague  = text.Words("it this that these they those there he she")
	hedges = text.Words("may might can could usually typically often probably sometimes perhaps generally likely")
)

// signsOf returns the signs that a norm is, or is not, a rule.
func signsOf(n *Norm, c place) []string {
	words := strings.Fields(lower(n.Statement))
	signs := make([]string, 0, 8)
	signs = append(signs, "found as "+methods[n.Means])
	add := func(is bool, name string) {
		if is {
			signs = append(signs, name)
		}
	}
	order := n.Means == ByItem || n.Means == BySentence || n.Means == ByNegation
	first := ""
	if len(words) > 0 {
		first = strings.Trim(words[0], "`*_,.:;\"'()")
	}
	add(c.genre == Policy, "in a policy")
	add(c.genre == Document, "in another text")
	add(c.genre == Document && order, "order in another text")
	add(c.genre == Remarks, "in a comment of code")
	add(c.genre == Remarks && order, "order in a comment of code")
	add(len(words) <= 3, "three words or fewer")
	add(len(words) > 40, "more than 40 words")
	add(!c.item && !strings.HasSuffix(strings.TrimRight(n.Quote, "*_)\"' "), ".") && !strings.HasSuffix(strings.TrimSpace(n.Quote), "!"), "a sentence without an end")
	add(vague[first], "begins with it, this or the like")
	add(order && nouns[first], "begins with a word that may be a noun")
	add(openers[first], "begins with a condition")
	add(strings.HasPrefix(lower(n.Statement), "please ") || first == "please", "says please")
	add(strings.Contains(n.Statement, "`"), "names code")
	add(c.facts, "among facts")
	you, hedged := false, false
	for _, w := range words {
		w = strings.Trim(w, ".,;:()`\"'")
		you = you || w == "you" || w == "your"
		hedged = hedged || hedges[w]
	}
	add(you, "says you")
	add(hedged && n.Means != ByRestraint && n.Means != ByPermission, "says may, usually or the like")
	return signs
}
