package diff

import (
	"path"
	"regexp"
	"strings"
)

// otherCode matches the names of encodings in which plain ASCII means something else: UTF-7, ISO 2022, HZ, EBCDIC, and those of
// Python that are none of characters.
const otherCode = `(?i:u(?:tf)?[-_]?7\b|(?:cs)?unicode[-_]?1[-_]?1[-_]?utf[-_]?7|(?:cs)?iso[-_]?2022|hz\b|hz[-_]gb|(?:raw[-_])?unicode[-_]escape|rot[-_]?13|punycode|idna|` +
	`ebcdic|(?:cp|ibm)[-_]?(?:0?37|273|424|500|87[015]|1026|1047|11[34][0-9])\b)`

var (
	// commentDeclares matches the line of a program in Python, Ruby and others that names such an encoding.
	commentDeclares = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*` + otherCode)
	// markupDeclares matches such a line of XML, HTML and CSS, and of programs in PHP and Perl.
	markupDeclares = regexp.MustCompile(`(?i)(?:<\?xml[^>]*\bencoding\s*=\s*["']|@charset\s+["']|<meta[^>]*\bcharset\s*=\s*["']?\s*|` +
		`\bdeclare\s*\(\s*encoding\s*=\s*["']|^\s*use\s+encoding\s+["']?)` + otherCode)
	// attributeDeclares matches a line of a tag that goes over several lines.
	attributeDeclares = regexp.MustCompile(`(?i)\b(?:charset|encoding)\s*=\s*["']?\s*` + otherCode)
)

// markupEndings are endings of names of files that are read as HTML or XML.
var markupEndings = map[string]bool{
	".htm": true, ".html": true, ".xhtml": true, ".shtml": true, ".xml": true, ".xsl": true, ".xslt": true, ".svg": true, ".mhtml": true,
}

// declaresCode reports whether a line declares an encoding in which the file is not the text that it seems to be.
func (f *File) declaresCode() bool {
	markup := markupEndings[strings.ToLower(path.Ext(f.Path))]
	for _, l := range f.NewLines {
		switch {
		case !strings.Contains(l.Text, "coding") && !containsFold(l.Text, "charset") && !(markup && containsFold(l.Text, "encoding")):
		case l.New <= 2 && commentDeclares.MatchString(l.Text), markupDeclares.MatchString(l.Text), markup && attributeDeclares.MatchString(l.Text):
			return true
		}
	}
	return false
}

// containsFold reports whether a text contains a word in any letter case; the word begins with a letter of ASCII in lower case.
func containsFold(s, word string) bool {
	for from := 0; len(s)-from >= len(word); {
		at := strings.IndexAny(s[from:], word[:1]+strings.ToUpper(word[:1]))
		if at < 0 {
			return false
		}
		if from += at; len(s)-from >= len(word) && strings.EqualFold(s[from:from+len(word)], word) {
			return true
		}
		from++
	}
	return false
}

// switchesSets reports whether a line holds an escape of ISO 2022 that chooses a character set. A browser or an interpreter that reads
// the file so leaves it out, and a word with one in it becomes another word.
func (f *File) switchesSets() bool {
	for _, l := range f.NewLines {
		for s := l.Text; ; {
			at := strings.IndexByte(s, 0x1b)
			if at < 0 || at+1 == len(s) {
				break
			}
			if s = s[at+1:]; s[0] == '(' || s[0] == '$' {
				return true
			}
		}
	}
	return false
}
