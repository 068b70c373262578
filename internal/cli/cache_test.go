package cli

import (
	"strings"
	"testing"
)

func TestCacheCommands(t *testing.T) {
	data := t.TempDir()
	if code, _, errs := run(t, "", "keys", "create", "--data", data, "--name", "x", "--role", "admin", "--all-projects"); code != 0 {
		t.Fatal(errs)
	}
	for _, test := range []struct {
		args []string
		code int
		want string
	}{
		{[]string{"cache", "stats", "--data", data}, 0, "project default: 0 verdicts, 0.0 MiB\n"},
		{[]string{"cache", "stats", "--data", data, "-f", "json"}, 0, `"count": 0`},
		{[]string{"cache", "prune", "--data", data, "--older-than", "1h"}, 0, "0 verdicts deleted\n"},
		{[]string{"cache", "prune", "--data", data, "--max-mb", "1"}, 0, "0 verdicts deleted\n"},
		{[]string{"cache", "clear", "--data", data}, 0, "0 verdicts deleted\n"},
		{[]string{"cache", "prune", "--data", data}, 2, "--older-than"},
		{[]string{"cache", "stats", "--data", data, "--project", "nobody"}, 2, "nobody"},
	} {
		code, out, errs := run(t, "", test.args...)
		if code != test.code || !strings.Contains(out+errs, test.want) {
			t.Errorf("%v: exit %d, %q, %q", test.args, code, out, errs)
		}
	}
}
