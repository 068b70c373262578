package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/hook"
)

func TestTheJournalOfHooksIsBounded(t *testing.T) {
	home := t.TempDir()
	s := &session{env: func(name string) string { return map[string]string{"HOME": home}[name] }}
	for range 6000 {
		noteJudgement(s, "cursor", home, hook.Ask)
	}
	noteJudgement(s, "codex", home, hook.Deny)
	info, err := os.Stat(journalFile(s.env))
	if err != nil || info.Size() > maxJournal+1000 || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	last := journal(s.env)
	if last["codex"].Decision != hook.Deny || last["cursor"].Decision != hook.Ask || last["cursor"].At.IsZero() {
		t.Errorf("%+v", last)
	}
	if left, err := filepath.Glob(filepath.Join(home, ".local", "state", "tenet", ".hooks-*")); err != nil || len(left) > 0 {
		t.Errorf("%v is left (%v)", left, err)
	}
	if err := os.WriteFile(journalFile(s.env), []byte("{\nnull\n{\"tool\":1}\n"+strings.Repeat("x", 100)), 0o600); err != nil {
		t.Fatal(err)
	}
	if last := journal(s.env); len(last) != 0 {
		t.Errorf("%+v", last)
	}
}

func TestAHookWithoutAStateFolderStillAnswers(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, errs := runIn(t.Context(), t, pushes, []string{"HOME=" + t.TempDir(), "XDG_STATE_HOME=" + file, "TENET_NO_SEED=true"}, "hook", "claude-code")
	if code != 0 || strings.Contains(out, "deny") {
		t.Errorf("exits with %d, %s and %s", code, out, errs)
	}
}

func TestAPlantedWordOnlyDenies(t *testing.T) {
	for word, denies := range map[string]bool{"tenet-planted-ABCDEF": true, "git": false, "": false} {
		payload := strings.Replace(pushes, "git status", "git status # tenet-planted-ABCDEF", 1)
		code, out, _ := runIn(t.Context(), t, payload, []string{"TENET_NO_SEED=true", fmt.Sprintf("%s=%s", probeVar, word)}, "hook", "claude-code")
		if (code == 2 && strings.Contains(out, "planted")) != denies {
			t.Errorf("%q: exits with %d and %s", word, code, out)
		}
	}
}
