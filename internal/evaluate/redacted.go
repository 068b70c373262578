package evaluate

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/redact"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// Keep says what a record keeps of the subject.
type Keep string

// What a record keeps: the subject with its secrets taken out, the subject as it came, or only its repository and scope.
const (
	KeepRedacted Keep = "redacted"
	KeepFull     Keep = "full"
	KeepNone     Keep = "none"
)

// Keeps lists all values of [Keep].
var Keeps = []Keep{KeepRedacted, KeepFull, KeepNone}

// Redactor takes secrets out of texts; redact.Redactor is one.
type Redactor interface {
	Input(in subject.Input) (subject.Input, []redact.Found)
}

// kept is the subject as the record keeps it, where secrets stood in it, and what replaces them in texts that quote it.
func (r *run) kept() (subject.Input, []redact.Found, *strings.Replacer) {
	in := r.req.Input
	if r.e.cfg.Subjects == KeepFull || r.e.cfg.Redact == nil {
		return in, nil, nil
	}
	clean, found := r.e.cfg.Redact.Input(in)
	var secrets *strings.Replacer
	if len(found) > 0 {
		secrets = replacer(in, clean)
	}
	if r.e.cfg.Subjects == KeepNone {
		clean = subject.Input{Kind: clean.Kind, Repository: clean.Repository, Scope: clean.Scope}
	}
	return clean, found, secrets
}

// replacer replaces every secret that was taken out of an input by what stands in its place there.
func replacer(in, clean subject.Input) *strings.Replacer {
	pairs := map[string]string{}
	between(pairs, in.Diff, clean.Diff)
	for i := range in.Files {
		between(pairs, in.Files[i].Path, clean.Files[i].Path)
		if in.Files[i].Content != nil {
			between(pairs, *in.Files[i].Content, *clean.Files[i].Content)
		}
	}
	betweenValues(pairs, in.Facts, clean.Facts)
	between(pairs, in.Action, clean.Action)
	between(pairs, in.Intent, clean.Intent)
	secrets := make([]string, 0, len(pairs))
	for secret := range pairs {
		secrets = append(secrets, secret)
	}
	slices.SortFunc(secrets, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	list := make([]string, 0, 2*len(secrets))
	for _, secret := range secrets {
		list = append(list, secret, pairs[secret])
	}
	return strings.NewReplacer(list...)
}

var placeholder = regexp.MustCompile(`\[redacted:[^\]\n]*\]`)

// between finds what the placeholders of a redacted text stand for. Redaction leaves lines where they are.
func between(pairs map[string]string, text, clean string) {
	if text == clean {
		return
	}
	after := strings.Split(clean, "\n")
	for i, line := range strings.Split(text, "\n") {
		if i >= len(after) || line == after[i] {
			continue
		}
		marks := placeholder.FindAllStringIndex(after[i], -1)
		at := 0 // in the redacted line
		for n, m := range marks {
			lead := after[i][at:m[0]]
			line = strings.TrimPrefix(line, lead)
			end := len(after[i])
			if n+1 < len(marks) {
				end = marks[n+1][0]
			}
			tail := after[i][m[1]:end]
			stop := len(line)
			switch {
			case n+1 == len(marks):
				stop = max(0, len(line)-len(tail))
			case tail != "":
				if k := strings.Index(line, tail); k >= 0 {
					stop = k
				}
			}
			if secret := line[:stop]; secret != "" {
				pairs[secret] = after[i][m[0]:m[1]]
			}
			line, at = line[stop:], m[1]
		}
	}
}

// betweenValues does the same for values. Keys that changed are not followed: what stood below them is gone with them.
func betweenValues(pairs map[string]string, value, clean any) {
	switch v := value.(type) {
	case string:
		if c, ok := clean.(string); ok {
			between(pairs, v, c)
		}
	case []any:
		if c, ok := clean.([]any); ok && len(c) == len(v) {
			for i := range v {
				betweenValues(pairs, v[i], c[i])
			}
		}
	case map[string]any:
		if c, ok := clean.(map[string]any); ok {
			for name := range v {
				betweenValues(pairs, v[name], c[name])
			}
		}
	}
}

// without returns verdicts whose texts do not tell the secrets.
func without(secrets *strings.Replacer, verdicts []rule.RuleVerdict) []rule.RuleVerdict {
	out := slices.Clone(verdicts)
	for i := range out {
		v := &out[i]
		for _, s := range []*string{&v.Reasoning, &v.IssueDescription, &v.FixSuggestion} {
			*s = secrets.Replace(*s)
		}
		v.Locations, v.Evidence = slices.Clone(v.Locations), slices.Clone(v.Evidence)
		for j := range v.Locations {
			l := &v.Locations[j]
			l.FilePath, l.FunctionName, l.Snippet = secrets.Replace(l.FilePath), secrets.Replace(l.FunctionName), secrets.Replace(l.Snippet)
		}
		for j := range v.Evidence {
			x := &v.Evidence[j]
			x.FilePath, x.Quote, x.Value = secrets.Replace(x.FilePath), secrets.Replace(x.Quote), secrets.Replace(x.Value)
		}
	}
	return out
}
