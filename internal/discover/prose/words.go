package prose

import (
	_ "embed" // the word lists
	"maps"
	"slices"
	"strings"
	"sync"

	"tenet/internal/lexicon"
)

//go:embed words.txt
var wordsFile string

// lists are the word lists of words.txt, by their names.
var lists map[string]map[string]bool

func readLists(content string) map[string]map[string]bool {
	all := map[string]map[string]bool{}
	var list map[string]bool
	for line := range strings.Lines(content) {
		line = strings.TrimSpace(line)
		if name, ok := strings.CutPrefix(line, "["); ok {
			list = map[string]bool{}
			all[strings.TrimSuffix(name, "]")] = list
			continue
		}
		if strings.HasPrefix(line, "#") {
			continue
		}
		for w := range strings.FieldsSeq(line) {
			if name, ok := strings.CutPrefix(w, "{"); ok {
				maps.Copy(list, all[strings.TrimSuffix(name, "}")])
			} else {
				list[w] = true
			}
		}
	}
	return all
}

// list returns a word list. It panics if words.txt has none of this name.
func list(name string) map[string]bool {
	words := lists[name]
	if len(words) == 0 {
		panic("prose: words.txt has no list " + name)
	}
	return words
}

// verb reports whether an order may begin with a word: it is in the list, or a verb of the lexicon.
func verb(w string) bool {
	if verbs[w] || len(w) < 3 || openers[w] || adverbs[w] || copulas[w] || auxiliaries[w] || determiners[w] || people[w] {
		return verbs[w]
	}
	is, _ := lexicon.Verb(w)
	return is
}

// noun reports whether such a word begins a noun phrase as often as an order. Our list knows better what rules are about than the lexicon,
// which knows the rest.
func noun(w string) bool {
	if verbs[w] || nouns[w] {
		return nouns[w]
	}
	_, is := lexicon.Verb(w)
	return is
}

// The lists that the code names; words.txt says what each holds.
var (
	verbs, nouns, things, opens, objects, adverbs, openers, subordinators, nearby, phrasal, determiners, mentions, mentionedTails,
	announcing, descriptive, joining, auxiliaries, pointers, asides, advising, running, copulas, negations, nothings, participles,
	approvals, grave, refusing, looks, bound, organs, idle, breaches, allowing, demandingHeads, counted, unfinished, enumerating,
	reporting, reported, abbreviations, wishes, stating, somebody, people map[string]bool
)

// load reads the lists, the patterns and the weights when the first text is read, and not when the program starts.
var load = sync.OnceFunc(func() {
	lists = readLists(wordsFile)
	for name, words := range map[string]*map[string]bool{
		"verbs":          &verbs,
		"nouns":          &nouns,
		"things":         &things,
		"opens":          &opens,
		"objects":        &objects,
		"adverbs":        &adverbs,
		"openers":        &openers,
		"subordinators":  &subordinators,
		"nearby":         &nearby,
		"phrasal":        &phrasal,
		"determiners":    &determiners,
		"mentions":       &mentions,
		"mentionedTails": &mentionedTails,
		"announcing":     &announcing,
		"descriptive":    &descriptive,
		"joining":        &joining,
		"auxiliaries":    &auxiliaries,
		"pointers":       &pointers,
		"asides":         &asides,
		"advising":       &advising,
		"running":        &running,
		"copulas":        &copulas,
		"negations":      &negations,
		"nothings":       &nothings,
		"participles":    &participles,
		"approvals":      &approvals,
		"grave":          &grave,
		"refusing":       &refusing,
		"looks":          &looks,
		"bound":          &bound,
		"organs":         &organs,
		"idle":           &idle,
		"breaches":       &breaches,
		"allowing":       &allowing,
		"demandingHeads": &demandingHeads,
		"counted":        &counted,
		"unfinished":     &unfinished,
		"enumerating":    &enumerating,
		"reporting":      &reporting,
		"reported":       &reported,
		"abbreviations":  &abbreviations,
		"wishes":         &wishes,
		"stating":        &stating,
		"somebody":       &somebody,
		"people":         &people,
	} {
		*words = list(name)
	}
	concerns = []concern{{"security and privacy", grave}, {"safety", list("safety")}, {"the law", list("legal")}, {"money", list("money")}}
	topics = readTopics()
	weights = readWeights(weightsFile)
	tables := readPatterns(patternsFile)
	modals, openings = tables["modals"], tables["openings"]
})

// Ends and beginnings of verbs that are in no list; inflections end words that give no order.
var (
	inflections = []string{"ing", "ed", "s"}
	coinages    = []string{"ize", "ise", "ify"}
	prefixes    = []string{"re-", "co-"}
)

// topic is a tag and the words that earn it.
type topic struct {
	tag   string
	words map[string]bool
}

// topics are in the order of their tags.
var topics []topic

func readTopics() []topic {
	var all []topic
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if tag, ok := strings.CutPrefix(name, "topic "); ok {
			all = append(all, topic{tag, lists[name]})
		}
	}
	return all
}
