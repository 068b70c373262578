package corpus

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestTokens(t *testing.T) {
	for _, tt := range []struct{ text, want string }{
		{"Keys must not be logged.", "keys must not be logged"},
		{"Use os.environ, not SEC-003!", "use os environ [os.environ] not sec 003 [sec-003]"},
		{"snake_case_name camelCaseName HTTPServer", "snake case name [snake_case_name] camel case name [camelcasename] httpserver"},
		{"Rule 6.1.(2)", "rule 6 1 [6.1] 2"},
		{"a.  .b --x-- y_", "a b x y"},
		{"company's e.g. AT&T", "company s e g [e.g] at t [at&t]"},
		{"Café CAFE\u0301 naïve ﬁne Straße", "cafe cafe naive fine straße"},
		{"個人情報 data", "個 人 [個人] 情 [人情] 報 [情報] data"},
		{"日本 語", "日 本 [日本] 語"},
		{"한국어 テスト", "한 국 [한국] 어 [국어] テ ス [テス] ト [スト]"},
		{"x\x00y \xff\xfe z", "x y z"},
		{"🔐 lock", "lock"},
		{strings.Repeat("k", 65) + " short", "short"},
		{strings.Repeat("ab.", 30) + "c", strings.Repeat("ab ", 30) + "c"},
		{"", ""},
	} {
		var got []string
		eachToken(tt.text, func(tok token) bool {
			word := string(tok.text)
			if tok.whole {
				word = "[" + word + "]"
			}
			got = append(got, word)
			return true
		})
		if diff := cmp.Diff(tt.want, strings.Join(got, " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", tt.text, diff)
		}
	}
}

func TestTokensStop(t *testing.T) {
	n := 0
	eachToken("one two-three 四五 six", func(token) bool { n++; return n < 3 })
	if n != 3 {
		t.Errorf("yield was called %d times, want 3: the third said that it is enough", n)
	}
}

func TestStemsMeetAndFixedWordsStay(t *testing.T) {
	term := func(text string) (out string) {
		eachToken(text, func(tok token) bool { out = termOf(tok); return true })
		return out
	}
	for range 2 { // the second time from the cache
		if a, b, c := term("encrypting"), term("Encrypted"), term("encryption"); a != b || b != c {
			t.Errorf("the forms of one word are indexed as %q, %q and %q", a, b, c)
		}
		if got := term("tests.runs"); got != "tests.runs" {
			t.Errorf("an identifier is indexed as %q, want it whole", got)
		}
		if got := term("does"); got != "does" {
			t.Errorf("a stop word is indexed as %q, want it as it is", got)
		}
	}
}

func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"", "Keys must not be logged.", `"quoted phrase" os.environ -x +y AND (z`, "個人情報 SEC-003 “half", "\x00\xff\xfe", "a\u0301\u0300 ﬁ", "🔐🔐",
		strings.Repeat("a-", 2000), strings.Repeat(`"`, 99),
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		last := 0
		eachToken(text, func(tok token) bool {
			if len(tok.text) == 0 || tok.start < 0 || tok.start >= tok.end || tok.end > len(text) || (!tok.whole && tok.start < last) {
				t.Fatalf("%q: token %q at %d to %d, after %d", text, tok.text, tok.start, tok.end, last)
			}
			if !tok.whole {
				last = tok.end
			}
			if utf8.ValidString(text) && !utf8.ValidString(text[tok.start:tok.end]) {
				t.Fatalf("%q: token %q cuts a character", text, tok.text)
			}
			return true
		})
		q := parseWords(text)
		if len(q.terms) > maxQueryTerms || len(q.order) > maxQueryWords || len(q.phrases) > maxQueryPhrases {
			t.Fatalf("%d terms, %d words, %d phrases", len(q.terms), len(q.order), len(q.phrases))
		}
		for _, i := range q.order {
			if i < 0 || i >= len(q.terms) {
				t.Fatalf("%q: place %d of %d terms", text, i, len(q.terms))
			}
		}
	})
}
