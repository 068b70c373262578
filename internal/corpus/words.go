package corpus

// Word is a word of a text in the form in which words are compared: lower case, without accents, stemmed.
type Word struct {
	Term string
	// Start and End are its place in the text, in bytes.
	Start, End int
	// Whole is set for what words before it make up together, such as os.environ, or two neighbouring characters of Chinese.
	// It has no place of its own among the words.
	Whole bool
}

// EachWord calls yield for the words of a text that is no rule, so that other texts are searched as rules are. It stops
// when yield returns false.
func EachWord(text string, yield func(Word) bool) {
	eachToken(text, func(t token) bool {
		return yield(Word{Term: termOf(t), Start: t.start, End: t.end, Whole: t.whole})
	})
}

// QueryWords holds the words of a query.
type QueryWords struct {
	// Terms are its words and wholes, each once, without stop words unless it has no others.
	Terms []string
	// Phrases are the words between quotation marks, which must follow one another.
	Phrases [][]string
}

// ParseQuery takes a query apart. Any text is a query.
func ParseQuery(text string) QueryWords {
	parsed := parseWords(text)
	q := QueryWords{Phrases: parsed.phrases}
	for _, t := range parsed.terms {
		q.Terms = append(q.Terms, t.text)
	}
	return q
}

// Stem is the form in which a word in lower case is compared with others: logs, logged and logging have one.
func Stem(word string) string {
	if len(word) > maxTerm {
		return word
	}
	fixed := false
	for i := range len(word) {
		fixed = fixed || word[i] < 'a' || word[i] > 'z'
	}
	return termOf(token{text: []byte(word), fixed: fixed})
}
