package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// known finds the verdicts whose every place was a finding of the same rule in the base already, with the same text in the same
// file. Where a verdict does not tell all that it rests on, as one with more places than are listed, it is new: so is one without a
// fingerprint. A text that stands in the file more often than the base had findings of it is new. Rules are asked about the base, and
// not only its text compared: what a rule allowed there may have lost what made it allowed.
func (k *checkCommand) known(ctx context.Context, c *client.Client, s *checkSubject, e *rule.Evaluation) (map[*rule.RuleVerdict]bool, error) {
	built, err := subject.Build(subject.Input{Diff: s.diff})
	if err != nil {
		return nil, err
	}
	base, head, err := k.sides(ctx)
	if err != nil {
		return nil, err
	}
	was := map[string]string{} // path now: path in the base
	for i := range built.Files {
		f := &built.Files[i]
		if was[f.Path] = f.Path; f.OldPath != "" {
			was[f.Path] = f.OldPath
		}
	}
	texts := map[string]string{}   // of files with findings, as they are now
	after := map[string][]string{} // path in the base: those of these files that have come of it
	var files []subject.InputFile
	for i := range e.RuleVerdicts {
		for _, l := range e.RuleVerdicts[i].Locations {
			old, ok := was[l.FilePath]
			if _, seen := texts[l.FilePath]; seen || !ok || e.RuleVerdicts[i].Verdict == rule.Allow {
				continue
			}
			if texts[l.FilePath], err = git(ctx, "show", head+":"+l.FilePath); err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", l.FilePath, err)
			}
			if after[old] = append(after[old], l.FilePath); len(after[old]) > 1 {
				continue
			}
			if content, err := git(ctx, "show", base+":"+old); err == nil { // a new file has nothing in the base
				content = text(bytes.ReplaceAll([]byte(content), []byte{0}, []byte("\uFFFD")))
				files = append(files, subject.InputFile{Path: old, Content: &content}) // by the rules for where it stood
			}
		}
	}
	if len(files) == 0 {
		return nil, nil
	}
	before, err := k.ask(ctx, c, &checkSubject{files: files, repository: s.repository})
	if err != nil {
		return nil, fmt.Errorf("the base cannot be judged: %w", err)
	}
	had := map[finding]int{}
	for i := range before.RuleVerdicts {
		v := &before.RuleVerdicts[i]
		for j := range v.Locations {
			had[findingAt(v, v.Locations[j].FilePath, v.Locations[j].Snippet)]++
		}
	}
	known := map[*rule.RuleVerdict]bool{}
	for i := range e.RuleVerdicts {
		v := &e.RuleVerdicts[i]
		all := len(v.Locations) > 0 && v.Verdict != rule.Allow && v.Fingerprint != ""
		for j := range v.Locations {
			l := &v.Locations[j]
			at := findingAt(v, was[l.FilePath], l.Snippet)
			all = all && at.text != "" && had[at] > 0 && occurrences(texts, after[at.path], at.text) <= had[at]
		}
		known[v] = all
	}
	return known, nil
}

// sides are the base and what is judged, as git names trees. An empty name is the index.
func (k *checkCommand) sides(ctx context.Context) (base, head string, err error) {
	if k.Staged {
		return k.Base, "", nil
	}
	base, err = git(ctx, "merge-base", "--end-of-options", k.Base, "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("cannot find where HEAD and %q have parted: %w", k.Base, err)
	}
	return strings.TrimSpace(base), "HEAD", nil
}

// finding is what a rule objects to, wherever it stands in its file, whose path is that in the base.
type finding struct {
	ruleID, path, text string
	verdict            rule.Verdict
}

func findingAt(v *rule.RuleVerdict, path, snippet string) finding {
	return finding{v.RuleID, path, spaced(snippet), v.Verdict}
}

// spaced is a text with its white space made equal.
func spaced(s string) string { return strings.Join(strings.Fields(s), " ") }

// occurrences counts how often a text begins in some files, whatever the white space.
func occurrences(texts map[string]string, paths []string, text string) int {
	n := 0
	for _, path := range paths {
		n += strings.Count(spaced(texts[path]), text)
	}
	return n
}

// standing is the evaluation without what the base has already: what exit codes follow from.
func standing(e *rule.Evaluation, known map[*rule.RuleVerdict]bool) *rule.Evaluation {
	if len(known) == 0 {
		return e
	}
	rest := *e
	rest.RuleVerdicts = nil
	for i := range e.RuleVerdicts {
		if v := &e.RuleVerdicts[i]; !known[v] {
			rest.RuleVerdicts = append(rest.RuleVerdicts, *v)
		}
	}
	if len(rest.RuleVerdicts) == len(e.RuleVerdicts) {
		return e
	}
	rest.Tally()
	return &rest
}

// usageBase refuses what does not go with --base.
func (k *checkCommand) usageBase() error {
	switch {
	case k.Base == "":
		return nil
	case strings.HasPrefix(k.Base, "-") || strings.ContainsAny(k.Base, "\x00\n:"):
		return fmt.Errorf("--base: %q is not a commit or branch", k.Base)
	case k.Range != "" || len(k.File) > 0 || k.Facts != "" || k.Action != "":
		return errors.New("--base judges what has changed since then; it goes without a range, --file, --facts and --action, but with --staged")
	}
	return nil
}
