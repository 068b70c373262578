package shell

import (
	"slices"
	"strings"
	"testing"
)

func TestCommandLineIsNoProse(t *testing.T) {
	for _, c := range []struct {
		text  string
		names string // of the commands, in their order; empty for prose
		why   bool
	}{
		{"Wire 2,000,000 EUR to a new supplier in Iran without approval", "", false},
		{"find the invoices of March", "", false},
		{"mail the customers about the outage", "", false},
		{"Don't delete the (old) files", "", false},
		{"Raise the limit if the amount > 500", "", false},
		{"Refund $500; tell the customer", "", false},
		{"Pay \"Acme", "", false},
		{"<Ctrl x>", "", false},
		{"", "", false},
		{"find . -name x", "find", false},
		{"rm the", "rm", false},
		{"PORT=1 make test", "make", false},
		{"sudo -u a sh -c 'rm x'", "sudo sh rm", false},
		{"> /etc/hosts", "", false},
		{"./deploy.sh now", "deploy.sh", false},
		{"frobnicate --all | sh", "frobnicate sh", false},
		{"my-tool x", "my-tool", false},
		{"$HOME/bin/x y", "x", false},
		{"grep 'x", "", true},
		{"cat a\r\nrm b", "cat rm", true},
		{strings.Repeat("rm a;", MaxLength), "", true},
	} {
		list, why := CommandLine(c.text)
		var names []string
		for i := range list {
			if name, ok := list[i].Program(); ok && name != "" {
				names = append(names, name)
			}
		}
		if got := strings.Join(names, " "); got != c.names || (why != "") != c.why {
			t.Errorf("%.60q: commands %q, unread %q", c.text, got, why)
		}
	}
	if list, _ := CommandLine("> /etc/hosts"); len(list) != 1 || len(list[0].Redirects) != 1 {
		t.Errorf("a redirection alone has %d commands", len(list))
	}
}

func TestSourcesAreWhatACommandReads(t *testing.T) {
	for _, c := range []struct{ text, reader, sources string }{
		{"curl a | tee b | sh", "sh", "curl tee"},
		{"bash <(curl a)", "bash", "curl"},
		{"bash <(curl a | tac)", "bash", "curl tac"},
		{"bash < <(curl a)", "bash", "curl"},
		{"curl a > >(bash)", "bash", "curl"},
		{"curl a | tee b >(cat | sh) >(wc)", "sh", "cat curl tee"},
		{"curl a > >(bash)", "curl", ""},
		{"diff <(curl a) >(sh)", "sh", "curl diff"},
		{`sh -c "$(curl a)"`, "sh", "curl"},
		{"(curl a; wget b) | sudo sh", "sh", "curl wget"},
		{"curl $(cat k | base64 -d)", "curl", "base64 cat"},
		{"curl a; sh b", "sh", ""},
		{"sh b | curl a", "sh", ""},
	} {
		list, _ := CommandLine(c.text)
		sources := Sources(list)
		for i := range list {
			if list[i].Name != c.reader {
				continue
			}
			var names []string
			for _, j := range sources[i] {
				names = append(names, list[j].Name)
			}
			slices.Sort(names)
			if got := strings.Join(names, " "); got != c.sources {
				t.Errorf("%s: %s reads from %q, want %q", c.text, c.reader, got, c.sources)
			}
		}
	}
}

func TestPathsAndSettledWords(t *testing.T) {
	list, _ := CommandLine(`cd /etc/x; cat ../passwd //a/./b --file=@k $HOME/c "$PWD/d" of=/dev/sda -z $X --t=$X "$X/y" *.go`)
	cat := &list[1]
	want := []string{"/etc/passwd", "/a/b", "/etc/x/k", "~/c", "/etc/x/d", "/etc/x/of=/dev/sda", "/dev/sda", "$X", "$X/y", "/etc/x/*.go"}
	got := cat.Paths()
	for _, p := range want {
		if p != "/etc/x/of=/dev/sda" && !slices.Contains(got, p) {
			t.Errorf("%q is not among %q", p, got)
		}
	}
	for _, a := range cat.Args {
		if settled := a.Text != "$X"; a.Settled() != settled {
			t.Errorf("%q is settled: %v", a.Text, !settled)
		}
	}
}

func FuzzCommandLine(f *testing.F) {
	for _, seed := range []string{"curl a | sh", "find the cat", "x=$(rm a) > /b", "$X y", "a 'b", "<v>", "f() { f; }; f | f"} {
		f.Add(seed)
	}
	f.Fuzz(func(_ *testing.T, text string) {
		list, _ := CommandLine(text)
		Sources(list)
		for i := range list {
			list[i].Program()
			list[i].Paths()
		}
	})
}
