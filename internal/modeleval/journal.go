package modeleval

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"tenet/internal/rule"
	"tenet/internal/wire"
)

// journalVersion is the version of the form of a journal. Another version is refused.
const journalVersion = 1

// Journal is a file of what a run has found so far, a line of JSON each, so that a run that was broken off goes on where it was. Its first
// line says which model was asked by which prompts: what another one said is not mixed with it. It is safe for concurrent use.
type Journal struct {
	file  *os.File
	known map[string]entry

	mu sync.Mutex
}

// journalHead is the first line.
type journalHead struct {
	Journal int    `json:"journal"` // its version
	Model   string `json:"model"`
	Prompt  string `json:"prompt"`
}

// entry is any other line: one judgement, or one triage.
type entry struct {
	// Key is of the case and of which time it was judged, or of the rules that went through triage.
	Key  string    `json:"key"`
	ID   string    `json:"id"` // of the case, for readers
	Cost rule.Cost `json:"cost"`

	Verdict rule.Verdict   `json:"verdict,omitempty"`
	By      rule.DecidedBy `json:"by,omitempty"`
	Reason  string         `json:"reason,omitempty"`
	TookUS  int64          `json:"took_us,omitempty"`

	Triage   wire.TriageOutcome `json:"triage,omitempty"`
	RuledOut int                `json:"ruled_out,omitempty"` // of the other rules
}

var errNoJournal = rule.Errorf(rule.CodeInvalid, "this is no journal of an evaluation; name another file")

// OpenJournal reads the journal at path, or begins one there. The caller closes it. What a crash has left of the last line is cut off. A
// journal of another model or of other prompts, and a file that is no journal, is an error of code invalid, and stays as it was.
func OpenJournal(path, model, prompt string) (_ *Journal, err error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = f.Close()
			err = fmt.Errorf("%s: %w", path, err)
		}
	}()
	j := &Journal{file: f, known: map[string]entry{}}
	end, err := j.read(journalHead{journalVersion, model, prompt})
	if err != nil {
		return nil, err
	}
	if err := f.Truncate(end); err != nil {
		return nil, err
	}
	if _, err := f.Seek(end, io.SeekStart); err != nil {
		return nil, err
	}
	if end == 0 {
		return j, j.write(journalHead{journalVersion, model, prompt})
	}
	return j, nil
}

// read reads whole lines and returns where they end.
func (j *Journal) read(want journalHead) (end int64, err error) {
	lines := bufio.NewReader(j.file)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if err == io.EOF {
			if end > 0 {
				return end, nil
			}
			first, err := json.Marshal(want)
			if err != nil || !bytes.HasPrefix(first, line) {
				return 0, errNoJournal
			}
			return 0, nil
		}
		if err != nil {
			return 0, err
		}
		if n == 1 {
			var head journalHead
			if json.Unmarshal(line, &head) != nil || head.Journal == 0 {
				return 0, errNoJournal
			}
			if head != want {
				return 0, rule.Errorf(rule.CodeInvalid, "this journal (version %d) is of the model %q and prompts %s, not of version %d, %q and %s; name another file",
					head.Journal, head.Model, head.Prompt, want.Journal, want.Model, want.Prompt)
			}
		} else {
			var e entry
			if err := json.Unmarshal(line, &e); err != nil || e.Key == "" {
				return 0, rule.Errorf(rule.CodeInvalid, "line %d is not one of a journal; delete it, or name another file", n)
			}
			j.known[e.Key] = e
		}
		end += int64(len(line))
	}
}

// Close closes the file.
func (j *Journal) Close() error { return j.file.Close() }

// Len counts what the journal held when it was opened.
func (j *Journal) Len() int { return len(j.known) }

func (j *Journal) write(v any) error {
	line, err := json.Marshal(v)
	if err != nil {
		return err
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	_, err = j.file.Write(append(line, '\n'))
	return err
}

// judgement returns the nth judgement of a case: from the journal, or by judging, which it then writes down. A nil journal judges. What a
// context that ended has broken off is not written.
func (j *Journal) judgement(ctx context.Context, c *Case, n int, judge func() judgement) (judgement, error) {
	if j == nil {
		return judge(), nil
	}
	key := c.Hash + " " + strconv.Itoa(n) + " " + c.ID
	if e, ok := j.known[key]; ok {
		return judgement{verdict: e.Verdict, by: e.By, reason: e.Reason, cost: e.Cost, took: time.Duration(e.TookUS) * time.Microsecond}, nil
	}
	got := judge()
	if ctx.Err() != nil {
		return got, nil
	}
	return got, j.write(entry{Key: key, ID: c.ID, Cost: got.cost, Verdict: got.verdict, By: got.by, Reason: got.reason, TookUS: got.took.Microseconds()})
}

// triage does the same for a triage, whose outcome it sets.
func (j *Journal) triage(ctx context.Context, t *triaged, run func()) error {
	if j == nil {
		run()
		return nil
	}
	key := t.key()
	if e, ok := j.known[key]; ok {
		t.outcome, t.ruledOut, t.cost = e.Triage, e.RuledOut, e.Cost
		return nil
	}
	run()
	if ctx.Err() != nil {
		return nil
	}
	return j.write(entry{Key: key, ID: t.id, Cost: t.cost, Triage: t.outcome, RuledOut: t.ruledOut})
}

// key is of the case and of all rules that go through triage with its own.
func (t *triaged) key() string {
	h := sha256.New()
	for _, r := range t.rules {
		_, _ = fmt.Fprintf(h, "%q %s\n", r.Statement, r.Modality)
	}
	return t.c.Hash + " triage " + hex.EncodeToString(h.Sum(nil)[:8]) + " " + t.id
}
