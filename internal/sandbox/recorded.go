package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/wire"
)

// Recorded gives what was judged in a recorded evaluation, and its verdicts.
type Recorded interface {
	// Subject returns both, or not_found.
	Subject(ctx context.Context, projectID, evaluationID string) (subject.Input, []rule.RuleVerdict, error)
	// Past returns those of the latest limit evaluations of a project that have a verdict of a rule, newest first.
	Past(ctx context.Context, projectID, ruleID string, limit int) ([]subject.Past, error)
}

// FromEvaluation says which part of a recorded evaluation becomes a test case.
type FromEvaluation struct {
	Rule            string       // id or slug of one of its rules; may be empty if it has one only
	Name            string       // if empty, one that names the evaluation
	ExpectedVerdict rule.Verdict // if empty, the verdict that the rule gave
}

// Keep makes a test case of the subject of a recorded evaluation, for one of its rules. The error is not_found without the
// evaluation, invalid if it has no such rule, or if its subject cannot be one sample: code together with facts, or a file without content.
func (b *Sandbox) Keep(ctx context.Context, projectID, evaluationID string, f FromEvaluation) (wire.Case, error) {
	in, verdicts, err := b.cfg.Recorded.Subject(ctx, projectID, evaluationID)
	if err != nil {
		return wire.Case{}, err
	}
	var p rule.Problems
	v := find(&p, verdicts, f.Rule)
	n := NewCase{Name: f.Name, ExpectedVerdict: f.ExpectedVerdict}
	if n.Name == "" {
		n.Name = "evaluation " + evaluationID
	}
	if v != nil && n.ExpectedVerdict == "" {
		if n.ExpectedVerdict = v.Verdict; v.Verdict == rule.NeedsConfirmation {
			p.Add("expected_verdict", "is missing, and the rule gave NEEDS_CONFIRMATION; say ALLOW or DENY")
		}
	}
	n.SampleInput, n.InputType = textOf(&p, in)
	if err := p.Err("no test case can be made of the evaluation"); err != nil {
		return wire.Case{}, err
	}
	return b.AddCase(ctx, projectID, v.RuleID, n)
}

// find finds the verdict of the rule that is named.
func find(p *rule.Problems, verdicts []rule.RuleVerdict, ref string) *rule.RuleVerdict {
	if ref == "" && len(verdicts) == 1 {
		return &verdicts[0]
	}
	for i := range verdicts {
		if v := &verdicts[i]; ref != "" && (strings.EqualFold(v.RuleID, ref) || v.RuleSlug == ref) {
			return v
		}
	}
	if ref == "" {
		p.Add("rule_id", "is missing; the evaluation has verdicts of %d rules", len(verdicts))
	} else {
		p.Add("rule_id", "is %q, for which the evaluation has no verdict", ref)
	}
	return nil
}

// textOf writes a subject as the text of a sample.
func textOf(p *rule.Problems, in subject.Input) (text, inputType string) {
	code, facts := in.Diff != "" || len(in.Files) > 0, len(in.Facts) > 0 || in.Action != ""
	switch {
	case code && facts:
		p.Add("evaluation", "judged code beside facts; a test case holds one of them")
	case !code && !facts:
		p.Add("evaluation", "had nothing to judge")
	case code:
		text := in.Diff
		for i, f := range in.Files {
			if f.Content == nil {
				p.Add(fmt.Sprintf("evaluation.files[%d]", i), "came without its content as text")
				continue
			}
			text += AddedDiff(f.Path, *f.Content)
		}
		return text, Code
	case len(in.Facts) == 0:
		return in.Action, Facts
	default:
		all := map[string]any{}
		maps.Copy(all, in.Facts)
		if in.Action != "" {
			all[narrative] = in.Action
		}
		data, err := json.MarshalIndent(all, "", "  ")
		if err != nil {
			p.Add("evaluation", "has facts that cannot be written: %s", err)
		}
		return string(data), Facts
	}
	return "", ""
}

// AddedDiff writes a whole file as the diff that adds it, so that its path and lines stay in a sample.
func AddedDiff(path, content string) string {
	lines := strings.SplitAfter(content, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	var b strings.Builder
	fmt.Fprintf(&b, "diff --git %s %s\nnew file mode 100644\n", gitName("a/"+path), gitName("b/"+path))
	if len(lines) == 0 {
		return b.String()
	}
	fmt.Fprintf(&b, "--- /dev/null\n+++ %s\n@@ -0,0 +1,%d @@\n", gitName("b/"+path), len(lines))
	for _, l := range lines {
		b.WriteString("+" + l)
	}
	if !strings.HasSuffix(content, "\n") {
		b.WriteString("\n\\ No newline at end of file\n")
	}
	return b.String()
}

// gitName quotes a path as git does where it must.
func gitName(path string) string {
	if strings.ContainsAny(path, "\"\\\t\n\r") {
		return strconv.Quote(path)
	}
	return path
}
