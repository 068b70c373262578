package op

import (
	"net/http"
	"testing"
	"time"

	"tenet/internal/wire"
)

func TestOperationsAreFilledInWithoutChangingTheList(t *testing.T) {
	o := ListDeliveries.At("a/b c").Where(wire.DeliveryQuery{State: "dead", PageQuery: wire.PageQuery{PageSize: 5}})
	if o.Path != "/api/v1/gateway/policies/a%2Fb%20c/deliveries" || o.Query.Encode() != "page_size=5&state=dead" {
		t.Errorf("%s?%s", o.Path, o.Query.Encode())
	}
	if more := o.Where(wire.PageQuery{Page: 2}); more.Query.Encode() != "page=2&page_size=5&state=dead" || o.Query.Has("page") {
		t.Errorf("%v after %v", more.Query, o.Query)
	}
	if ListDeliveries.Query != nil || ListDeliveries.Path != "/api/v1/gateway/policies/{id}/deliveries" {
		t.Errorf("the list has %s with %v", ListDeliveries.Path, ListDeliveries.Query)
	}
	r := ReviseRule.At("SEC-1").IfMatch(3)
	if r.Header.Get("If-Match") != `"3"` || ReviseRule.IfMatch(0).Header != nil || ReviseRule.Header != nil {
		t.Errorf("If-Match %v, in the list %v", r.Header, ReviseRule.Header)
	}
	if later := SubmitLater.With("Idempotency-Key", "k"); later.Header.Get("Prefer") == "" || SubmitLater.Header.Get("Idempotency-Key") != "" {
		t.Errorf("%v, in the list %v", later.Header, SubmitLater.Header)
	}
	if GetRule.At("x").Route() != http.MethodGet+" /api/v1/rules/x" {
		t.Error(GetRule.At("x").Route())
	}
}

func TestQueriesAreTexts(t *testing.T) {
	o := ListRules.Where(struct {
		Tags  []string  `query:"tags"`
		Share float64   `query:"share"`
		Since time.Time `query:"since"`
		Only  bool      `query:"only"`
		Until time.Time `query:"until"`
		None  string
	}{[]string{"a", "b"}, 0.25, time.Date(2026, 3, 1, 12, 0, 0, 1000, time.FixedZone("", 3600)), true, time.Time{}, "x"})
	if got, want := o.Query.Encode(), "only=true&share=0.25&since=2026-03-01T11%3A00%3A00.000001Z&tags=a&tags=b"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
