package check

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/ledger"
	"tenet/internal/rule"
	"tenet/internal/subject"
)

// plainFacts are values that facts may have, and plainConstants what expressions compare them with.
var (
	plainFacts = []any{
		0.0, 1.0, -1.0, 2.5, 1e15, 9007199254740991.0, 9007199254740993.0, -1e300, math.Inf(1), math.NaN(), "", "EUR", "eur", "EUR ", "E\u200bUR", "1", "true", strings.Repeat("x", 1001), strings.Repeat("x", 1000),
		true, false, nil,
		[]any{},
		[]any{"EUR"},
		map[string]any{},
		map[string]any{"b": 1.0},
		map[string]any{"b": "EUR"},
		map[string]any{"b": nil},
	}
	plainConstants = []string{
		"0", "1", "1.0", "-1", "2.5", "1u", "9007199254740991", "9007199254740993", "9007199254740992.0", "1e300", `""`, `"EUR"`, `'1'`, "true", "false", "null", "[]", `"` + strings.Repeat("x", 1000) + `"`,
	}
)

// plainExpression makes an expression of comparisons of the facts a, b and a.b.
func plainExpression(r *rand.Rand, depth int) string {
	fact := []string{"facts.a", "facts.b", "facts.a.b", `facts["a"]`, "facts.none", "facts.?a.orValue(1)"}[r.IntN(6)]
	constant := func() string { return plainConstants[r.IntN(len(plainConstants))] }
	switch n := r.IntN(10); {
	case depth > 0 && n < 2:
		return "(" + plainExpression(r, depth-1) + " && " + plainExpression(r, depth-1) + ")"
	case depth > 0 && n < 4:
		return "(" + plainExpression(r, depth-1) + " || " + plainExpression(r, depth-1) + ")"
	case depth > 0 && n < 5:
		return "!(" + plainExpression(r, depth-1) + ")"
	case n < 6:
		return fmt.Sprintf("%s in [%s, %s]", fact, constant(), constant())
	case n < 7:
		return fact
	}
	operator := []string{"<", "<=", ">", ">=", "==", "!="}[r.IntN(6)]
	if r.IntN(3) == 0 {
		return constant() + " " + operator + " " + fact
	}
	return fact + " " + operator + " " + constant()
}

// What a plain test decides, CEL decides alike: the same outcome to the letter.
func TestPlainTestsDecideAsCEL(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 14))
	compiled, plain, decided := 0, 0, 0
	for range 2_500 {
		source := plainExpression(r, 3)
		p, err := Compile(&rule.Check{CEL: source})
		if err != nil {
			continue
		}
		compiled++
		if p.cel.plain == nil {
			continue
		}
		plain++
		slow := *p
		slow.cel = new(*p.cel)
		slow.cel.plain = nil
		for range 8 {
			facts := map[string]any{}
			for _, name := range []string{"a", "b"} {
				if r.IntN(10) > 0 {
					facts[name] = plainFacts[r.IntN(len(plainFacts))]
				}
			}
			s := &subject.Subject{Facts: facts, Kinds: []subject.Kind{subject.Facts}}
			got, want := p.Run(t.Context(), Prepare(s)), slow.Run(t.Context(), Prepare(s))
			if p.cel.plain(facts) != leftToCEL {
				decided++
			}
			if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b *ledger.Set) bool { return fmt.Sprint(a) == fmt.Sprint(b) })); diff != "" {
				t.Fatalf("%s of %v (-CEL +plain):\n%s", source, facts, diff)
			}
		}
	}
	t.Logf("of %d expressions %d are plain; they decided %d subjects", compiled, plain, decided)
	if plain < 300 || decided < 300 {
		t.Errorf("%d plain expressions have decided %d times: too few to compare", plain, decided)
	}
}

func TestWhatIsPlain(t *testing.T) {
	for source, want := range map[string]bool{
		"facts.amount < 1000.0": true, "facts.amount <= 1000 || facts.approvals >= 2": true, `facts.payment.currency in ["EUR", "USD"] && !facts.flagged`: true, `1000 > facts.amount`: true,
		`has(facts.amount)`: false, "facts.a == facts.b": false, "facts.amount * 2.0 < 3.0": false, `subject.repository == "a/b"`: false, `facts.items[0] == 1.0`: false, `facts.tags.exists(t, t == "x")`: false,
		`facts.note == null`: false, `facts.name < "m"`: false,
	} {
		p, err := Compile(&rule.Check{CEL: source})
		if err != nil {
			t.Fatal(source, err)
		}
		if got := p.cel.plain != nil; got != want {
			t.Errorf("%s is plain: %t, want %t", source, got, want)
		}
	}
}
