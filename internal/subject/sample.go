package subject

import (
	"strings"

	"tenet/internal/rule"
)

// filler takes the place of a wildcard in the name of a sample repository.
const filler = "zz9"

// SampleRepositories returns names of repositories that two globs of repositories both match: one for each pair of their alternatives
// for which it finds one. It finds the names that a glob matches alone by comparing the glob with itself. A glob that is not valid has
// no samples.
func SampleRepositories(a, b string) []string {
	globs, err := CompileRepositories([]string{a})
	if err != nil {
		return nil
	}
	others, err := CompileRepositories([]string{b})
	if err != nil {
		return nil
	}
	first, _ := expand(a, nil) // the number is bounded by CompileRepositories
	second, _ := expand(b, nil)
	var names []string
	for _, x := range first {
		for _, y := range second {
			name, ok := sample(x, y)
			if !ok {
				continue
			}
			parsed := rule.ParseRepository(name)
			in, _ := globs.Match(parsed)
			inOther, _ := others.Match(parsed)
			if in && inOther {
				names = append(names, name)
			}
		}
	}
	return names
}

// sample returns a name that two globs without braces may both match.
func sample(a, b string) (string, bool) {
	x, y := rule.ParseRepositoryGlob(a), rule.ParseRepositoryGlob(b)
	host := x.Host
	if host == "" {
		host = y.Host
	}
	path, ok := joinPaths(segments(x.Path), segments(y.Path))
	if !ok {
		return "", false
	}
	if !strings.Contains(path, "/") {
		path = filler + "/" + path // a name alone matches the last element
	}
	return rule.Repository{Host: host, Path: path}.String(), true
}

func segments(path string) []string {
	if strings.HasSuffix(path, "/") {
		path += "**"
	}
	return strings.Split(strings.Trim(path, "/"), "/")
}

// joinPaths finds a path that two globs match, one element after the other.
func joinPaths(a, b []string) (string, bool) {
	if len(a) == 1 && len(b) > 1 && a[0] != "**" {
		a = append([]string{"**"}, a...) // a name alone is found in every folder
	}
	if len(b) == 1 && len(a) > 1 && b[0] != "**" {
		b = append([]string{"**"}, b...)
	}
	var out []string
	for len(a) > 0 || len(b) > 0 {
		switch {
		case len(a) > 0 && a[0] == "**" && len(b) > 0 && b[0] == "**":
			out, a, b = append(out, filler), a[1:], b[1:]
		case len(a) > 0 && a[0] == "**":
			n := max(len(b)-len(a)+1, 0)
			out, a, b = append(out, literals(b[:n])...), a[1:], b[n:]
		case len(b) > 0 && b[0] == "**":
			n := max(len(a)-len(b)+1, 0)
			out, b, a = append(out, literals(a[:n])...), b[1:], a[n:]
		case len(a) == 0 || len(b) == 0:
			return "", false
		default:
			one, ok := joinSegments(a[0], b[0])
			if !ok {
				return "", false
			}
			out, a, b = append(out, one), a[1:], b[1:]
		}
	}
	if len(out) == 0 {
		return filler, true
	}
	return strings.Join(out, "/"), true
}

func literals(globs []string) []string {
	out := make([]string, len(globs))
	for i, g := range globs {
		out[i] = literal(g)
	}
	return out
}

// joinSegments finds a text that two globs of one path element may match: what both begin with, what both end with.
func joinSegments(a, b string) (string, bool) {
	x, y := literal(a), literal(b)
	switch {
	case x == y:
		return x, true
	case !strings.Contains(a, "*"):
		return x, true
	case !strings.Contains(b, "*"):
		return y, true
	}
	startA, endA := a[:strings.Index(a, "*")], a[strings.LastIndex(a, "*")+1:]
	startB, endB := b[:strings.Index(b, "*")], b[strings.LastIndex(b, "*")+1:]
	start, ok := longer(startA, startB, strings.HasPrefix)
	end, also := longer(endA, endB, strings.HasSuffix)
	return literal(start + "*" + end), ok && also
}

// longer returns the longer of two texts if the other is a part of it.
func longer(a, b string, part func(all, part string) bool) (string, bool) {
	switch {
	case part(a, b):
		return a, true
	case part(b, a):
		return b, true
	}
	return "", false
}

// literal replaces the wildcards and classes of a glob by letters.
func literal(glob string) string {
	var out strings.Builder
	for i := 0; i < len(glob); i++ {
		switch c := glob[i]; c {
		case '*':
			out.WriteString(filler)
		case '?':
			out.WriteByte('z')
		case '\\':
			if i++; i < len(glob) {
				out.WriteByte(glob[i])
			}
		case '[':
			end := strings.IndexByte(glob[i+1:], ']')
			if end < 1 {
				out.WriteByte(c)
				continue
			}
			if class := glob[i+1 : i+1+end]; class[0] == '!' || class[0] == '^' {
				out.WriteByte('z')
			} else {
				out.WriteByte(class[0])
			}
			i += end + 1
		default:
			out.WriteByte(c)
		}
	}
	return out.String()
}
