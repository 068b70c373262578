package code

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

var (
	snake  = regexp.MustCompile(`^_*[a-z0-9]+(_[a-z0-9]+)*_*$`)
	kebab  = regexp.MustCompile(`^[a-z0-9]+(-[a-z0-9]+)+$`)
	camel  = regexp.MustCompile(`^_*[a-z][a-z0-9]*([A-Z][A-Za-z0-9]*)*$`)
	pascal = regexp.MustCompile(`^_*[A-Z][A-Za-z0-9]*$`)
)

// caseOf returns the way a name of several words is written; empty for one word, which is written alike in most ways.
func caseOf(name string) string {
	switch {
	case strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789") == "":
		return ""
	case kebab.MatchString(name):
		return "kebab"
	case snake.MatchString(name):
		return "snake"
	case camel.MatchString(name):
		return "camel"
	case pascal.MatchString(name):
		return "pascal"
	}
	return "other"
}

// platforms are ends of names of Go files that the go command gives a meaning.
var platforms = []string{
	"linux", "darwin", "windows", "unix", "freebsd", "openbsd", "netbsd", "solaris", "js", "wasm", "amd64", "arm64", "386", "arm", "other", "plan9", "android", "ios",
}

// names counts how the file and its tests are named and where they are.
func (u *unit) names() {
	base := strings.TrimSuffix(path.Base(u.path), path.Ext(u.path))
	switch u.language {
	case golang:
		parts := strings.Split(strings.TrimSuffix(base, "_test"), "_")
		for len(parts) > 1 && slices.Contains(platforms, parts[len(parts)-1]) {
			parts = parts[:len(parts)-1]
		}
		u.named("go.filename", strings.Join(parts, "_"))
	case python:
		u.named("python.filename", strings.Trim(strings.TrimSuffix(strings.TrimPrefix(base, "test_"), "_test"), "_"))
		switch {
		case base == "conftest" || base == "__init__":
		case strings.HasPrefix(base, "test_"):
			u.vote("python.testname", "before", 1)
			u.testPlace("python.testplace")
		case strings.HasSuffix(base, "_test"):
			u.vote("python.testname", "after", 1)
			u.testPlace("python.testplace")
		}
	case script:
		u.scriptNames(base)
	}
}

func (u *unit) scriptNames(base string) {
	for _, end := range []string{"test", "spec"} {
		if rest, ok := strings.CutSuffix(base, "."+end); ok {
			u.vote("script.testname", end, 1)
			u.testPlace("script.testplace")
			base = rest
		}
	}
	if strings.Contains(base, ".") {
		return
	}
	if ext := path.Ext(u.path); ext == ".tsx" || ext == ".jsx" {
		if base != "index" && !u.test {
			u.named("script.componentname", base)
		}
		return
	}
	u.named("script.filename", base)
}

func (u *unit) named(question, name string) {
	if c := caseOf(name); c != "" {
		u.vote(question, c, 1)
	}
}

func (u *unit) testPlace(question string) {
	where := "beside"
	for part := range strings.SplitSeq(path.Dir(u.path), "/") {
		if part == "test" || part == "tests" || part == "__tests__" || part == "e2e" {
			where = "apart"
		}
	}
	u.vote(question, where, 1)
}
