package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"time"

	"tenet/internal/hook"
	"tenet/internal/rule"
)

// probeVar holds a word by which tenet hook test plants an act: what has it in it is denied.
const probeVar = "TENET_HOOK_PROBE"

// minProbe is the least length of that word, so that no ordinary text has it.
const minProbe = 16

// judgement is an entry of the journal of hooks: that one judged, and with which decision; nothing of the content.
type judgement struct {
	At       time.Time     `json:"at"`
	Tool     string        `json:"tool"`
	Root     string        `json:"root,omitempty"`
	Decision hook.Decision `json:"decision"`
	Version  string        `json:"version,omitempty"`
}

// Bounds of the journal in bytes: beyond the first, only the newest entries of the second are kept.
const (
	maxJournal  = 256 << 10
	keptJournal = 64 << 10
)

// journalFile is the file of the journal, in the folder of the user's state; empty without one.
func journalFile(env func(string) string) string {
	folder := env("XDG_STATE_HOME")
	if !filepath.IsAbs(folder) {
		if env("HOME") == "" {
			return ""
		}
		folder = filepath.Join(env("HOME"), ".local", "state")
	}
	return filepath.Join(folder, "tenet", "hooks.jsonl")
}

// noteJudgement adds an entry to the journal. A hook does not fail for want of one.
func noteJudgement(s *session, tool, dir string, d hook.Decision) {
	name := journalFile(s.env)
	if name == "" || s.env(probeVar) != "" {
		return
	}
	root := hook.Root(absolute(dir))
	b, err := json.Marshal(judgement{time.Now().UTC().Truncate(time.Second), tool, root, d, version()})
	if err != nil || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	if info, err := os.Stat(name); err == nil && info.Size() > maxJournal {
		shorten(name)
	}
	f, err := os.OpenFile(name, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return
	}
	_, _ = f.Write(append(b, '\n')) // one write, so that hooks at the same time do not mix their lines
	_ = f.Close()
}

// absolute returns the absolute name of a folder; an empty one is the current folder.
func absolute(dir string) string {
	if full, err := filepath.Abs(dir); err == nil {
		return full
	}
	return dir
}

// shorten keeps the newest entries of the journal.
func shorten(name string) {
	b, err := os.ReadFile(name)
	if err != nil || len(b) < keptJournal {
		return
	}
	b = b[len(b)-keptJournal:]
	_, b, _ = bytes.Cut(b, []byte("\n"))
	f, err := os.CreateTemp(filepath.Dir(name), ".hooks-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if closed := f.Close(); err != nil || closed != nil || os.Rename(f.Name(), name) != nil {
		_ = os.Remove(f.Name())
	}
}

// journal returns the last entry for each tool, and for each tool and root. Lines that are malformed are left out.
func journal(env func(string) string) map[string]judgement {
	last := map[string]judgement{}
	b, err := os.ReadFile(journalFile(env))
	if err != nil {
		return last
	}
	for line := range bytes.Lines(b) {
		var j judgement
		if json.Unmarshal(line, &j) == nil && j.Tool != "" {
			last[j.Tool] = j
			last[j.Tool+"\n"+j.Root] = j
		}
	}
	return last
}

// probed reports whether a question holds the word that tenet hook test has planted.
func probed(s *session, q *hook.Question) bool {
	word := s.env(probeVar)
	if len(word) < minProbe {
		return false
	}
	has := func(text string) bool { return bytes.Contains([]byte(text), []byte(word)) }
	if has(q.Action) || has(q.Diff) {
		return true
	}
	for i := range q.Calls {
		if bytes.Contains(q.Calls[i].Arguments, []byte(word)) {
			return true
		}
	}
	for i := range q.Files {
		if text := q.Files[i].Content; text != nil && has(*text) {
			return true
		}
	}
	return false
}

// maxDemands is how many folders the file of demands remembers.
const maxDemands = 200

// demandsFile is the file of the fail modes that servers demand, by the root of the judged folder; empty without a folder for it.
func demandsFile(env func(string) string) string {
	name := journalFile(env)
	if name == "" {
		return ""
	}
	return filepath.Join(filepath.Dir(name), "fail_modes.json")
}

// readDemands returns what servers demanded when they last judged something in each folder. A file that cannot be read is none.
func readDemands(env func(string) string) map[string]rule.FailModes {
	all := map[string]rule.FailModes{}
	if name := demandsFile(env); name != "" {
		if b, err := os.ReadFile(name); err != nil || json.Unmarshal(b, &all) != nil || all == nil {
			return map[string]rule.FailModes{}
		}
	}
	return all
}

// demandsOf returns the fail modes with what the server demanded when it last judged something in a folder: where it cannot be asked now,
// that still holds.
func demandsOf(s *session, dir string, modes rule.FailModes) rule.FailModes {
	return modes.Demanding(readDemands(s.env)[hook.Root(absolute(dir))])
}

// noteDemands remembers what the server demands in a folder. A hook does not fail if it cannot.
func noteDemands(s *session, dir string, list []*rule.Evaluation) {
	name, root := demandsFile(s.env), hook.Root(absolute(dir))
	if name == "" || len(list) == 0 {
		return
	}
	var demands rule.FailModes
	for _, e := range list {
		demands = demands.And(e.FailModes)
	}
	all := readDemands(s.env)
	if all[root].String() == demands.String() {
		return
	}
	if delete(all, root); len(demands) > 0 {
		if len(all) >= maxDemands {
			clear(all)
		}
		all[root] = demands
	}
	b, err := json.Marshal(all)
	if err != nil || os.MkdirAll(filepath.Dir(name), 0o700) != nil {
		return
	}
	f, err := os.CreateTemp(filepath.Dir(name), ".fail_modes-*")
	if err != nil {
		return
	}
	_, err = f.Write(b)
	if errors.Join(err, f.Close()) != nil || os.Rename(f.Name(), name) != nil {
		_ = os.Remove(f.Name())
	}
}
