package cli

import (
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
