package place

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"tenet/internal/rule"
)

func largeAt(t *testing.T, server, name string) *Large {
	t.Helper()
	l, err := ParseLarge("s3://backups/"+name+"?endpoint="+server, Config{Env: func(name string) string {
		return map[string]string{"AWS_ACCESS_KEY_ID": "id", "AWS_SECRET_ACCESS_KEY": "secret"}[name]
	}})
	if err != nil {
		t.Fatal(err)
	}
	l.part = 1000
	return l
}

func TestLargeObjects(t *testing.T) {
	t.Parallel()
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	fake := gofakes3.New(backend).Server()
	var asked []string
	fails := func(*http.Request) bool { return false }
	s3 := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.Method)
		if fails(r) {
			http.Error(w, "no room", http.StatusInsufficientStorage)
			return
		}
		fake.ServeHTTP(w, r)
	}))
	defer s3.Close()
	for _, size := range []int{0, 1000, 1001, 3500} {
		want := bytes.Repeat([]byte("0123456789a"), size)[:size]
		l := largeAt(t, s3.URL, fmt.Sprintf("a b/copy-%d.db", size))
		if there, err := l.Exists(t.Context()); there || err != nil {
			t.Errorf("%d bytes: there before: %t, %v", size, there, err)
		}
		asked = nil
		if err := l.Upload(t.Context(), bytes.NewReader(want), int64(size)); err != nil {
			t.Fatal(size, err)
		}
		parts := 1
		if size > 1000 {
			parts = (size+999)/1000 + 2 // one request begins it and one ends it
		}
		if len(asked) != parts {
			t.Errorf("%d bytes: %v, want %d requests", size, asked, parts)
		}
		var got bytes.Buffer
		if err := l.Download(t.Context(), &got); err != nil || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d bytes: got %d, %v", size, got.Len(), err)
		}
		if there, err := l.Exists(t.Context()); !there || err != nil {
			t.Errorf("%d bytes: there after: %t, %v", size, there, err)
		}
	}
	broken := largeAt(t, s3.URL, "broken.db")
	if err := broken.Download(t.Context(), &bytes.Buffer{}); rule.CodeOf(err) != rule.CodeNotFound {
		t.Errorf("no such object: %v", err)
	}
	fails = func(r *http.Request) bool { return r.URL.Query().Get("partNumber") == "3" }
	asked = nil
	err := broken.Upload(t.Context(), bytes.NewReader(make([]byte, 3500)), 3500)
	if rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "no room") || asked[len(asked)-1] != http.MethodDelete {
		t.Errorf("a part that is refused: %v, %v", err, asked)
	}
	if there, err := broken.Exists(t.Context()); there || err != nil {
		t.Errorf("after it the object is there: %t, %v", there, err)
	}
	if _, err := ParseLarge("file:/x", Config{}); rule.CodeOf(err) != rule.CodeInvalid {
		t.Errorf("a file: %v", err)
	}
}

// TestSignaturesOfQueries has two examples of the documentation of Signature Version 4.
func TestSignaturesOfQueries(t *testing.T) {
	t.Parallel()
	b := bucket{
		id: "AKIAIOSFODNN7EXAMPLE", secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", region: "us-east-1",
		now: func() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) },
	}
	for query, want := range map[string]string{
		"lifecycle":           "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
		"prefix=J&max-keys=2": "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
	} {
		r := &http.Request{Method: http.MethodGet, URL: &url.URL{Scheme: "https", Host: "examplebucket.s3.amazonaws.com", Path: "/", RawQuery: query}, Header: http.Header{}}
		b.sign(r, nil)
		if got := r.Header.Get("Authorization"); !strings.HasSuffix(got, "Signature="+want) {
			t.Errorf("%s: %s, want %s", query, got, want)
		}
	}
}
