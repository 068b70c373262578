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
