package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"tenet/internal/app"
	"tenet/internal/catalog"
	"tenet/internal/client"
	"tenet/internal/rule"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// maxVerified bounds the rules that plan --verify looks at: each takes a request or two.
const maxVerified = 200

// verified holds the effects that a change of a rule would have.
type verified struct {
	Rule       string                  `json:"rule"`
	Action     string                  `json:"action"`
	Lint       []rule.Finding          `json:"lint,omitempty"`
	Failing    []failing               `json:"failing_cases,omitempty"`
	Undecided  int                     `json:"undecided_cases,omitempty"` // only a model can decide them
	Conflicts  []rule.RevisionConflict `json:"conflicts,omitempty"`
	Weakens    []string                `json:"weakens,omitempty"`
	Replay     *wire.RevisionReplay    `json:"replay,omitempty"`
	unreplayed bool
}

// failing is a test case that a rule would not keep.
type failing struct {
	Name string `json:"name"`
	Want string `json:"want"`
	Got  string `json:"got"`
}

// bad reports whether something speaks against the change.
func (v *verified) bad() bool { return len(v.Failing)+len(v.Conflicts) > 0 }

// verify looks at what a plan would lead to. No model is asked.
func verify(ctx context.Context, s *session, c *client.Client, files *ruleFiles, plan *rule.ImportResult, replay int) ([]verified, error) {
	all, err := catalog.Join(files.files)
	if err != nil {
		return nil, files.locate(err)
	}
	inputs := map[string]*wire.RuleInput{}
	for i := range all.Rules {
		in := &all.Rules[i]
		inputs[strings.ToLower(in.ID)] = in
		if in.Slug != nil {
			inputs[*in.Slug] = in
		}
	}
	var changed []rule.ImportChange
	for _, ch := range plan.Changes {
		if ch.Action != "retire" {
			changed = append(changed, ch)
		}
	}
	if len(changed) > maxVerified {
		s.note("the plan changes %d rules; the first %d are verified", len(changed), maxVerified)
		changed = changed[:maxVerified]
	}
	fromFiles, err := failingOfFiles(ctx, s, files, all.Cases, changed)
	if err != nil {
		return nil, err
	}
	show, done := s.bar("verifying")
	defer done()
	out := make([]verified, 0, len(changed))
	for i, ch := range changed {
		v := verified{Rule: cmp.Or(ch.Slug, ch.RuleID), Action: ch.Action, unreplayed: ch.Action == "create"}
		if ch.Action == "create" {
			err = v.created(ctx, c, inputs[ch.Slug])
		} else {
			err = v.revised(ctx, c, &ch, replay)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", v.Rule, err)
		}
		for _, f := range fromFiles[ch.Slug] {
			if !slices.ContainsFunc(v.Failing, func(stored failing) bool { return stored.Name == f.Name }) {
				v.Failing = append(v.Failing, f)
			}
		}
		out = append(out, v)
		show(i+1, len(changed))
	}
	return out, nil
}

// created looks at a new rule.
func (v *verified) created(ctx context.Context, c *client.Client, in *wire.RuleInput) error {
	if in == nil {
		return nil // it has neither slug nor id, of which plan warns
	}
	like := *in
	like.Relationships = nil
	got, err := client.Call(ctx, c, op.SimilarRules, wire.SimilarRequest{Rule: like})
	if err != nil {
		return err
	}
	v.Lint = got.Lint
	for _, x := range got.Contradictions {
		v.Conflicts = append(v.Conflicts, rule.RevisionConflict{RuleID: x.Rule.RuleID, Slug: x.Rule.RuleSlug, Statement: x.Rule.Excerpt, Reason: x.Reason})
	}
	return nil
}

// revised looks at the change of a stored rule, and tries its stored test cases.
func (v *verified) revised(ctx context.Context, c *client.Client, ch *rule.ImportChange, replay int) error {
	change, err := revisionOf(ch.Fields)
	if err != nil {
		return err
	}
	got, err := client.Call(ctx, c, op.PreviewRevision.At(ch.RuleID), wire.PreviewRevision{Change: change, Replay: replay})
	if err != nil {
		return err
	}
	v.Lint, v.Conflicts, v.Weakens, v.Replay = got.Rule.Findings, got.Conflicts, got.Weakens, got.Replay
	cases, err := client.Get(ctx, c, op.ListTestCases.At(ch.RuleID))
	if err != nil {
		return err
	}
	for _, k := range cases {
		ask := wire.PlaygroundRequest{RuleID: ch.RuleID, Revision: &change, ChecksOnly: true, SampleCode: k.SampleInput}
		if k.InputType == "facts" {
			ask.SampleCode, ask.SampleFacts = "", map[string]any{}
			if json.Unmarshal([]byte(k.SampleInput), &ask.SampleFacts) != nil {
				ask.SampleFacts = map[string]any{"narrative": k.SampleInput}
			}
		}
		answer, err := client.Call(ctx, c, op.PlaygroundEvaluate, ask)
		switch {
		case err != nil:
			return fmt.Errorf("test case %s: %w", k.Name, err)
		case answer.DecidedBy == rule.ByNone:
			v.Undecided++
		case answer.Verdict == k.ExpectedVerdict || k.ExpectedVerdict == rule.Deny && answer.Verdict == rule.NeedsConfirmation && softened(&got.Rule):
		default:
			v.Failing = append(v.Failing, failing{k.Name, string(k.ExpectedVerdict), string(answer.Verdict)})
		}
	}
	return nil
}

