package agent

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"tenet/internal/rule"
	"tenet/internal/subject"
	"tenet/internal/text"
	"tenet/internal/wire"
)

// check judges what is about to happen: the intent alone, or a diff, files or facts that the intent describes.
func (a *Agents) check(ctx context.Context, req *Request, past []turn) (*reply, error) {
	intent := withEarlier(req.Intent, past)
	in := &req.Input
	bare := strings.TrimSpace(in.Diff) == "" && !slices.ContainsFunc(in.Files, hasContent) && len(in.Facts) == 0
	words, diff := splitDiff(intent)
	switch {
	case bare && diff != "": // taken for words, it would pass by all rules about changes
		in.Diff = diff
		if !vague(words, 2) {
			in.Action = words
		}
	case bare && hunk.MatchString(intent):
		return clarify("That holds a part of a diff. Send the whole in the field diff; nothing was checked yet, so do not take this for a permission."), nil
	case bare && vague(intent, 2) && len(in.Files) == 0:
		return clarify("What exactly is to be done, to what, and by whom? Nothing was checked yet, so do not take this for a permission."), nil
	case bare && !vague(intent, 2): // names of files are no change that it describes
		in.Action = intent
	default:
		in.Intent = intent
	}
	req.step("evaluation", "judging by the rules")
	e, err := a.cfg.Evaluator.Evaluate(ctx, req)
	if err != nil {
		return nil, err
	}
	out := replyOf(e)
	if in.Intent != "" && permits(e) {
		out.reasoning += " What was judged are the diff, files or facts. The intent counts as a claim about them; ask about an action without them."
	}
	out.result = &wire.AgentCheckResult{Allowed: permits(e), Verdict: e.OverallVerdict, Evaluation: e}
	return out, nil
}

// hasContent reports whether the content of a file is given.
func hasContent(f subject.InputFile) bool { return f.Content != nil || f.ContentBase64 != nil }

// permits reports whether an evaluation is a permission: rules that apply and were left out give none.
func permits(e *rule.Evaluation) bool {
	return e.OverallVerdict == rule.Allow && e.Coverage.RulesCut == 0
}

// replyOf returns the reply that follows from an evaluation. An action that no rule could clear waits for a person.
func replyOf(e *rule.Evaluation) *reply {
	out := &reply{trace: e.EvaluationID, confidence: leastConfidence(e), memory: string(e.OverallVerdict)}
	denials, warnings := counted(e.Violations), counted(e.Warnings)
	switch e.OverallVerdict {
	case rule.Allow:
		judged := 0
		for _, v := range counted(e.RuleVerdicts) {
			if v.Concerned {
				judged++
			}
		}
		out.reasoning = fmt.Sprintf("All %d rules that concern it allow it.", judged)
		if e.Coverage.Uncovered != "" {
			out.reasoning, out.confidence = "No rule covers it, so nothing was checked; the project's policy does not ask for more.", 0
		}
		if cut := e.Coverage.RulesCut; cut > 0 {
			out.status, out.confidence = wire.AgentPendingApproval, 0
			out.reasoning = fmt.Sprintf("The %d rules that were judged allow it, but %d more apply and were not judged, so a person has to confirm it.", judged, cut)
			out.followUps = append(out.followUps, "Narrow the scope, or name the federation node, so that fewer rules apply.")
		}
	case rule.Deny:
		if len(denials) == 0 {
			out.reasoning = "No rule covers it, and the project's policy denies what none covers."
			out.followUps = append(out.followUps, "Ask a person.")
			break
		}
		out.reasoning = "It breaks " + namesOf(denials) + "."
		for _, v := range denials {
			if v.FixSuggestion != "" {
				out.followUps = append(out.followUps, label(&v)+": "+v.FixSuggestion)
			}
		}
		out.followUps = append(out.followUps, "Mend what is broken and check again.")
	case rule.NeedsConfirmation:
		out.status = wire.AgentPendingApproval
		out.reasoning = "Nobody could clear it by " + namesOf(warnings) + ", so a person has to confirm it."
		switch {
		case len(warnings) > 0:
		case e.Coverage.Uncovered != "":
			out.reasoning = "No rule covers it, so a person has to confirm it."
		case e.BelowFloor():
			out.reasoning = "The request went below the floor of the project's policy, so a person has to confirm it."
		default:
			out.reasoning = "There was nothing in it that a rule could be held against, so a person has to confirm it."
		}
		if a := e.Approval; a != nil {
			out.followUps = append(out.followUps, fmt.Sprintf("People are asked for the approval %s: %s. Once they have approved, ask exactly the same again, in a session of its own.", a.ID, a.URL))
		}
		for _, v := range warnings[:min(len(warnings), 3)] {
			out.followUps = append(out.followUps, label(&v)+": "+text.Clip(v.Reasoning, 300, " ..."))
		}
		out.followUps = append(out.followUps, "Ask a person to confirm, or give more detail in the same session.")
	}
	out.followUps = append(out.followUps, e.Notices...)
	if n := e.RulesWaived; n > 0 {
		out.reasoning += fmt.Sprintf(" Of the denials, %d are waived.", n)
	}
	for _, u := range e.Coverage.Unexamined[:min(len(e.Coverage.Unexamined), 3)] {
		out.followUps = append(out.followUps, "Not examined: "+u.Part+" ("+u.Reason+")")
	}
	out.memory += ": " + out.reasoning
	return out
}

