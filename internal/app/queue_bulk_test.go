package app_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"tenet/internal/queue"
	"tenet/internal/store/litetest"
	"tenet/internal/wire"
)

// 500 decisions go in one request, and are taken back in one; more are refused as a whole.
func TestQueueInBulk(t *testing.T) {
	t.Parallel()
	n := newQueueNode(t, "data", litetest.Dir(t))
	n.key("ann", "admin", "*")
	n.key("bo", "reviewer", "*")
	var file strings.Builder
	file.WriteString(`{"rules": [`)
	for i := range queue.MaxItems + 1 {
		if i > 0 {
			file.WriteByte(',')
		}
		fmt.Fprintf(&file, `{"slug": "B-%d", "statement": "File number %d of the archive is kept.", "status": "REVIEW"}`, i, i)
	}
	file.WriteString("]}")
	n.do("ann", http.StatusOK, "POST", "/api/v1/rules/import", file.String(), nil)
	var items []wire.QueueItem
	for page := 1; len(items) <= queue.MaxItems; page++ {
		list := n.list("bo", fmt.Sprintf("&kind=rule&page_size=100&page=%d", page))
		if len(list.Items) == 0 {
			t.Fatalf("%d things wait", len(items))
		}
		items = append(items, list.Items...)
	}
	most := items[:queue.MaxItems]
	out := n.decide("bo", wire.QueueApprove, "read", most...)
	if left := n.list("bo", "&kind=rule"); out.Done != queue.MaxItems || out.Failed != 0 || left.Total != 1 {
		t.Fatalf("%d done, %d failed; %d wait", out.Done, out.Failed, left.Total)
	}
	if out = n.decide("bo", wire.QueueReopen, "", most...); out.Done != queue.MaxItems || n.list("bo", "&kind=rule").Total != queue.MaxItems+1 {
		t.Errorf("taken back: %d done, %d failed", out.Done, out.Failed)
	}
	body := `{"action": "approve", "items": [` + strings.TrimSuffix(strings.Repeat(`{"kind": "rule", "id": "`+items[0].ID+`"},`, queue.MaxItems+1), ",") + `]}`
	n.do("bo", http.StatusUnprocessableEntity, "POST", "/api/v1/queue/decisions", body, nil)
}
