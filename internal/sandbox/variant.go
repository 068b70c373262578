package sandbox

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"tenet/internal/rule"
)

// variant is a sample that differs from that of a test case in what the verdict does not depend on.
type variant struct{ how, sample string }

// variants returns variants of a sample: names of its own renamed, quotes and spaces changed, lines indented and in another order, facts that
// say nothing more. Each differs from the sample. Names and orders may matter to a rule after all: a check that misses such a variant is not
// wrong, but then it does not decide alone that a subject keeps the rule.
func variants(r *rule.Rule, sample, inputType string) []variant {
	if inputType == Facts {
		return factVariants(sample)
	}
	var out []variant
	for _, v := range []struct {
		how    string
		change func(lines []string) []string
	}{
		{"its own names renamed", func(lines []string) []string { return renamed(r, lines) }},
		{"other quotes", requoted},
		{"other spaces", respaced},
		{"wider spaces", widened},
		{"other numbers", renumbered},
		{"lines indented", indented},
		{"lines in another order", reversed},
	} {
		if changed := codeVariant(sample, v.change); changed != sample {
			out = append(out, variant{v.how, changed})
		}
	}
	return out
}

// codeVariant changes the lines of a snippet, or those that a diff adds.
func codeVariant(sample string, change func([]string) []string) string {
	lines := strings.Split(sample, "\n")
	diff := isDiff(sample)
	var at []int
	var texts []string
	for i, line := range lines {
		if diff && (!strings.HasPrefix(line, "+") || strings.HasPrefix(line, "+++ ")) || strings.TrimSpace(strings.TrimPrefix(line, "+")) == "" {
			continue
		}
		if diff {
			line = line[1:]
		}
		at, texts = append(at, i), append(texts, line)
	}
	for i, text := range change(texts) {
		if diff {
			text = "+" + text
		}
		lines[at[i]] = text
	}
	return strings.Join(lines, "\n")
}

var (
	// introduced finds names that a snippet gives: what it assigns, declares, or takes as parameters of one.
	introduced = regexp.MustCompile(`(?m)(?:^|[\s;({,])(?:(?:let|const|var|val|def|func|function|class|fn)\s+([A-Za-z_]\w{2,})|([A-Za-z_]\w{2,})\s*(?::=|=(?:[^=>]|$)))`)
	// spacing finds where spaces inside of brackets may be put.
	spacing = regexp.MustCompile(`([(\[])([^\s)\]])`)
	single  = regexp.MustCompile(`(\S) (\S)`)
	number  = regexp.MustCompile(`\b[1-9]\d+\b`)
	word    = regexp.MustCompile(`[A-Za-z]{4,}`)
)

// renamed gives the names that the lines introduce, and that the rule does not speak of, other ones.
func renamed(r *rule.Rule, lines []string) []string {
	text := strings.Join(lines, "\n")
	spoken := strings.ToLower(r.Statement + " " + r.Rationale)
	for _, m := range introduced.FindAllStringSubmatch(text, -1) {
		name := m[1] + m[2]
		if speaksOf(spoken, name) {
			continue
		}
		of, err := regexp.Compile(`\b` + name + `\b`)
		if err != nil {
			continue
		}
		text = of.ReplaceAllLiteralString(text, "variant_"+name)
	}
	return strings.Split(text, "\n")
}

// speaksOf reports whether a text in lower case has a word that begins as one of a name does.
func speaksOf(text, name string) bool {
	for _, part := range word.FindAllString(name, -1) {
		if strings.Contains(text, strings.ToLower(part[:4])) {
			return true
		}
	}
	return false
}

// requoted puts one kind of quotes in place of the other, where a line has one kind only.
func requoted(lines []string) []string {
	return perLine(lines, func(line string) string {
		single, double := strings.Count(line, "'"), strings.Count(line, `"`)
		switch {
		case strings.Contains(line, "`") || single > 0 && double > 0 || (single+double)%2 == 1:
			return line
		case double > 0:
			return strings.ReplaceAll(line, `"`, "'")
		}
		return strings.ReplaceAll(line, "'", `"`)
	})
}

func respaced(lines []string) []string {
	return perLine(lines, func(line string) string { return spacing.ReplaceAllString(line, "$1 $2") })
}

// widened doubles the single spaces inside of lines without texts in quotes.
func widened(lines []string) []string {
	return perLine(lines, func(line string) string {
		if strings.ContainsAny(line, "'\"`/") {
			return line
		}
		return single.ReplaceAllString(single.ReplaceAllString(line, "$1  $2"), "$1  $2")
	})
}

// renumbered changes the digits of numbers of more than one digit.
func renumbered(lines []string) []string {
	return perLine(lines, func(line string) string {
		return number.ReplaceAllStringFunc(line, func(digits string) string {
			changed := []byte(digits)
			for i, d := range changed[1:] {
				changed[i+1] = '0' + (d-'0'+3)%10
			}
			return string(changed)
		})
	})
}

func indented(lines []string) []string {
	return perLine(lines, func(line string) string { return "    " + line })
}

// reversed turns the order round of lines that belong to none of the others.
func reversed(lines []string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		if strings.HasPrefix(line, " ") || strings.HasPrefix(line, "\t") || strings.ContainsAny(line, "{}") {
			return lines
		}
		out[len(lines)-1-i] = line
	}
	return out
}

func perLine(lines []string, change func(string) string) []string {
	out := make([]string, len(lines))
	for i, line := range lines {
		out[i] = change(line)
	}
	return out
}

// factVariants adds a fact that no rule reads, and writes whole numbers as decimals.
func factVariants(sample string) []variant {
	facts, ok := object(sample)
	if !ok {
		return nil
	}
	var out []variant
	facts["variant_of_a_case"] = "nothing"
	out = append(out, variant{"one fact more", encoded(facts)})
	delete(facts, "variant_of_a_case")
	if decimals(facts) {
		out = append(out, variant{"whole numbers as decimals", encoded(facts)})
	}
	return out
}

func object(sample string) (facts map[string]any, ok bool) {
	d := json.NewDecoder(strings.NewReader(sample))
	d.UseNumber()
	return facts, d.Decode(&facts) == nil && facts != nil
}

func encoded(facts map[string]any) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(facts); err != nil {
		panic("sandbox: facts that were JSON must encode: " + err.Error())
	}
	return b.String()
}

// decimals rewrites the whole numbers of facts, however deep, and reports whether there were any.
func decimals(facts map[string]any) (found bool) {
	for name, value := range facts {
		switch v := value.(type) {
		case json.Number:
			if !strings.ContainsAny(v.String(), ".eE") && len(v) < 16 {
				facts[name], found = json.Number(v.String()+".0"), true
			}
		case map[string]any:
			found = decimals(v) || found
		}
	}
	return found
}
