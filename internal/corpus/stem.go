package corpus

import (
	"hash/maphash"
	"sync/atomic"

	"github.com/kljensen/snowball/english"
)

// stopWords are left out of queries that have other words. The index has them all the same, for phrases.
var stopWords = wordSet(
	"a an and any are as at be been but by can could did do does done for from had has have he her his i if in into is it its",
	"may me might must my no nor not of on or our s shall she should so such t than that the their them then there these they this",
	"those to us was we were will with would you your",
	"how what when where which who whom whose why",
)

func wordSet(lines ...string) map[string]bool {
	set := map[string]bool{}
	for _, line := range lines {
		eachToken(line, func(t token) bool {
			set[string(t.text)] = true
			return true
		})
	}
	return set
}

// stemmed is a word with its stem.
type stemmed struct{ word, stem string }

// stems keeps the stems of words seen lately, each in the one place its hash gives: a stem is found in a fiftieth of the time
// that it takes to make, and the memory is bounded.
var (
	stems    [1 << 14]atomic.Pointer[stemmed]
	stemSeed = maphash.MakeSeed()
)

// termOf returns the term under which a token is indexed.
func termOf(t token) string {
	if t.fixed || len(t.text) < 3 {
		return string(t.text)
	}
	place := &stems[maphash.Bytes(stemSeed, t.text)%uint64(len(stems))]
	if known := place.Load(); known != nil && known.word == string(t.text) {
		return known.stem
	}
	word := string(t.text)
	made := &stemmed{word, word}
	if !stopWords[word] {
		made.stem = english.Stem(word, true)
	}
	place.Store(made)
	return made.stem
}
