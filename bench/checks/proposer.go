package main

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/llm"
	"tenet/internal/rule"
)

// shown is a test case as a model sees it.
type shown struct {
	Sample   string `json:"sample_input"`
	Expected string `json:"expected_verdict"`
}

// proposer is a way to turn cases into regular expressions.
type proposer struct {
	name    string
	propose func(statement string, breaking, keeping []string) []string
	only    map[string][]string // if not nil, the rules that it knows
}

// proposers are a model that lists what it was shown, one that finds what the shown violations have in common by the letter, and a person
// who knows the rule and has seen no case.
var proposers = []proposer{
	{"literal: a part of each shown violation", literal, nil},
	{"half general: the fewest token patterns that separate what is shown", separating, nil},
	{"written by hand from the statement", byHand, written},
}

// stand is a stand-in for a model: it proposes checks from what the prompt shows.
type stand struct {
	proposer  proposer
	statement string
}

func (stand) ID() string { return "stand-in:proposer" }

func (s stand) Complete(_ context.Context, req llm.Request) (llm.Response, error) {
	var prompt struct {
		Cases []shown `json:"test_cases"`
	}
	if err := json.NewDecoder(strings.NewReader(req.Prompt)).Decode(&prompt); err != nil {
		return llm.Response{}, err
	}
	var breaking, keeping []string
	for _, c := range prompt.Cases {
		if c.Expected == string(rule.Deny) {
			breaking = append(breaking, c.Sample)
		} else {
			keeping = append(keeping, c.Sample)
		}
	}
	type draft struct {
		Regex string   `json:"regex"`
		Paths []string `json:"paths"`
	}
	answer := struct {
		Proposals []draft `json:"proposals"`
	}{[]draft{}}
	for _, regex := range s.proposer.propose(s.statement, breaking, keeping) {
		answer.Proposals = append(answer.Proposals, draft{regex, []string{"**/*.js"}})
	}
	text, err := json.Marshal(answer)
	return llm.Response{Text: string(text)}, err
}

// longestPart is the length up to which text of a sample is no copy of it.
const longestPart = 19

// literal lists a part of each violation, as long as may be copied, that no sample has that keeps the rule.
func literal(_ string, breaking, keeping []string) []string {
	var parts []string
	for _, sample := range breaking {
		part := ""
		for line := range strings.SplitSeq(sample, "\n") {
			for from := 0; from < len(line) && part == ""; from++ {
				p := strings.ToValidUTF8(line[from:min(from+longestPart, len(line))], "")
				if p = strings.TrimSpace(p); p != "" && !slices.ContainsFunc(keeping, func(k string) bool { return strings.Contains(k, p) }) {
					part = p
				}
			}
		}
		if part == "" {
			return nil
		}
		parts = append(parts, regexp.QuoteMeta(part))
	}
	slices.Sort(parts)
	return []string{strings.Join(slices.Compact(parts), "|")}
}

var tokens = regexp.MustCompile("\"[^\"\n]*\"|'[^'\n]*'|`[^`\n]*`|[A-Za-z_$][\\w$]*|\\d[\\w.]*|[^\\s\\w]")

// separating finds few patterns of up to five tokens that match every violation and nothing that keeps the rule. Texts and numbers are left
// open, and so are the names that one sample only has.
func separating(statement string, breaking, keeping []string) []string {
	in := map[string]int{}
	for _, sample := range breaking {
		names := map[string]bool{}
		for _, t := range tokens.FindAllString(sample, -1) {
			names[t] = true
		}
		for t := range names {
			in[t]++
		}
	}
	general := func(t string) string {
		switch {
		case strings.ContainsAny(t[:1], "\"'`"):
			return "[\"'`][^\"'`]*[\"'`]"
		case t[0] >= '0' && t[0] <= '9':
			return `\d[\w.]*`
		case !isName(t):
			return regexp.QuoteMeta(t)
		case in[t] == 1 && !strings.Contains(statement, t):
			return `\b[A-Za-z_$][\w$]*\b`
		}
		return `\b` + regexp.QuoteMeta(t) + `\b`
	}
	candidates := map[string]int{} // with their number of tokens
	for _, sample := range breaking {
		for line := range strings.SplitSeq(sample, "\n") {
			list := tokens.FindAllString(line, 60)
			for from := range list {
				for n := 1; n <= 5 && from+n <= len(list); n++ {
					parts := make([]string, n)
					for i := range parts {
						parts[i] = general(list[from+i])
					}
					candidates[strings.Join(parts, `\s*`)] = n
				}
			}
		}
	}
	covers := map[string][]int{}
	for pattern := range candidates {
		re, err := regexp.Compile(pattern)
		if err != nil || slices.ContainsFunc(keeping, func(k string) bool { return matches(re, k) }) {
			continue
		}
		for i, sample := range breaking {
			if matches(re, sample) {
				covers[pattern] = append(covers[pattern], i)
			}
		}
	}
	order := slices.SortedFunc(maps.Keys(covers), func(a, b string) int {
		return cmp.Or(cmp.Compare(candidates[a], candidates[b]), cmp.Compare(len(a), len(b)), cmp.Compare(a, b))
	})
	var chosen []string
	for open := len(breaking); open > 0; {
		best, most := "", 0
		for _, pattern := range order {
			if n := len(covers[pattern]); n > most {
				best, most = pattern, n
			}
		}
		if most == 0 {
			return nil
		}
		chosen = append(chosen, best)
		open -= most
		done := covers[best]
		for pattern, list := range covers {
			covers[pattern] = slices.DeleteFunc(slices.Clone(list), func(i int) bool { return slices.Contains(done, i) })
		}
	}
	return []string{strings.Join(chosen, "|")}
}

