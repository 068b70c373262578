package cli

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"time"

	"tenet/internal/client"
	"tenet/internal/report"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

// submitCommand is `tenet submit`.
type submitCommand struct {
	File string `arg:"" help:"JSON file with the subject, or with a whole submission; - reads stdin."`

	Scope       string        `group:"How" type:"filled" placeholder:"PATH" help:"Scope of the subject, such as finance/payments."`
	Node        string        `group:"How" type:"filled" placeholder:"NODE" help:"Judge by the rules that hold at this federation node: its id, or its name or path of names."`
	Environment string        `group:"How" type:"filled" placeholder:"NAME" help:"Environment whose deployed rules apply: production, staging or development."`
	Mode        rule.Mode     `group:"How" placeholder:"MODE" help:"preflight (default) or posthoc."`
	SeverityMin rule.Severity `group:"How" placeholder:"LEVEL" help:"Least severity that is judged: LOW, MEDIUM (default), HIGH or CRITICAL."`
	MaxRules    int           `group:"How" placeholder:"N" help:"Most rules that are judged, 1 to 100 (default 20)."`
	ID          string        `group:"How" placeholder:"ID" help:"Your own id of the submission; sending it again gives the same answer."`
	Async       bool          `group:"How" help:"Have it evaluated in the background and print its id; needs a server."`
	Timeout     time.Duration `group:"How" default:"5m" placeholder:"TIME" help:"Longest time to wait for the verdicts (default 5m)."`

	FailOn    string `group:"Result" enum:"deny,confirmation,never" default:"deny" help:"What exits with 1: deny (default), confirmation (DENY and NEEDS_CONFIRMATION) or never."`
	Undecided string `group:"Result" type:"filled" placeholder:"WORDS" help:"What follows from a rule that nothing could decide: fail, warn or pass; one word, or one for each severity (setting undecided)."`
	output
	Verbose bool `group:"Result" short:"v" help:"Show the rules that are kept, too."`
}

func (submitCommand) Help() string {
	return `The file holds a subject of one of seven kinds (code_change, business_event, document, transaction, communication,
decision_request, tool_call), or a whole submission with the subject and how it is to be judged; flags win over the file.

Exit codes are those of check: 0 nothing is violated, 1 something is, 2 it could not be judged.

Example:

    echo '{"kind": "transaction", "transaction_type": "payment", "amount": 25000, "currency": "EUR"}' | tenet submit -`
}

// maxSubmission bounds the file, in bytes: more than any server takes.
const maxSubmission = 128 << 20

func (k *submitCommand) Run(ctx context.Context, s *session) error {
	sub, err := k.read(s)
	if err != nil {
		return err
	}
	if k.Async && s.globals.Server == "" && s.env("TENET_SERVER") == "" {
		return errors.New("--async needs a server to do the work; name it with --server")
	}
	policy, err := readUndecided(s, k.Undecided)
	if err != nil {
		return err
	}
	// As for check, a settings file must be named: that of the current folder is of the checkout, which may be the judged one's.
	c, stop, err := s.connect(ctx, readsData, "")
	if err != nil {
		return err
	}
	return closed(k.judge(ctx, s, c, sub, policy), stop)
}

// judge has the submission judged within the time limit.
func (k *submitCommand) judge(ctx context.Context, s *session, c *client.Client, sub *client.Submit, policy undecidedPolicy) error {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	if k.Node != "" {
		node, err := findNode(ctx, c, k.Node)
		if err != nil {
			return err
		}
		sub.NodeID = node.ID
	}
	if k.Async {
		later, err := c.SubmitLater(ctx, *sub)
		if err != nil {
			return err
		}
		return show(s, k.output, later, nil, func(s *session, later wire.SubmissionState) error {
			_, err := fmt.Fprintf(s.out, "%s %s\n", later.SubmissionID, later.Status)
			return err
		})
	}
	done := s.progress("judging")
	a, err := c.Submit(ctx, *sub)
	done()
	if err != nil {
		return err
	}
	return k.report(s, a, policy)
}

func (k *submitCommand) report(s *session, a *wire.SubmissionAnswer, policy undecidedPolicy) error {
	var err error
	if k.json() {
		err = printJSON(s.out, a)
	} else {
		o := report.Options{Color: s.colour, Version: version(), Verbose: k.Verbose, ConfirmFails: k.FailOn == "confirmation", NotKept: s.scratch}
		err = paged(s, func() error { return report.Write(s.out, report.Text, &a.Evaluation, o) })
	}
	// If the reader of the report has gone, the verdict still decides the exit code.
	if err != nil && !errors.Is(err, syscall.EPIPE) {
		return err
	}
	notePage(s, a.Evaluation)
	return verdict(s, &a.Evaluation, k.FailOn, policy)
}

// read reads the file and puts the flags on top.
func (k *submitCommand) read(s *session) (*client.Submit, error) {
	data, err := k.bytes(s)
	if err != nil {
		return nil, err
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil || fields == nil {
		return nil, fmt.Errorf("%s does not hold a JSON object", k.File)
	}
	sub := &client.Submit{Subject: data}
	if _, whole := fields["subject"]; whole {
		sub.Subject = nil
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(sub); err != nil {
			return nil, fmt.Errorf("%s is not a submission: %s", k.File, strings.TrimPrefix(err.Error(), "json: "))
		}
	}
	sub.Scope, sub.Environment = cmp.Or(k.Scope, sub.Scope), cmp.Or(k.Environment, sub.Environment)
	sub.SubmissionID = cmp.Or(k.ID, sub.SubmissionID)
	sub.Mode, sub.SeverityMin = cmp.Or(k.Mode, sub.Mode), cmp.Or(k.SeverityMin, sub.SeverityMin)
	sub.MaxRules = cmp.Or(k.MaxRules, sub.MaxRules)
	return sub, nil
}

func (k *submitCommand) bytes(s *session) ([]byte, error) {
	in := s.in
	if k.File != "-" {
		f, err := os.Open(k.File)
		if err != nil {
			return nil, err
		}
		defer func() { _ = f.Close() }() // opened for reading
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSubmission+1))
	if err == nil && len(data) > maxSubmission {
		err = fmt.Errorf("%s has more than %d MiB", k.File, maxSubmission>>20)
	}
	return data, err
}
