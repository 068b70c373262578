package place_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
)

// TestCheckpointsGoToABucket publishes checkpoints of a log whose name has a port. Storage that locks objects asks for a checksum, and
// signatures cover paths with all but unreserved characters encoded.
func TestCheckpointsGoToABucket(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("worm"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(backend).Server()
	var put []*http.Request
	down := false
	s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		put = append(put, r)
		if down {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	defer s3.Close()
	env := func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}[name]
	}
	places, err := checkpoint.ParsePlaces("s3://worm/tenet?endpoint="+s3.URL, nil, nil, func(address string) (checkpoint.Objects, error) {
		return place.ParseObjects(address, place.Config{Env: env})
	})
	if err != nil || len(places) != 1 {
		t.Fatalf("%d places, %v", len(places), err)
	}
	c := checkpoint.Checkpoint{Origin: "127.0.0.1:8080/default", Size: 7}
	for _, note := range []string{"first\n", "with a cosignature\n"} {
		if err := places[0].Put(t.Context(), c, note); err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256([]byte(note))
		r := put[len(put)-1]
		if got := r.Header.Get("X-Amz-Checksum-Sha256"); got != base64.StdEncoding.EncodeToString(sum[:]) || !strings.Contains(r.Header.Get("Authorization"), "SignedHeaders=host;x-amz-checksum-sha256;x-amz-content-sha256;x-amz-date,") {
			t.Errorf("checksum %q, %s", got, r.Header.Get("Authorization"))
		}
		object, err := backend.GetObject("worm", "tenet/127.0.0.1:8080/default/000000000007.checkpoint", nil)
		if err != nil {
			t.Fatal(err)
		}
		got := make([]byte, object.Size)
		_, _ = object.Contents.Read(got)
		if string(got) != note {
			t.Errorf("the bucket has %q, want %q", got, note)
		}
	}
	down = true
	if err := places[0].Put(t.Context(), c, "x"); err == nil {
		t.Error("a refused checkpoint counts as published")
	}
	if _, err := checkpoint.ParsePlaces("s3://worm", nil, nil, func(address string) (checkpoint.Objects, error) {
		return place.ParseObjects(address, place.Config{Env: env})
	}); err == nil {
		t.Error("a bucket without a prefix is a place")
	}
}
