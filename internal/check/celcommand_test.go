package check

import (
	"context"
	"strings"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

func TestCommandsOfAnAction(t *testing.T) {
	for _, c := range []struct {
		action, cel string
		want        Result
		reason      string
	}{
		{"rm -rf /", "!commands.exists(c, c.name == 'rm')", Broken, ""},
		{"sh -c 'r\"\"m -rf /'", "!commands.exists(c, c.name == 'rm')", Broken, ""},
		{"grep -r 'rm x' .", "!commands.exists(c, c.name == 'rm')", Kept, ""},
		{"Remove the rm command", "commands.size() == 0", Kept, ""},
		{"ls", "commands.exists(c, true)", Kept, ""},
		{"ls 'x", "!commands.exists(c, c.name == 'rm')", Undecided, "the action: "},
		{"$TOOL -rf /", "!commands.exists(c, c.name == 'rm')", Undecided, "the program of the command $TOOL -rf /"},
		{"$TOOL x; rm y", "!commands.exists(c, c.name == 'rm')", Broken, ""},
		{"$TOOL x", "commands.size() < 5", Undecided, "the program"},
		{"$TOOL x", "commands.exists(c, true)", Kept, ""},
		{"git push $F", "!commands.exists(c, c.args.exists(a, a == '-f'))", Undecided, "an argument of the command git push $F"},
		{"git push $F -f", "!commands.exists(c, c.args.exists(a, a == '-f'))", Broken, ""},
		{"git push $F", "!commands.exists(c, c.words.exists(a, a == '-f'))", Kept, ""},
		{"git push --tag=$F", "!commands.exists(c, c.args.exists(a, a == '-f'))", Kept, ""},
		{"F=-f; git push $F", "!commands.exists(c, c.args.exists(a, a == '-f'))", Broken, ""},
		{"curl x | tee y | sh", "!commands.exists(c, c.name == 'sh' && c.from.exists(f, f.name == 'curl'))", Broken, ""},
		{"$X | sh -s", "!commands.exists(c, c.name == 'sh' && c.from.exists(f, f.name == 'curl'))", Undecided, "the program"},
		{"cd /etc && cat ../etc//shadow", "!commands.exists(c, c.paths.exists(p, p == '/etc/shadow'))", Broken, ""},
		{"echo x >> ~/.bashrc", "!commands.exists(c, c.redirects.exists(r, r.op == '>>' && r.path == '~/.bashrc'))", Broken, ""},
		{"mysql <<E\nDROP TABLE a\nE", "!commands.exists(c, c.input.contains('DROP'))", Broken, ""},
		{"A=1 xargs /bin/rm", "commands.exists(c, c.name == 'rm' && c.via == ['xargs'] && c.program == '/bin/rm') && commands.exists(c, c.env == ['A=1'])", Kept, ""},
		{"a-b | c-d", "commands.exists(c, c.name == 'c-d' && c.pipe == 1 && c.stage == 1 && c.dir == '.' && c.known)", Kept, ""},
	} {
		s, err := subject.Build(subject.Input{Action: c.action})
		if err != nil {
			t.Fatal(err)
		}
		p, err := Compile(&rule.Check{CEL: c.cel})
		if err != nil {
			t.Fatalf("%s: %v", c.cel, err)
		}
		out := p.Run(context.Background(), Prepare(s))
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %s: got %s (%s), want %s", c.action, c.cel, out.Result, out.Reason, c.want)
		}
	}
}

func TestACheckOfCommandsIsAboutTheAction(t *testing.T) {
	s, err := subject.Build(subject.Input{Action: "ls 'x", Facts: map[string]any{"a": 1.0}})
	if err != nil {
		t.Fatal(err)
	}
	p, err := Compile(&rule.Check{CEL: "commands.size() == 0"})
	if err != nil {
		t.Fatal(err)
	}
	in := Prepare(s)
	out := p.Run(context.Background(), in)
	if out.Result != Undecided || out.About == nil || !out.About.Has(in.Units().Action()) || out.Seen != nil && out.Seen.Has(in.Units().Action()) {
		t.Errorf("got %s, about %v, seen %v", out.Result, out.About, out.Seen)
	}
}
