package check

import (
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

// The short forms give what their long forms give, also for what is not known.
func TestShortFormsOfCommandsAreTheirLongForms(t *testing.T) {
	actions := []string{
		"rm -rf /etc/passwd", "cp a /etc/hosts", "cp /etc/hosts a", "cp", "mv /etc/hosts a", "sed -i s/a/b/ /etc/hosts", "sed s/a/b/ /etc/hosts", "echo x > /etc/hosts",
		"echo x | tee -a /etc/hosts", "cat < /etc/hosts", "git push --force", "git push $FLAGS", "$X /etc/hosts", "ls; (", "find the invoice", "perl -pi -e 1 ~/a",
		"cat <<E >/etc/hosts\nx\nE", "install -m 600 a /etc/hosts", "xargs rm < list", "sh -c 'touch /etc/hosts'",
	}
	const etc = `'^/etc/'`
	for short, long := range map[string]string{
		"c.runs('rm', 'mv')":     "c.name in ['rm', 'mv']",
		"c.says('^(push|-rf)$')": "c.words.exists(w, w.matches('^(push|-rf)$'))",
		"c.takes('^--force$')":   "c.args.exists(a, a.matches('^--force$'))",
		"c.touches(" + etc + ")": "c.paths.exists(p, p.matches(" + etc + "))",
		"c.writes(" + etc + ")":  "c.redirects.exists(r, r.op in ['>', '>>', '>|', '&>', '&>>', '<>'] && r.path.matches(" + etc + "))",
		"c.changes(" + etc + ")": strings.ReplaceAll("c.name in ['cp', 'mv', 'ln', 'install', 'rsync', 'ditto'] && c.paths.size() > 0 && c.paths[c.paths.size() - 1].matches(X)"+
			" || c.name in ['tee', 'touch', 'mkdir', 'mktemp', 'sponge', 'ed', 'ex'] && c.paths.exists(p, p.matches(X)) || c.name in ['mv', 'rm', 'unlink'] && c.paths.exists(p, p.matches(X))"+
			" || c.name in ['sed', 'gsed', 'perl', 'ruby'] && c.words.exists(w, w.matches('^(-[a-zA-Z]*i.*|--in-place.*)$')) && c.paths.exists(p, p.matches(X))"+
			" || c.redirects.exists(r, r.op in ['>', '>>', '>|', '&>', '&>>', '<>'] && r.path.matches(X))", "X", etc),
	} {
		results := map[Result]bool{}
		for _, action := range actions {
			run := func(question string) Outcome {
				p, err := Compile(&rule.Check{When: "commands.exists(c, true)", CEL: "!commands.exists(c, " + question + ")"})
				if err != nil {
					t.Fatalf("%s: %v", question, err)
				}
				s, err := subject.Build(subject.Input{Action: action})
				if err != nil {
					t.Fatal(err)
				}
				return p.Run(t.Context(), Prepare(s))
			}
			got, want := run(short), run(long)
			if got.Result != want.Result || got.Result == Undecided && got.Reason != want.Reason {
				t.Errorf("%s of %s: %s (%s), want %s (%s)", short, action, got.Result, got.Reason, want.Result, want.Reason)
			}
			results[got.Result] = true
		}
		if !results[Broken] || !results[Kept] {
			t.Errorf("%s: the actions try only %v", short, results)
		}
	}
	for _, wrong := range []string{"c.runs()", "c.runs(c.program)", "c.says(c.dir)", "c.touches('[')", "c.changes('(')", "subject.runs('x')", "c.writes()"} {
		if _, err := Compile(&rule.Check{CEL: "!commands.exists(c, " + wrong + ")"}); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("%s: %v", wrong, err)
		}
	}
}
