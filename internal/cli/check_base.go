package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"tenet/internal/charset"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// knownFindings returns the verdicts whose locations all occur in the base's findings for the same rule, with the same text in
// the same file. A verdict that does not name all it rests on, because more locations than a verdict lists break the rule or because
// it has no fingerprint, is new. So is a text that occurs in its file more often than the base had findings of it. The rules judge the
// base again, since a change may take away what made them allow a text there.
func (k *checkCommand) knownFindings(ctx context.Context, c *client.Client, s *checkSubject, e *rule.Evaluation) (map[*rule.RuleVerdict]bool, error) {
	base, head, err := k.sides(ctx)
	if err != nil {
		return nil, err
	}
	now, err := readFindings(ctx, s.diff, head, e)
	if err != nil {
		return nil, err
	}
	files := now.baseFiles(ctx, base)
	if len(files) == 0 {
		return nil, nil
	}
	before, err := k.ask(ctx, c, &checkSubject{change: change{files: files}, repository: s.repository})
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
		known[&e.RuleVerdicts[i]] = now.allIn(had, &e.RuleVerdicts[i])
	}
	return known, nil
}

// findings are the files that an evaluation objects to.
type findings struct {
	basePath map[string]string   // the path in the base of every file of the diff, by its path now
	texts    map[string]string   // the present texts of files with findings, by path
	from     map[string][]string // the files with findings that come from a file of the base, by its path there
}

// readFindings reads the files with findings at head.
func readFindings(ctx context.Context, diff, head string, e *rule.Evaluation) (*findings, error) {
	built, err := subject.Build(wire.RecordedSubject{Diff: diff})
	if err != nil {
		return nil, err
	}
	f := &findings{basePath: map[string]string{}, texts: map[string]string{}, from: map[string][]string{}}
	for i := range built.Files {
		file := &built.Files[i]
		f.basePath[file.Path] = cmp.Or(file.OldPath, file.Path)
	}
	for i := range e.RuleVerdicts {
		if e.RuleVerdicts[i].Verdict == rule.Allow {
			continue
		}
		for _, l := range e.RuleVerdicts[i].Locations {
			old, inDiff := f.basePath[l.FilePath]
			if _, read := f.texts[l.FilePath]; read || !inDiff {
				continue
			}
			content, err := gitOutput(ctx, "show", head+":"+l.FilePath)
			if err != nil {
				return nil, fmt.Errorf("cannot read %s: %w", l.FilePath, err)
			}
			f.texts[l.FilePath], _, _ = charset.Decode([]byte(content)) // of what is no text, allIn knows the locations alone
			f.from[old] = append(f.from[old], l.FilePath)
		}
	}
	return f, nil
}

// baseFiles reads the files that the findings come from, under the paths that they have in the base.
func (f *findings) baseFiles(ctx context.Context, base string) []wire.InputFile {
	var files []wire.InputFile
	for _, path := range slices.Sorted(maps.Keys(f.from)) {
		content, err := gitOutput(ctx, "show", base+":"+path)
		if err != nil {
			continue // a new file is not in the base
		}
		files = append(files, inputFile(path, []byte(content)))
	}
	return files
}

// allIn reports whether all locations of a verdict are findings of the base.
func (f *findings) allIn(had map[finding]int, v *rule.RuleVerdict) bool {
	if len(v.Locations) == 0 || v.Verdict == rule.Allow || v.Fingerprint == "" {
		return false
	}
	now := map[finding]int{}
	for i := range v.Locations {
		now[findingAt(v, f.basePath[v.Locations[i].FilePath], v.Locations[i].Snippet)]++
	}
	for at, n := range now {
		if at.text == "" || max(n, occurrences(f.texts, f.from[at.path], at.text)) > had[at] {
			return false
		}
	}
	return true
}

// sides returns the base and the judged tree as git names them. An empty name is the index.
func (k *checkCommand) sides(ctx context.Context) (base, head string, err error) {
	if k.Staged {
		return k.Base, "", nil
	}
	base, err = gitOutput(ctx, "merge-base", "--end-of-options", k.Base, "HEAD")
	if err != nil {
		return "", "", fmt.Errorf("cannot find where HEAD and %q have parted: %w", k.Base, err)
	}
	return strings.TrimSpace(base), "HEAD", nil
}

// finding is a text that a rule objects to, anywhere in its file, whose path is that in the base.
type finding struct {
	ruleID, path, text string
	verdict            rule.Verdict
}

func findingAt(v *rule.RuleVerdict, path, snippet string) finding {
	return finding{v.RuleID, path, text.OneLine(snippet), v.Verdict}
}

// occurrences counts how often a text begins in some files, ignoring white space.
func occurrences(texts map[string]string, paths []string, s string) int {
	n := 0
	for _, path := range paths {
		n += strings.Count(text.OneLine(texts[path]), s)
	}
	return n
}

// standing returns the evaluation without the findings of the base; exit codes follow from it.
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
	switch {
	case e.Coverage.RulesUnlistedBroken > 0:
		rest.OverallVerdict = rule.Deny // the base may not have what the answer does not list
	case e.OverallVerdict == rule.NeedsConfirmation && !asks(e) && rest.OverallVerdict == rule.Allow:
		rest.OverallVerdict = rule.NeedsConfirmation // for a reason that is in no verdict
	}
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
