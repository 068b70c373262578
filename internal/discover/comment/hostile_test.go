package comment_test

import (
	"strings"
	"testing"
	"time"
)

// Comments that are made to be slow to read cost no more than others of their size. The limit is far above what the slowest machine
// needs.
func TestHostile(t *testing.T) {
	for name, unit := range map[string]string{
		"amounts": "// amounts amounts amounts are\n", "musts": "// x must y\n", "one line": "// must that must that ", "quotes": "\"\"\"\n", "opened": "/*\n", "backquotes": "`\n",
		"names": "static final public ", "trailing": "a // b\n", "stars": "/***", "restrained": "// only a, only b, only c may x or may y\n",
	} {
		text := strings.Repeat(unit, 1<<17/len(unit))
		start := time.Now()
		for _, path := range []string{"a.go", "a.py", "a.ts"} {
			read(path, text)
		}
		if took := time.Since(start); took > 20*time.Second {
			t.Errorf("%s: took %s", name, took)
		} else {
			t.Logf("%s: %s", name, took)
		}
	}
}
