package cli

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	if code, _, errs := run(t, "", "man", "--dir", dir); code != 0 {
		t.Fatal(errs)
	}
	pages, err := filepath.Glob(filepath.Join(dir, "*.1"))
	if err != nil || len(pages) < 40 {
		t.Fatalf("%v; %d pages", err, len(pages))
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for n, l := range strings.Split(string(page), "\n") {
			// A line that begins as a macro is one of ours: help that begins with a full stop or a quote would vanish.
			if macro, _, _ := strings.Cut(l, " "); strings.HasPrefix(l, ".") && !strings.Contains(" .TH .SH .SS .TP .PP .B .BR .nf .fi ", " "+macro+" ") || strings.HasPrefix(l, "'") {
				t.Errorf("%s, line %d: %s", filepath.Base(path), n+1, l)
			}
		}
	}
	for name, says := range map[string][]string{
		"tenet":       {".BR tenet\\-rules (1)", "\\-\\-server=URL", ".SH EXIT STATUS"},
		"tenet-rules": {`.SS "tenet rules export"`, ".SH COMMANDS", ".SH NAME\ntenet\\-rules \\- Write, change"},
		"tenet-check": {"\\-\\-fail\\-on", ".nf\n", ".SH SYNOPSIS\n.B tenet check\n"},
	} {
		page, err := os.ReadFile(filepath.Join(dir, name+".1"))
		if err != nil {
			t.Fatal(err)
		}
		for _, text := range says {
			if !strings.Contains(string(page), text) {
				t.Errorf("%s lacks %q", name, text)
			}
		}
		if _, out, _ := run(t, "", strings.Fields("man "+strings.TrimPrefix(strings.TrimPrefix(name, "tenet"), "-"))...); out != string(page) {
			t.Errorf("%s is printed otherwise than it is written", name)
		}
	}
	for _, args := range [][]string{{"man", "none"}, {"man", "check", "--dir", dir}} {
		if code, _, _ := run(t, "", args...); code != exitFailed {
			t.Errorf("%v: %d", args, code)
		}
	}
}

// Which program shows long output, and that what it shows is complete.
func TestPager(t *testing.T) {
	for _, test := range []struct {
		environ []string
		want    string
	}{
		{nil, "less"},
		{[]string{"PAGER=more -d"}, "more -d"},
		{[]string{"PAGER=more", "TENET_PAGER=most"}, "most"},
		{[]string{"PAGER=cat"}, ""},
		{[]string{"PAGER="}, ""},
		{[]string{"PAGER=more", "TENET_PAGER="}, ""},
	} {
		s := &session{env: lookup(test.environ), isSet: naming(test.environ)}
		if got := strings.Join(pagerOf(s), " "); got != test.want {
			t.Errorf("%v: %q, want %q", test.environ, got, test.want)
		}
	}
	var out, errs bytes.Buffer
	environ := []string{"PAGER=tr a-z A-Z"}
	s := &session{out: &out, err: &errs, env: lookup(environ), isSet: naming(environ)}
	if text := bytes.NewBufferString("one\ntwo\n"); !page(s, text) || out.String() != "ONE\nTWO\n" {
		t.Errorf("%q %q", out.String(), errs.String())
	}
	s.env, s.isSet = lookup([]string{"PAGER=no-such-program"}), naming([]string{"PAGER=no-such-program"})
	if text := bytes.NewBufferString("one\n"); page(s, text) || text.String() != "one\n" {
		t.Error("a pager that is not there took the text")
	}
}