// softened reports whether violations of a rule need confirmation and are not denied.
func softened(r *rule.Rule) bool { return r.Enforcement != rule.Enforce || r.Modality == rule.Should }

// revisionOf makes the body of a revision of the fields that a plan changes. The status and relationships are no part of one.
func revisionOf(fields []rule.FieldChange) (wire.ReviseRule, error) {
	body := map[string]json.RawMessage{}
	for _, f := range fields {
		if f.Field != "status" && f.Field != "relationships" {
			body[f.Field] = f.After
			if len(f.After) == 0 {
				body[f.Field] = json.RawMessage("null")
			}
		}
	}
	var out wire.ReviseRule
	text, err := json.Marshal(body)
	if err == nil {
		err = json.Unmarshal(text, &out)
	}
	return out, err
}

// failingOfFiles tries the test cases of the files on the rules of the files, and returns those that fail by the slug of their rule.
func failingOfFiles(ctx context.Context, s *session, files *ruleFiles, cases []rule.FileCase, changed []rule.ImportChange) (_ map[string][]failing, err error) {
	cases = slices.DeleteFunc(slices.Clone(cases), func(k rule.FileCase) bool {
		return !slices.ContainsFunc(changed, func(ch rule.ImportChange) bool { return ch.Slug == k.Rule })
	})
	if len(cases) == 0 {
		return nil, nil
	}
	cfg, err := s.configure("", nil)
	if err != nil {
		return nil, err
	}
	cfg.JudgeModel = ""
	only := &ruleFiles{paths: files.paths, sources: files.sources}
	for _, f := range files.files {
		one := *f
		one.Cases, one.Federation = nil, nil
		for i := range one.Rules {
			one.Rules[i].Relationships = nil // of rules that are elsewhere
		}
		only.files = append(only.files, &one)
	}
	c, stop, err := s.throwAway(ctx, cfg, app.Options{Rules: only.effective()})
	if err != nil {
		return nil, files.locate(err)
	}
	defer func() {
		if stopErr := stop(); err == nil {
			err = stopErr
		}
	}()
	found := map[string][]failing{}
	for i := range cases {
		test, err := tryCase(ctx, c, &cases[i])
		if err != nil {
			return nil, err
		}
		if !test.Passed {
			found[test.Rule] = append(found[test.Rule], failing{test.Name, test.Want, test.Got})
		}
	}
	return found, nil
}

// printVerified shows what the changes of a plan would lead to.
func printVerified(s *session, list []verified) error {
	var b bytes.Buffer
	clean := 0
	for i := range list {
		v := &list[i]
		if len(v.Lint)+len(v.Failing)+len(v.Conflicts)+len(v.Weakens)+v.Undecided == 0 && (v.Replay == nil || len(v.Replay.Flips) == 0) {
			clean++
			continue
		}
		fmt.Fprintln(&b, s.bold(line(v.Rule)))
		printWeakens(s, &b, v.Weakens)
		for _, f := range v.Failing {
			fmt.Fprintf(&b, "    %s %s: want %s, got %s\n", s.red("failing case:"), line(f.Name), line(f.Want), line(f.Got))
		}
		if v.Undecided > 0 {
			fmt.Fprintf(&b, "    test cases that only a model can decide: %d\n", v.Undecided)
		}
		for _, x := range v.Conflicts {
			fmt.Fprintf(&b, "    %s %s %s: %s\n", s.red("contradicts"), cmp.Or(x.Slug, x.RuleID), line(x.Statement), line(x.Reason))
		}
		for _, f := range v.Lint {
			fmt.Fprintf(&b, "    %s %s\n", s.yellow(f.Code+":"), line(f.Message))
		}
		printFlips(s, &b, v.Replay)
	}
	fresh := 0
	for i := range list {
		if list[i].unreplayed {
			fresh++
		}
	}
	fmt.Fprintf(&b, "%s verified, nothing to say about %d", amount(len(list), "rule"), clean)
	if fresh > 0 {
		fmt.Fprintf(&b, "; new rules are not tried on recorded evaluations: %d", fresh)
	}
	fmt.Fprintln(&b)
	_, err := s.out.Write(b.Bytes())
	return err
}

// maxFlips bounds the evaluations that are shown for a rule.
const maxFlips = 5

func printFlips(s *session, b *bytes.Buffer, r *wire.RevisionReplay) {
	if r == nil || r.Evaluations == 0 {
		return
	}
	fmt.Fprintf(b, "    recorded evaluations: %d of %d would change", len(r.Flips), r.Replayed)
	if r.NeedModel > 0 {
		fmt.Fprintf(b, "; only a model can decide %d more", r.NeedModel)
	}
	fmt.Fprintln(b)
	for i, f := range r.Flips {
		if i == maxFlips {
			fmt.Fprintf(b, "      and %d more\n", len(r.Flips)-maxFlips)
			break
		}
		fmt.Fprintf(b, "      %s %s %s %s\n", f.EvaluationID, cmp.Or(string(f.Before), "not judged"), s.dim("→"), cmp.Or(string(f.After), "not judged"))
	}
}
