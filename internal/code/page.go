package code

import (
	"path"
	"regexp"
	"strings"
)

// pages are the endings of files that may hold scripts among their text.
var pages = map[string]bool{".html": true, ".htm": true, ".xhtml": true, ".svg": true}

// IsPage reports whether a file may hold JavaScript among its text, by the ending of its path. [HoldsScript] asks whether it does.
func IsPage(file string) bool { return pages[strings.ToLower(path.Ext(file))] }

// script finds what runs as code wherever it is in a page: a script, also one with a prefix, an entity of the page's own, which may mean one,
// an attribute that is set to a handler of events, an address that is code, and one that holds a page.
var script = regexp.MustCompile(`(?i)<([^\s<>/]*:)?script|<!entity|attributename\s*=\s*["']?\s*on|javascript\s*:|data:[^,]*(html|xml|script)`)

// entity finds the names of characters that hide an address that is code.
var entity = regexp.MustCompile(`(?i)^&(#|tab;|newline;|colon;)`)

// handler finds the names of attributes whose values are code or a page, also in the templates of frameworks.
var handler = regexp.MustCompile(`(?i)^(on.|srcdoc$|hx-on|ng-|v-|x-|[@:*([])`)

// unspaced drops what browsers leave out of addresses.
var unspaced = strings.NewReplacer("\t", "", "\n", "", "\r", "")

// HoldsScript reports whether the whole text of a page may hold JavaScript. Where comments and scripts begin and end does not count, so that none
// can be hidden by it: each < before a name may begin a tag, in all of the readings of its quotes.
func HoldsScript(page string) bool {
	return script.MatchString(page) || script.MatchString(unspaced.Replace(page)) || hasHandler(page)
}

// The places that a byte of a page may be at, as bits: several readings of it go on at once.
const (
	inTag    = 1 << iota // outside of quotes
	atValue              // behind an equals sign
	inDouble             // in a value in double quotes
	inSingle
)

// hasHandler reports whether a tag has an attribute that is code, or one that writes a character by its number.
func hasHandler(page string) bool {
	at := 0
	for i := range len(page) {
		c := page[i]
		if at != 0 && c == '&' && entity.MatchString(page[i:min(len(page), i+10)]) {
			return true
		}
		next := at & (inTag | inDouble | inSingle)
		switch {
		case c == '<' && i+1 < len(page) && beginsName(page[i+1]):
			next |= inTag
		case c == '>':
			next &^= inTag
		case c == '=' && at&inTag != 0:
			if handler.MatchString(nameBefore(page[:i])) {
				return true
			}
			next |= atValue
		case c == '"':
			next = quoted(at, inDouble)
		case c == '\'':
			next = quoted(at, inSingle)
		case isBlank(c):
			next |= at & atValue
		}
		at = next
	}
	return false
}

// quoted returns the places behind a quote: one that begins a value, or ends one.
func quoted(at, kind int) int {
	next := at & (inTag | inDouble | inSingle) &^ kind
	if at&kind != 0 {
		next |= inTag
	}
	if at&atValue != 0 {
		next |= kind
	}
	return next
}

// beginsName reports whether a byte begins the name of a tag, in HTML or in XML.
func beginsName(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c == '_' || c == ':' || c >= 0x80
}

// maxAttribute bounds the name of an attribute, and the blanks behind it.
const maxAttribute = 100

// nameBefore returns the name of an attribute that a text ends with. A name that is longer than 100 bytes, or so far from the end, is taken for one
// that is code.
func nameBefore(s string) string {
	end := len(s)
	for end > 0 && isBlank(s[end-1]) {
		if end--; len(s)-end > maxAttribute {
			return "@"
		}
	}
	begin := end
	for begin > 0 && !isBlank(s[begin-1]) && !strings.ContainsRune(`/"'<>=`, rune(s[begin-1])) {
		if begin--; end-begin > maxAttribute {
			return "@"
		}
	}
	return s[begin:end]
}

func isBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f' }
