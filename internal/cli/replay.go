package cli

import (
	"context"
	"errors"
	"fmt"

	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// replayCommand is `tenet replay`.
type replayCommand struct {
	ID   string `arg:"" help:"Id of the evaluation."`
	Live bool   `help:"Ask the model again instead of using its recorded answers."`
	output
}

func (replayCommand) Help() string {
	return `Checks run again on the recorded subject and the recorded versions of the rules, and the judge decides by the
recorded answers of the model; no model is asked. With --live it is asked again, which shows what it would say now.

A verdict that rests on a secret, which the record does not hold, is unreplayable: that is no difference.

Exit codes: 0 all that can be replayed comes out the same, 1 something differs, 2 nothing can be replayed.

Example:

    tenet replay 01932b7e-5c1f-7a30-9d0e-3f6f4a3f2b11`
}

func (k *replayCommand) Run(ctx context.Context, s *session, c *client.Client) error {
	done := s.progress("replaying")
	r, err := client.Call(ctx, c, op.ReplayEvaluation.At(k.ID), wire.ReplayRequest{Live: k.Live})
	done()
	err = show(s, k.output, &r, err, printReplay)
	switch {
	case err != nil:
		return err
	case !r.Agrees:
		return exit(exitFound)
	case r.Unreplayable > 0 && r.Unreplayable == len(r.Rules):
		return exit(exitFailed)
	}
	return nil
}

func printReplay(s *session, r *wire.Replay) error {
	for _, v := range r.Rules {
		name, mark := v.RuleSlug, s.green("=")
		if name == "" {
			name = v.RuleID
		}
		switch v.Outcome {
		case wire.ReplaySame:
		case wire.ReplayDiffers:
			mark = s.red("≠")
		case wire.ReplayImpossible:
			mark = s.yellow("?")
		}
		text := fmt.Sprintf("%s %s %s", mark, name, v.Recorded)
		if v.Outcome != wire.ReplaySame {
			text += fmt.Sprintf(" (%s: %s)", v.Outcome, line(v.Reason))
		}
		if _, err := fmt.Fprintln(s.out, text); err != nil {
			return err
		}
	}
	if r.Problem != "" {
		if _, err := fmt.Fprintln(s.out, s.red("✗"), r.Problem); err != nil {
			return err
		}
	}
	word := s.green("agrees")
	switch {
	case !r.Agrees:
		word = s.red("differs")
	case r.Unreplayable > 0 && r.Unreplayable == len(r.Rules):
		word = s.yellow("cannot be replayed")
	}
	triaged := ""
	if r.Triaged > 0 {
		triaged = fmt.Sprintf("; triage of %d rules", r.Triaged)
	}
	_, err := fmt.Fprintf(s.out, "evaluation %s %s: %d verdicts, %d differ, %d cannot be replayed%s\n", r.EvaluationID, word, len(r.Rules), r.Differing, r.Unreplayable, triaged)
	return err
}

// feedbackCommand is `tenet feedback`.
type feedbackCommand struct {
	Evaluation string `arg:"" help:"Id of the evaluation."`
	Rule       string `arg:"" help:"Id or slug of the rule."`
	Correct    bool   `xor:"word" required:"" help:"The verdict was right."`
	Wrong      bool   `xor:"word" required:"" help:"The verdict was wrong."`
	Note       string `placeholder:"TEXT" help:"Why."`
	output
}

func (feedbackCommand) Help() string {
	return `What you say takes the place of what you have said about the same verdict before. Precision and recall of the rule
follow from it (GET /api/v1/rules/{id}/quality), and from 20 pieces of feedback on, the confidence of its judged verdicts.

Example:

    tenet feedback 01932b7e-5c1f-7a30-9d0e-3f6f4a3f2b11 SEC-003 --wrong --note "The key is an example."`
}

func (k *feedbackCommand) Run(ctx context.Context, s *session) error {
	if k.Correct == k.Wrong {
		return errors.New("say --correct or --wrong")
	}
	return s.with(ctx, keepsData, func(c *client.Client) error {
		f, err := client.Call(ctx, c, op.GiveFeedback.At(k.Evaluation), wire.FeedbackRequest{RuleID: k.Rule, Correct: k.Correct, Note: k.Note})
		err = show(s, k.output, f, err, func(s *session, f wire.Feedback) error {
			word := "wrong"
			if f.Correct {
				word = "correct"
			}
			_, err := fmt.Fprintf(s.out, "noted: %s of rule %s was %s\n", f.Verdict, k.Rule, word)
			return err
		})
		if err == nil {
			noteAddress(s, "", "evaluations", k.Evaluation)
		}
		return err
	})
}
