package check

import (
	"fmt"
	"sync"
	"testing"

	"tenet/internal/rule"
)

func TestCacheCompilesOncePerContent(t *testing.T) {
	c := NewCache(10)
	programs := make([]*Program, 16)
	var wg sync.WaitGroup
	for i := range programs {
		wg.Go(func() {
			programs[i], _ = c.Get(&rule.Check{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"*.go"}}})
		})
	}
	wg.Wait()
	for _, p := range programs {
		if p == nil || p != programs[0] {
			t.Fatalf("got %p and %p for the same content", p, programs[0])
		}
	}
}

func TestCacheTellsContentsApart(t *testing.T) {
	c := NewCache(100)
	seen := map[*Program]int{}
	for i, check := range []rule.Check{
		{CEL: "true"},
		{CEL: "true", When: "true"},
		{CEL: "true", Decides: rule.DenyOnly},
		{CEL: "true", Message: "m"},
		{CEL: "true", Fix: "m"},
		{Pattern: &rule.Pattern{Regex: "a"}},
		{Pattern: &rule.Pattern{Regex: "b"}},
		{Pattern: &rule.Pattern{Regex: "a", Unless: "a"}},
		{Pattern: &rule.Pattern{Regex: "a", Lines: rule.LinesAny}},
		{Pattern: &rule.Pattern{Regex: "a", Multiline: true}},
		{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"x"}}},
		{Pattern: &rule.Pattern{Regex: "a", ExcludePaths: []string{"x"}}},
		{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"x", "y"}}},
		{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"xy"}}},
		{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"x1 y"}}},
		{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"x"}, ExcludePaths: []string{"y"}}},
	} {
		p, err := c.Get(&check)
		if err != nil {
			t.Fatal(err)
		}
		if j, taken := seen[p]; taken {
			t.Errorf("check %d has the program of check %d", i, j)
		}
		seen[p] = i
	}
}

func TestCacheIsNotChangedThroughTheCheck(t *testing.T) {
	c := NewCache(10)
	check := rule.Check{Pattern: &rule.Pattern{Regex: "a", Paths: []string{"*.go"}}}
	first, _ := c.Get(&check)
	check.Pattern.Paths[0] = "*.py"
	if second, _ := c.Get(&check); second == first {
		t.Error("a changed check has the old program")
	}
	check.Pattern.Paths[0] = "*.go"
	if third, _ := c.Get(&check); third != first {
		t.Error("the first content is compiled again")
	}
}

func TestCacheIsBoundedAndKeepsWhatIsUsed(t *testing.T) {
	c := NewCache(50)
	hot := &rule.Check{CEL: "facts.hot == 1"}
	first, err := c.Get(hot)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		if _, err := c.Get(&rule.Check{Pattern: &rule.Pattern{Regex: fmt.Sprint("x", i)}}); err != nil {
			t.Fatal(err)
		}
		if again, _ := c.Get(hot); again != first {
			t.Fatalf("a program in use is gone after %d others", i)
		}
	}
	if len(c.entries) != 50 || len(c.ring) != 50 {
		t.Errorf("%d entries, %d in the ring; want 50", len(c.entries), len(c.ring))
	}
}

func TestCacheKeepsErrors(t *testing.T) {
	c := NewCache(2)
	for range 2 {
		if _, err := c.Get(&rule.Check{CEL: "nonsense"}); rule.CodeOf(err) != rule.CodeInvalid {
			t.Errorf("error %v, want invalid", err)
		}
	}
	if _, err := c.Get(nil); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("error %v for no check, want invalid", err)
	}
}

// GetAll gives every check its own program or error, at the first time and from the cache.
func TestCacheGetsAll(t *testing.T) {
	c := NewCache(100)
	checks := []*rule.Check{{CEL: "true"}, nil, {CEL: "1 +"}, {Pattern: &rule.Pattern{Regex: "a"}}, {CEL: "true"}}
	var first []*Program
	for range 3 {
		programs, errs := c.GetAll(checks)
		for i, check := range checks {
			switch {
			case check == nil && (programs[i] != nil || errs[i] != nil):
				t.Errorf("there is a program or an error without a check")
			case i == 2 && (programs[i] != nil || rule.CodeOf(errs[i]) != rule.CodeInvalid):
				t.Errorf("a wrong check has the program %v and the error %v", programs[i], errs[i])
			case i != 1 && i != 2 && (programs[i] == nil || errs[i] != nil):
				t.Errorf("check %d has the program %v and the error %v", i, programs[i], errs[i])
			}
		}
		if programs[0] != programs[4] || programs[0] == programs[3] || first != nil && programs[0] != first[0] {
			t.Errorf("programs do not follow the contents: %v, before %v", programs, first)
		}
		first = programs
	}
	changed := *checks[0]
	*checks[0] = rule.Check{CEL: "false"}
	if programs, _ := c.GetAll(checks[:1]); programs[0] == first[0] {
		t.Error("a changed check has the program of what it was")
	}
	*checks[0] = changed
}

// Many evaluations may get the same checks at once.
func TestCacheGetsAllAtOnce(t *testing.T) {
	c := NewCache(8)
	checks := make([]*rule.Check, 20)
	for i := range checks {
		checks[i] = &rule.Check{CEL: fmt.Sprintf("1 == %d", i)}
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			programs, errs := c.GetAll(checks)
			for i := range checks {
				if programs[i] == nil || errs[i] != nil {
					t.Errorf("check %d: %v", i, errs[i])
				}
			}
		})
	}
	wg.Wait()
}