// counted returns the verdicts that count in the overall one.
func counted(verdicts []rule.RuleVerdict) []rule.RuleVerdict {
	var out []rule.RuleVerdict
	for i := range verdicts {
		if verdicts[i].Counts() {
			out = append(out, verdicts[i])
		}
	}
	return out
}

// leastConfidence is the least of the verdicts that the overall verdict rests on; 0 where it rests on none.
func leastConfidence(e *rule.Evaluation) float64 {
	least, measured := 1.0, false
	for i := range e.RuleVerdicts {
		if v := &e.RuleVerdicts[i]; v.Counts() && v.Verdict == e.OverallVerdict {
			least, measured = min(least, v.Confidence), true
		}
	}
	if !measured {
		return 0
	}
	return least
}

// namesOf names the rules of verdicts in words.
func namesOf(verdicts []rule.RuleVerdict) string {
	const most = 5
	var labels []string
	for i := range verdicts[:min(len(verdicts), most)] {
		labels = append(labels, label(&verdicts[i]))
	}
	text := strings.Join(labels, ", ")
	if n := len(verdicts) - most; n > 0 {
		text += fmt.Sprintf(" and %d more", n)
	}
	return text
}

// label is the name of a rule for people.
func label(v *rule.RuleVerdict) string {
	if v.RuleSlug != "" {
		return v.RuleSlug
	}
	return `"` + text.Clip(v.RuleStatement, 80, " ...") + `"`
}

// hunk is a line that only diffs have, with the marks of quotes before it.
var hunk = regexp.MustCompile(`(?m)^[ \t>|+-]*@@ -\d+(,\d+)? \+\d+(,\d+)? @@`)

// splitDiff cuts a text into words and the diff after them, without the code fence around it. diff is empty if the text has none.
func splitDiff(text string) (words, diff string) {
	for at := 0; at < len(text); {
		if rest := text[at:]; beginsDiff(rest) {
			words, diff = strings.TrimSpace(text[:at]), rest
			open := strings.LastIndex(words, "```")
			if body, closed := strings.CutSuffix(strings.TrimRight(diff, " \t\r\n"), "```"); closed && open >= 0 && !strings.Contains(words[open:], "\n") {
				words, diff = strings.TrimSpace(words[:open]), body
			}
			return words, diff
		}
		end := strings.IndexByte(text[at:], '\n')
		if end < 0 {
			break
		}
		at += end + 1
	}
	return text, ""
}

// beginsDiff reports whether a text begins with the first line of a diff.
func beginsDiff(text string) bool {
	if strings.HasPrefix(text, "diff --git ") {
		return true
	}
	if !strings.HasPrefix(text, "--- ") {
		return false
	}
	_, rest, _ := strings.Cut(text, "\n")
	return strings.HasPrefix(rest, "+++ ") && strings.Contains(rest, "\n@@ ")
}
