package rule_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"tenet/internal/rule"
)

// fill sets v, and all that it holds, to values that are not zero.
func fill(t *testing.T, v reflect.Value) {
	t.Helper()
	switch v.Kind() {
	case reflect.String:
		v.SetString("x")
	case reflect.Int:
		v.SetInt(1)
	case reflect.Uint8: // of JSON as it is
		v.SetUint('1')
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(t, v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(t, v.Index(0))
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC)))
			return
		}
		for _, f := range v.Fields() {
			fill(t, f)
		}
	default:
		t.Fatalf("Clone does not know fields of kind %s, such as %s", v.Kind(), v.Type())
	}
}

func filled(t *testing.T) rule.Rule {
	var r rule.Rule
	fill(t, reflect.ValueOf(&r).Elem())
	return r
}

// mutate changes everything that v points to.
func mutate(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // other kinds hold no references
	case reflect.Pointer:
		mutate(v.Elem())
		v.Elem().SetZero()
	case reflect.Slice:
		for i := range v.Len() {
			mutate(v.Index(i))
			v.Index(i).SetZero()
		}
	case reflect.Struct:
		for _, f := range v.Fields() {
			if f.CanSet() {
				mutate(f)
			}
		}
	}
}

func TestCloneSharesNothing(t *testing.T) {
	r := filled(t)
	c := r.Clone()
	if diff := cmp.Diff(r, c); diff != "" {
		t.Fatalf("the clone differs (-rule +clone):\n%s", diff)
	}
	mutate(reflect.ValueOf(&c).Elem())
	if diff := cmp.Diff(filled(t), r); diff != "" {
		t.Errorf("a change of the clone changes the rule (-before +after):\n%s", diff)
	}
}

// Verdicts depend on every field that an author writes, except a few labels.
func TestContentHashCoversEveryField(t *testing.T) {
	r := filled(t)
	labels := []string{"slug", "owner", "status"}
	var authored []string
	for _, ch := range rule.Diff(rule.Rule{}, r) {
		authored = append(authored, ch.Field)
	}
	v := reflect.ValueOf(&r).Elem()
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		other := filled(t)
		reflect.ValueOf(&other).Elem().Field(i).SetZero()
		want := slices.Contains(authored, name) && !slices.Contains(labels, name)
		if got := r.ContentHash() != other.ContentHash(); got != want {
			t.Errorf("%s changes the hash: %t, want %t", name, got, want)
		}
	}
	// Verdicts are stored under hashes, so a rule must have the same one for good.
	old := rule.Rule{Statement: "Payments above 10000 need a second approver.", Severity: rule.High, Modality: rule.Must, Scope: []string{"a"}}
	if got := old.ContentHash(); got != "bf191efdd8933398a22282da88e94094431b820cca78d0a48e0e2a90006c3b10" {
		t.Errorf("the hash of a rule is now %s", got)
	}
}

// An input with an empty list, which clears, is an input.
func TestAssign(t *testing.T) {
	type form struct {
		Statement string   `json:"statement"`
		Owner     *string  `json:"owner"`
		Tags      []string `json:"tags"`
		Scope     []string `json:"scope"`
		ID        string   `json:"id"`
	}
	r := rule.Rule{ID: "1", Statement: "Old.", Owner: "ann", Tags: []string{"a"}, Scope: []string{"b"}}
	empty := ""
	in := form{Owner: &empty, Tags: []string{}, ID: "2"}
	r.Assign(&in)
	want := rule.Rule{ID: "1", Statement: "Old.", Tags: []string{}, Scope: []string{"b"}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("assigned (-want +got):\n%s", diff)
	}
}
