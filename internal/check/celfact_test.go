package check

import (
	"strings"
	"testing"

	"tenet/internal/rule"
)

func TestFactsThatAreNullOrOfAnotherType(t *testing.T) {
	const payment = `{"approver": null, "requester": "ada", "second": 7, "third": {"name": "bob"}, "fourth": ["bob"], "yes": true,
		"approvers": ["ada", null], "others": ["ada", 7], "bobs": ["ada", "bob"], "amount": "5000", "limit": 1e6, "map": {"a": null, "b": 1},
		"items": [{"price": 1}, {"price": null}], "nested": {"list": [[null]]}, "same": {"b": 1, "a": 2}}`
	for _, c := range []struct {
		cel    string
		want   Result
		reason string
	}{
		// null counts as missing.
		{"facts.approver != facts.requester", Undecided, `fact "approver" is null`},
		{"facts.approver != ''", Undecided, `fact "approver" is null`},
		{"!(facts.approver in ['ada', 'eve'])", Undecided, `fact "approver" is null`},
		{"!(facts.approver in facts.bobs)", Undecided, `fact "approver" is null`},
		{"!(facts.approver == facts.requester)", Undecided, `fact "approver" is null`},
		{"facts.approver == facts.map.a", Undecided, `fact "approver" is null; fact "map.a" is null`},
		{"has(facts.approver)", Undecided, `fact "approver" is null`},
		{"!has(facts.approver)", Undecided, `fact "approver" is null`},
		{"'approver' in facts", Undecided, `fact "approver" is null`},
		{"facts.?approver.hasValue()", Undecided, `fact "approver" is null`},
		{"facts.?approver.orValue('x') != facts.requester", Undecided, `fact "approver" is null`},
		{"facts[?'approver'].orValue('x') == 'x'", Undecided, `fact "approver" is null`},
		{"facts.approver.name != 'x'", Undecided, `fact "approver" is null`},
		{"string(facts.approver) != ''", Undecided, `fact "approver" is null`},
		{"type(facts.approver) != string", Undecided, `fact "approver" is null`},
		{"[facts.approver, facts.requester].distinct().size() == 2", Undecided, `fact "approver" is null`},
		{"{'a': facts.approver} != {'a': facts.requester}", Undecided, `fact "approver" is null`},
		{"'%s'.format([facts.approver]) == 'null'", Undecided, `fact "approver" is null`},
		{"facts.approvers.exists(a, a != facts.requester)", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.filter(a, a != facts.requester).size() == 1", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.size() >= 2", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.distinct().size() >= 2", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.map(a, a).size() == 2", Undecided, `fact "approvers[1]" is null`},
		{"!('eve' in facts.approvers)", Undecided, `fact "approvers[1]" is null`},
		{"'ada' in facts.approvers", Kept, ""},
		{"facts.approvers != ['ada', 'bob']", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers != ['eve', 'bob']", Kept, ""},
		{"!sets.contains(facts.approvers, ['eve'])", Undecided, `fact "approvers[1]" is null`},
		{"!sets.intersects(facts.approvers, ['eve'])", Undecided, `fact "approvers[1]" is null`},
		{"!sets.equivalent(facts.approvers, ['ada'])", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.hasAll(['ada']) && facts.approvers.hasAny(['ada'])", Kept, ""},
		{"!facts.approvers.hasOnly(['ada'])", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.slice(1, 2)[0] != 'ada'", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.reverse()[0] != 'ada'", Undecided, `fact "approvers[1]" is null`},
		{"(facts.approvers + ['x']).size() == 3", Undecided, `fact "approvers[1]" is null`},
		{"facts.approvers.sort().size() == 2", Undecided, `fact "approvers[1]" is null`},
		{"facts.map.size() == 2", Undecided, `fact "map.a" is null`},
		{"facts.map != facts.same", Undecided, `fact "map.a" is null`},
		{"'a' in facts.map", Undecided, `fact "map.a" is null`},
		{"'b' in facts.map && facts.map.b == 1", Kept, ""},
		{"facts.items.exists(i, i.price != 1)", Undecided, `fact "items[1].price" is null`},
		{"facts.items.exists(i, i.price == 1) && facts.items.size() == 2", Kept, ""},
		{"facts.nested.list.flatten().size() == 1", Undecided, `fact "nested.list[0][0]" is null`},
		{"facts.nested.list != [['x']]", Undecided, `fact "nested.list[0][0]" is null`},
		{"math.greatest([facts.approver, 1]) == 1", Undecided, `fact "approver" is null`},

		// Only a comparison with null asks for it.
		{"facts.approver == null", Kept, ""},
		{"null == facts.approver", Kept, ""},
		{"facts.approver != null", Broken, ""},
		{"facts.requester != null && facts.map.a == null && facts['map']['a'] == null && facts.approvers[1] == null", Kept, ""},
		{"facts.missing == null", Undecided, `fact "missing" is missing`},
		{"has(facts.approver) && facts.approver != null", Broken, ""},
		{"facts.approver == null || facts.approver != facts.requester", Kept, ""},
		{"dyn(facts.approver == 'x' ? 'a' : 'b') == null", Undecided, `fact "approver" is null`},
		{"facts.approvers.exists(a, a == null)", Kept, ""},

		// A comparison takes values of one type.
		{"facts.second != facts.requester", Undecided, `!= does not take these types: fact "second" is a double, fact "requester" is a string`},
		{"facts.second != ''", Undecided, `fact "second" is a double, the other side is a string`},
		{"!(facts.second == 'ada')", Undecided, `fact "second" is a double`},
		{"facts.third != ''", Undecided, `fact "third" is a map`},
		{"facts.fourth != 'ada'", Undecided, `fact "fourth" is a list`},
		{"facts.yes != 'no'", Undecided, `fact "yes" is a bool`},
		{"facts.requester == true", Undecided, `fact "requester" is a string, the other side is a bool`},
		{"facts.amount != 7", Undecided, `fact "amount" is a string, the other side is an int`},
		{"facts.amount <= 10000", Undecided, `fact "amount" is a string, the other side is an int`},
		{"!(facts.amount in [1, 2])", Undecided, `fact "amount" is a string, the other side is a list with an int`},
		{"!(facts.fourth in ['eve'])", Undecided, `in does not take these types: fact "fourth" is a list`},
		{"!(facts.second in facts.bobs)", Undecided, `fact "second" is a double`},
		{"facts.requester in ['ada', 7] && !('eve' in ['ada', 7])", Kept, ""},
		{"!('eve' in facts.others)", Undecided, "in does not take these types"},
		{"facts.second in facts.others && !(facts.limit in [5, 6u, 7.5]) && facts.second in [6, 7] && facts.limit == 1000000", Kept, ""},
		{"!(facts.second in facts.same)", Undecided, `in does not take these types`},
		{"facts.others.distinct().size() == 2", Undecided, "distinct does not take these types"},
		{"!sets.contains(facts.others, ['eve'])", Undecided, "sets.contains does not take these types"},
		{"!sets.intersects(facts.bobs, [7])", Undecided, "sets.intersects does not take these types"},
		{"facts.fourth != [7]", Undecided, "!= does not take these types"},
		{"facts.fourth != [7, 8] && facts.same != {'a': 2}", Kept, ""},
		{"facts.?second == optional.of(7) && facts.?none == optional.none()", Kept, ""},
		{"facts.?second != optional.of('x')", Undecided, "!= does not take these types"},
		{"!optional.of(facts.second).hasValue('x')", Undecided, "hasValue does not take these types"},
		{"optional.of(facts.second).hasValue(7) && !optional.none().hasValue(7)", Kept, ""},
		{"facts.same == {'a': 2, 'b': 1} && facts.same != {'a': 2, 'b': 3} && facts.same != {'a': 2, 'c': 1}", Kept, ""},
		{"type(facts.second) != type(facts.requester) && 7 in [7] && !(8 in {7: 1})", Kept, ""},
	} {
		out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(t.Context(), Prepare(facts(t, payment)))
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %v (%s), want %v with %q", c.cel, out.Result, out.Reason, c.want, c.reason)
		}
	}
}

func TestWhenThatReadsANullFact(t *testing.T) {
	for _, when := range []string{"has(facts.amount)", "'amount' in facts", "facts.?amount.hasValue()", "facts.amount == 'x'", "facts.amount > 5"} {
		out := mustCompile(t, &rule.Check{When: when, CEL: "facts.amount <= 10"}).Run(t.Context(), Prepare(facts(t, `{"amount": null}`)))
		if out.Result != Undecided || !strings.Contains(out.Reason, `the condition when depends on what is not known: fact "amount" is null`) {
			t.Errorf("%s: %v (%s)", when, out.Result, out.Reason)
		}
	}
}

// TestNumbersThatLoseDigits holds that no equality of numbers rests on digits that doubles do not have, and that a text which
// writes no finite number does not become one.
func TestNumbersThatLoseDigits(t *testing.T) {
	const ids = `{"id": 9007199254740993, "safe": 9007199254740991, "list": [9007199254740993, 7], "same": [9007199254740993, 7], "nan": "NaN", "inf": "-Infinity", "amount": "12.5"}`
	const digits = "lose digits"
	for _, c := range []struct {
		cel    string
		want   Result
		reason string
	}{
		{"facts.id == 9007199254740992", Undecided, digits},
		{"facts.id in [9007199254740992, 12]", Undecided, digits},
		{"!(facts.id in [9007199254740993, 12])", Undecided, digits},
		{"!(facts.id in [12, 'x', 9007199254740993])", Undecided, digits},
		{"facts.id in facts.list", Undecided, digits},
		{"facts.list == facts.same", Undecided, digits},
		{"sets.contains(facts.list, [9007199254740992])", Undecided, digits},
		{"facts.id != 9007199254740000 && !(facts.id in [12, 13])", Kept, ""},
		{"facts.safe == 9007199254740991 && facts.safe in [9007199254740991]", Kept, ""},
		{"facts.id > 5 && facts.id <= 1e18", Kept, ""},
		{"facts.id <= 9007199254740992", Undecided, digits},
		{"9007199254740992 >= facts.id", Undecided, digits},
		{"!(facts.id > 9007199254740992.0)", Undecided, digits},
		{"facts.list.all(n, n <= 9007199254740992.0)", Undecided, digits},
		{"facts.id < 9007199254740999 && facts.safe <= 9007199254740991", Kept, ""},
		{"!(double(facts.nan) > 1000.0)", Undecided, "no finite number"},
		{"double(facts.inf) <= 1000.0", Undecided, "no finite number"},
		{"double(facts.amount) == 12.5 && double(facts.safe) > 1.0", Kept, ""},
	} {
		out := mustCompile(t, &rule.Check{CEL: c.cel}).Run(t.Context(), Prepare(facts(t, ids)))
		if out.Result != c.want || !strings.Contains(out.Reason, c.reason) {
			t.Errorf("%s: %v (%s), want %v with %q", c.cel, out.Result, out.Reason, c.want, c.reason)
		}
	}
}
