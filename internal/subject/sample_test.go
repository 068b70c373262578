package subject_test

import (
	"slices"
	"testing"

	"tenet/internal/rule"
	"tenet/internal/subject"
)

func TestSampleRepositories(t *testing.T) {
	for _, tt := range []struct {
		a, b string
		want []string
	}{
		{"acme/pay-api", "acme/pay-api", []string{"acme/pay-api"}},
		{"acme/**", "acme/**", []string{"acme/zz9"}},
		{"acme/", "acme/", []string{"acme/zz9"}},
		{"acme/pay-*", "acme/**", []string{"acme/pay-zz9"}},
		{"acme/**", "acme/pay-*", []string{"acme/pay-zz9"}},
		{"acme/pay-*", "acme/*-api", []string{"acme/pay-zz9-api"}},
		{"*/pay", "acme/*", []string{"acme/pay"}},
		{"acme/{web,pay}-?", "acme/**", []string{"acme/web-z", "acme/pay-z"}},
		{"acme/[ab]x", "acme/*", []string{"acme/ax"}},
		{"github.com/acme/*", "acme/pay", []string{"github.com/acme/pay"}},
		{"acme/web", "acme/pay", nil},
		{"acme/*", "other/*", nil},
		{"a/b/c", "a/*", nil},
		{"a/**/z", "a/b/**", []string{"a/b/z"}},
		{"a[", "acme/*", nil},
	} {
		if got := subject.SampleRepositories(tt.a, tt.b); !slices.Equal(got, tt.want) {
			t.Errorf("%s and %s: %q, want %q", tt.a, tt.b, got, tt.want)
		}
	}
}

// A sample is always in both globs, whatever they are.
func FuzzSampleRepositories(f *testing.F) {
	for _, seed := range [][2]string{{"acme/**", "acme/pay-*"}, {"a/{b,c}", "**/c"}, {"[", "\\"}, {"host.example/a/*", "/a/"}, {"*", "**"}, {"[]a]", "[!"}} {
		f.Add(seed[0], seed[1])
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		for _, name := range subject.SampleRepositories(a, b) {
			for _, glob := range []string{a, b} {
				compiled, err := subject.CompileRepositories([]string{glob})
				if err != nil {
					t.Fatal(err)
				}
				if ok, _ := compiled.Match(rule.ParseRepository(name)); !ok {
					t.Errorf("%q is not in %q", name, glob)
				}
			}
		}
	})
}
