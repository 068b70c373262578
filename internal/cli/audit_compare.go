package cli

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"tenet/internal/checkpoint"
	"tenet/internal/client"
	"tenet/internal/wire"
	"tenet/internal/wire/op"
)

// errNoCheckpoint reports a file without a checkpoint.
var errNoCheckpoint = errors.New("has no checkpoint: three lines, an empty line, and lines with signatures")

// maxCheckpoints bounds a file of checkpoints, in bytes.
const maxCheckpoints = 16 << 20

// compare compares the log with the checkpoints of a file, and of the witnesses of the policy, whose signatures it checks first.
func (k *auditVerifyCommand) compare(ctx context.Context, s *session, c *client.Client) (*wire.AuditComparison, error) {
	policy, err := k.readPolicy(ctx, s, c)
	if err != nil {
		return nil, err
	}
	var signed []string
	if k.Checkpoint != "" {
		data, err := readLimited(s, k.Checkpoint, maxCheckpoints)
		if err != nil {
			return nil, err
		}
		if signed = splitNotes(string(data)); len(signed) == 0 {
			return nil, fmt.Errorf("%s %w", k.Checkpoint, errNoCheckpoint)
		}
	}
	if k.Witnesses {
		more, err := askWitnesses(ctx, policy)
		if err != nil {
			return nil, err
		}
		signed = append(signed, more...)
	}
	var body wire.CompareAudit
	for _, text := range signed {
		// A checkpoint whose cosignatures came later is one all the same.
		seen, err := policy.Signed(text)
		if err != nil {
			return nil, fmt.Errorf("a checkpoint cannot be trusted: %w", err)
		}
		project := seen.Origin[strings.LastIndex(seen.Origin, "/")+1:]
		if s.globals.Project != "" && project != s.globals.Project {
			return nil, fmt.Errorf("the checkpoint is one of the log %s, which is not that of project %s", seen.Origin, s.globals.Project)
		}
		if body.Origin == "" {
			body.Origin = seen.Origin
		}
		if body.Origin != seen.Origin {
			return nil, fmt.Errorf("there are checkpoints of two logs, %s and %s; compare one at a time", body.Origin, seen.Origin)
		}
		body.Checkpoints = append(body.Checkpoints, wire.ComparedCheckpoint{Size: seen.Size, Root: base64.StdEncoding.EncodeToString(seen.Root[:])})
	}
	r, err := client.Call(ctx, c, op.CompareAudit, body)
	return &r, err
}

// printComparison reports on stderr, before the verification of the chain, which has the results on stdout.
func printComparison(s *session, r *wire.AuditComparison) error {
	for _, p := range r.Problems {
		fmt.Fprintf(s.err, "%s entry %d: %s\n", s.red("✗"), p.Seq, line(p.Message))
	}
	if len(r.Problems) > 0 {
		return exit(exitFound)
	}
	s.note("all %d checkpoints fit, the last with %d entries", r.Compared, r.Through)
	return nil
}

// readPolicy reads the policy. Without one, the keys are those of the server, which may lie about them.
func (k *auditVerifyCommand) readPolicy(ctx context.Context, s *session, c *client.Client) (*checkpoint.Policy, error) {
	if k.Policy != "" {
		data, err := readLimited(s, k.Policy, checkpoint.MaxPolicy)
		if err != nil {
			return nil, err
		}
		return checkpoint.ParsePolicy(data)
	}
	l, err := client.Get(ctx, c, op.GetAuditLog)
	if err != nil {
		return nil, fmt.Errorf("%w; give --policy", err)
	}
	if l.Policy == "" {
		return nil, errors.New("this installation has no key for checkpoints; give --policy")
	}
	s.note("the keys are those that the server gives; with --policy, it cannot lie about them")
	return checkpoint.ParsePolicy([]byte(l.Policy))
}

// splitNotes splits signed notes that follow one another.
func splitNotes(text string) []string {
	var notes []string
	var b strings.Builder
	signatures := false
	end := func() {
		if signatures {
			notes = append(notes, b.String())
		}
		b.Reset()
		signatures = false
	}
	for l := range strings.Lines(text) {
		is := strings.HasPrefix(l, "— ")
		if signatures && !is {
			end()
		}
		if b.Len() == 0 && strings.TrimSpace(l) == "" {
			continue
		}
		signatures = is
		b.WriteString(l)
	}
	end()
	return notes
}

// askWitnesses returns the newest checkpoints that the witnesses of a policy have cosigned.
func askWitnesses(ctx context.Context, policy *checkpoint.Policy) ([]string, error) {
	var signed []string
	web := &http.Client{Timeout: 15 * time.Second}
	for _, w := range policy.Witnesses {
		if w.URL == "" || len(policy.Logs) == 0 {
			continue
		}
		sum := sha256.Sum256([]byte(policy.Logs[0].Name()))
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, w.URL+"/"+hex.EncodeToString(sum[:])+"/checkpoint", nil)
		if err != nil {
			return nil, err
		}
		answer, err := web.Do(req)
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(io.LimitReader(answer.Body, checkpoint.MaxNote))
		_ = answer.Body.Close() // it was read
		if err != nil || answer.StatusCode != http.StatusOK {
			return nil, fmt.Errorf("the witness %s answered %s: %w", w.Name, answer.Status, err)
		}
		signed = append(signed, string(body))
	}
	if len(signed) == 0 {
		return nil, errors.New("the policy has no witness with an address")
	}
	return signed, nil
}
