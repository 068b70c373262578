package cli

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompletion(t *testing.T) {
	for words, want := range map[string]string{
		"che":                           "check",
		"rules ge":                      "get",
		"--data /srv rules ge":          "get",
		"rules list --stat":             "--status",
		"check --color a":               "auto always",
		"check --color=n":               "--color=never",
		"completion po":                 "powershell",
		"keys create --role rev":        "reviewer",
		"keys create --role admin --na": "--name",
		"check -- --fo":                 "",
		"rules list --severity C":       "CRITICAL",
		"rules list --severity = C":     "CRITICAL",
		"check --color =":               "auto always never",
		"check --environment s":         "staging",
		"evaluations list --verdict D":  "DENY",
	} {
		code, out, errs := run(t, "", append([]string{"completion", "words", "--"}, strings.Split(words, " ")...)...)
		var got []string
		for line := range strings.Lines(out) {
			word, _, _ := strings.Cut(line, "\t")
			got = append(got, strings.TrimSpace(word))
		}
		if code != 0 || strings.Join(got, " ") != want {
			t.Errorf("%q completes to %q, want %q (exit %d, %s)", words, got, want, code, errs)
		}
	}
	if code, out, _ := run(t, "", "completion", "words", "--", ""); code != 0 || !strings.Contains(out, "check\tJudge") {
		t.Errorf("exit %d, %s", code, out)
	}
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if code, out, _ := run(t, "", "completion", shell); code != 0 || !strings.Contains(out, "tenet completion words") {
			t.Errorf("%s: exit %d, %s", shell, code, out)
		}
	}
}

// The shells that this machine has complete words by their scripts.
func TestShellsComplete(t *testing.T) {
	t.Parallel()
	program := os.Getenv("TENET_TEST_PROGRAM")
	if program == "" {
		t.Skip("TENET_TEST_PROGRAM names no program; make test does")
	}
	for shell, ask := range map[string]string{
		"bash": `source <(tenet completion bash); COMP_WORDS=(tenet rules list --severity = C); COMP_CWORD=5; _tenet; printf '%s\n' "${COMPREPLY[@]}"`,
		"fish": `tenet completion fish | source; complete -C "tenet rules list --severity C"`,
		"zsh": `compdef() { :; }; _files() { :; }; _describe() { print -l -- ${(P)2}; }; source <(tenet completion zsh)
words=(tenet rules list --severity C); CURRENT=5; _tenet`,
	} {
		path, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("no %s here", shell)
			continue
		}
		cmd := exec.CommandContext(t.Context(), path, "-c", ask)
		cmd.Env = []string{"PATH=" + filepath.Dir(program) + ":" + os.Getenv("PATH"), "HOME=" + t.TempDir()}
		out, err := cmd.CombinedOutput()
		if got := strings.Trim(string(out), ": \t\r\n"); err != nil || got != "CRITICAL" {
			t.Errorf("%s completes to %q: %v", shell, got, err)
		}
	}
}

func TestHelpAndVersionAsUsersTypeThem(t *testing.T) {
	for args, want := range map[string]string{"help": "Commands:", "help rules get": "tenet rules get", "help check": "--staged", "--version": "tenet "} {
		if code, out, errs := run(t, "", strings.Fields(args)...); code != 0 || !strings.Contains(out, want) {
			t.Errorf("%s: exit %d, %s%s", args, code, out, errs)
		}
	}
	if code, _, errs := run(t, "", "help", "nothing"); code != exitFailed || !strings.Contains(errs, "nothing") {
		t.Errorf("exit %d, %s", code, errs)
	}
}

func TestHeadingsLeaveTheFindingsToTheReport(t *testing.T) {
	reason := "Tenet: this needs confirmation.\n- A (HIGH): One.\n- B (LOW): Two.\nTenet: a person has been asked.\nEvaluation x"
	if got := headings(reason); got != "Tenet: this needs confirmation.\nTenet: a person has been asked." {
		t.Errorf("%q", got)
	}
}