func isName(t string) bool {
	c := t[0]
	return c == '_' || c == '$' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// matches looks line by line, as checks do.
func matches(re *regexp.Regexp, sample string) bool {
	for line := range strings.SplitSeq(sample, "\n") {
		if re.MatchString(line) {
			return true
		}
	}
	return false
}

func byHand(statement string, _, _ []string) []string { return written[statement] }

// written are patterns written from the statements of rules alone.
var written = map[string][]string{
	"Disallow the use of `alert`, `confirm`, and `prompt`.":                                              {`\b(alert|confirm|prompt)\s*\(`},
	"Disallow the use of `eval()`.":                                                                      {`\beval\b`, `\beval\s*\(`},
	"Disallow `Array` constructors.":                                                                     {`\bArray\s*\(`, `\bnew\s+Array\b|\bArray\s*\(`},
	"Disallow bitwise operators.":                                                                        {`[^&]&[^&]|[^|]\|[^|]|\^|~|<<|>>`},
	"Disallow calls to the `Object` constructor without an argument.":                                    {`\bObject\s*\(\s*\)|\bnew\s+Object\b\s*($|[^(\s])`, `\bObject\s*\(\s*\)`},
	"Disallow extending native types.":                                                                   {`\b(Object|Array|String|Number|Function|Date|RegExp)\.prototype\b.*=`},
	"Disallow octal escape sequences in string literals.":                                                {`\\[0-7]{1,3}`, `\\[1-7]|\\0[0-9]`},
	"Disallow unnecessary semicolons.":                                                                   {`;\s*;`, `;\s*;|\}\s*;`},
	"Disallow initializing variables to `undefined`.":                                                    {`=\s*undefined\b`, `\b(var|let)\b.*=\s*undefined\b`},
	"Disallow comma operators.":                                                                          {`\([^()]*,[^()]*\)`},
	"Disallow throwing literals as exceptions.":                                                          {"\\bthrow\\s+[\"'`\\d]", "\\bthrow\\s+([\"'`\\d]|null|undefined|true|false)"},
	"Disallow the use of `undefined` as an identifier.":                                                  {`\bundefined\b`, `\b(var|let|const|function)\s+undefined\b|\bundefined\s*=`},
	"Disallow use of the `RegExp` constructor in favor of regular expression literals.":                  {`\bRegExp\s*\(`, "\\bRegExp\\s*\\(\\s*[\"'`]"},
	"Enforce the use of `u` or `v` flag on regular expressions.":                                         {`/[gimsy]*\s*($|[;,).])`, `\bRegExp\s*\(`},
	"Disallow assignments that can lead to race conditions due to usage of `await` or `yield`.":          {`\+=\s*(await|yield)\b`},
	"Require calls to `isNaN()` when checking for `NaN`.":                                                {`[=!]==?\s*NaN\b|\bNaN\s*[=!]==?`, `\bNaN\b`},
	"Disallow comparing against `-0`.":                                                                   {`[=!<>]=?=?\s*-0\b|-0\s*[=!<>]`},
	"Enforce the use of the radix argument when using `parseInt()`.":                                     {`\bparseInt\s*\([^,()]*\)`, `\bparseInt\s*\([^,]*\)`},
	"Disallow `await` inside of loops.":                                                                  {`\b(for|while)\b.*\bawait\b`},
	"Disallow multiple spaces in regular expressions.":                                                   {`/[^/]*  [^/]*/`, "/[^/]*  [^/]*/|RegExp\\([\"'`].*  "},
	"Disallow unnecessary `return await`.":                                                               {`\breturn\s+await\b`},
	"Disallow function declarations that contain unsafe references inside loop statements.":              {`\b(for|while)\b.*(\bfunction\b|=>)`},
	"Disallow losing originally caught error when re-throwing custom errors.":                            {`\bcatch\b.*\bthrow\s+new\b`},
	"Disallow use of chained assignment expressions.":                                                    {`=[^=].*=[^=]`},
	"Disallow calling global object properties as functions.":                                            {`\b(Math|JSON|Reflect|Atomics|Intl)\s*\(`},
	"Disallow returning values from setters.":                                                            {`\bset\b.*\breturn\s+[^;}\s]`},
	"Disallow unused labels.":                                                                            {`^\s*\w+\s*:\s*(for|while|do|\{|\w)`},
	"Require spread operators instead of `.apply()`.":                                                    {`\.apply\s*\(`},
	"Disallow unnecessary calls to `.bind()`.":                                                           {`\.bind\s*\(`},
	"Disallow `parseInt()` and `Number.parseInt()` in favor of binary, octal, and hexadecimal literals.": {`\bparseInt\s*\(.*,\s*(2|8|16)\s*\)`},
}
