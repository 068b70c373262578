package api

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/release"
	"tenet/internal/rule"
	"tenet/internal/wire"
)

const bundlePath = "/api/v1/bundles/production"

// openBundle verifies a bundle that the server has sent.
func openBundle(t *testing.T, n *node, r *reply, base []byte) (*bundle.Opened, *bundle.Contents) {
	t.Helper()
	info := into[wire.BundleInfo](n.call("GET", bundlePath+"/info", nil).want(http.StatusOK))
	o, err := bundle.Open(bytes.NewReader(r.body), info.Keys, base)
	if err != nil {
		t.Fatal(err)
	}
	c, err := bundle.Decode(o.Text)
	if err != nil {
		t.Fatal(err)
	}
	if root := release.RootOf(c); root != o.Head.Root {
		t.Errorf("its rules have the root %s, its head has %s", root, o.Head.Root)
	}
	if o.Head.Base == "" && (info.Hash != o.Head.RawHash || info.Seq != o.Head.Seq || info.Size != o.Head.Size) {
		t.Errorf("the description %+v is not that of the bundle %+v", info, o.Head)
	}
	return o, c
}

func TestADeploymentPublishesABundle(t *testing.T) {
	t.Parallel()
	onBoth(t, testADeploymentPublishesABundle)
}

func testADeploymentPublishesABundle(t *testing.T, n *node) {
	n.call("GET", bundlePath, nil).wantProblem(http.StatusConflict, rule.CodeConflict)
	n.call("GET", "/api/v1/bundles/moon", nil).want(http.StatusUnprocessableEntity)
	n.call("GET", bundlePath+"?project_id=none", nil).want(http.StatusNotFound)
	for i := range 60 {
		n.call("POST", rulesPath, fields{"statement": "Payments of kind " + strings.Repeat("x", i+1) + " must not be above 100.", "status": "EFFECTIVE", "check": fields{"cel": "facts.amount <= 100"}}).want(http.StatusCreated)
	}
	deploy := func(name string) string {
		t.Helper()
		id := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": name}).want(http.StatusCreated)).ID
		n.call("POST", snapshotsPath+"/"+id+"/deploy", fields{"environment": "production"}).want(http.StatusOK)
		return id
	}
	first := deploy("first")
	got := n.call("GET", bundlePath, nil).want(http.StatusOK)
	one, c := openBundle(t, n, got, nil)
	if one.Head.Seq != 1 || one.Head.Snapshot != first || len(c.Rules) != 60 || one.Head.Action != bundle.Deploy || c.Project.ID != rule.DefaultProject {
		t.Errorf("the first bundle: %+v with %d rules", one.Head, len(c.Rules))
	}
	// What the caller has is not sent again, but the server vouches for it.
	tag := got.header.Get("ETag")
	same := n.call("GET", bundlePath, nil, "If-None-Match", tag).want(http.StatusNotModified)
	note, err := base64.StdEncoding.DecodeString(same.header.Get("Tenet-Bundle-Note"))
	if err != nil || string(note) != one.Note || len(same.body) > 0 {
		t.Errorf("304 has the head %q, %v", note, err)
	}
	// Rules that are not deployed are in no bundle; a waiver is.
	created := into[rule.Rule](n.call("POST", rulesPath, fields{"statement": "Never deploy on Fridays.", "status": "EFFECTIVE"}).want(http.StatusCreated))
	time.Sleep(600 * time.Millisecond)
	n.call("GET", bundlePath, nil, "If-None-Match", tag).want(http.StatusNotModified)
	n.call("POST", "/api/v1/waivers", fields{
		"rule_id": c.Rules[0].ID, "fingerprint": strings.Repeat("5c", 32), "reason": "A test.", "expires_at": time.Now().Add(time.Hour),
	}).want(http.StatusCreated)
	time.Sleep(600 * time.Millisecond)
	changed := n.call("GET", bundlePath+"?base="+one.Head.RawHash, nil).want(http.StatusOK)
	two, c := openBundle(t, n, changed, one.Text)
	if two.Head.Seq != 2 || two.Head.BaseSeq != 1 || len(c.Waivers) != 1 || len(c.Rules) != 60 || len(changed.body) >= len(got.body) {
		t.Errorf("after a waiver: %+v with %d waivers in %d bytes of %d", two.Head, len(c.Waivers), len(changed.body), len(got.body))
	}
	deploy("second")
	three, c := openBundle(t, n, n.call("GET", bundlePath, nil).want(http.StatusOK), nil)
	if three.Head.Seq != 3 || len(c.Rules) != 61 {
		t.Errorf("the second deployment: %+v with %d rules", three.Head, len(c.Rules))
	}
	n.call("POST", snapshotsPath+"/"+three.Head.Snapshot+"/rollback", nil).want(http.StatusOK)
	time.Sleep(600 * time.Millisecond)
	four, c := openBundle(t, n, n.call("GET", bundlePath, nil).want(http.StatusOK), nil)
	if four.Head.Seq != 4 || four.Head.Action != bundle.Rollback || four.Head.Snapshot != first || len(c.Rules) != 60 {
		t.Errorf("after the rollback: %+v with %d rules", four.Head, len(c.Rules))
	}
	for _, r := range c.Rules {
		if r.ID == created.ID {
			t.Error("a rule that is not in the snapshot is in the bundle")
		}
	}
	if c.KeysRequired || len(c.Keys) > 0 {
		t.Error("a bundle wants keys although the server does not")
	}
	// Once the server wants to know who asks, its edges do.
	n.key = n.newKey(fields{"name": "root", "role": "admin", "project_id": "*"}).Secret
	time.Sleep(600 * time.Millisecond)
	if _, c := openBundle(t, n, n.call("GET", bundlePath, nil).want(http.StatusOK), nil); !c.KeysRequired || len(c.Keys) == 0 {
		t.Errorf("with a key at the server, the bundle has %d keys, and wants one: %t", len(c.Keys), c.KeysRequired)
	}
}

func TestNewsOfBundles(t *testing.T) {
	t.Parallel()
	n := newNode(t)
	n.call("POST", rulesPath, fields{"statement": "Never deploy on Fridays.", "status": "EFFECTIVE"}).want(http.StatusCreated)
	id := into[wire.Snapshot](n.call("POST", snapshotsPath, fields{"name": "one"}).want(http.StatusCreated)).ID
	n.call("POST", snapshotsPath+"/"+id+"/deploy", fields{"environment": "production"}).want(http.StatusOK)
	info := into[wire.BundleInfo](n.call("GET", bundlePath+"/info", nil).want(http.StatusOK))
	s := httptest.NewServer(n.Server)
	t.Cleanup(s.Close)
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+bundlePath+"?base="+info.Hash, nil)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Accept", eventType)
	answer, err := s.Client().Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	n.call("PATCH", "/api/v1/projects/default", fields{"policy": fields{"floor": fields{"severity_min": "LOW"}}}).want(http.StatusOK)
	began := time.Now()
	lines := bufio.NewScanner(answer.Body)
	for lines.Scan() {
		if lines.Text() == "event: bundle" {
			break
		}
	}
	if took := time.Since(began); took > time.Minute || lines.Err() != nil {
		t.Errorf("the news took %v, %v", took, lines.Err())
	}
	if !lines.Scan() || !strings.Contains(lines.Text(), `"seq":2`) {
		t.Errorf("the news is %q", lines.Text())
	}
}
