package prose

import (
	_ "embed" // the word lists
	"maps"
	"slices"
	"strings"

	"tenet/internal/lexicon"
)

//go:embed words.txt
var wordsFile string

// lists are the word lists of words.txt, by their names.
var lists = readLists(wordsFile)

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
	verbs          = list("verbs")
	nouns          = list("nouns")
	things         = list("things")
	opens          = list("opens")
	objects        = list("objects")
	adverbs        = list("adverbs")
	openers        = list("openers")
	subordinators  = list("subordinators")
	nearby         = list("nearby")
	phrasal        = list("phrasal")
	determiners    = list("determiners")
	mentions       = list("mentions")
	mentionedTails = list("mentionedTails")
	announcing     = list("announcing")
	descriptive    = list("descriptive")
	joining        = list("joining")
	auxiliaries    = list("auxiliaries")
	pointers       = list("pointers")
	asides         = list("asides")
	advising       = list("advising")
	running        = list("running")
	copulas        = list("copulas")
	negations      = list("negations")
	nothings       = list("nothings")
	participles    = list("participles")
	approvals      = list("approvals")
	grave          = list("grave")
	refusing       = list("refusing")
	looks          = list("looks")
	bound          = list("bound")
	organs         = list("organs")
	idle           = list("idle")
	breaches       = list("breaches")
	allowing       = list("allowing")
	demandingHeads = list("demandingHeads")
	counted        = list("counted")
	unfinished     = list("unfinished")
	enumerating    = list("enumerating")
	reporting      = list("reporting")
	reported       = list("reported")
	abbreviations  = list("abbreviations")
	wishes         = list("wishes")
	stating        = list("stating")
	somebody       = list("somebody")
	people         = list("people")
)

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
var topics = func() []topic {
	var all []topic
	for _, name := range slices.Sorted(maps.Keys(lists)) {
		if tag, ok := strings.CutPrefix(name, "topic "); ok {
			all = append(all, topic{tag, lists[name]})
		}
	}
	return all
}()
