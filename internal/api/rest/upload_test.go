package rest

import (
	"bytes"
	"context"
	"log/slog"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"tenet/internal/auth"
	"tenet/internal/rule"
)

// openDoor lets everybody in.
type openDoor struct{}

func (openDoor) Refused(string, string) {}

func (openDoor) Authenticate(context.Context, string) (auth.Actor, error) {
	return auth.Local("test"), nil
}
func (openDoor) Required(context.Context) (bool, error) { return false, nil }

// files takes uploads.
type files struct{}

func (files) Routes(r *Router) {
	Handle(r.Tag("Files"), Operation{ID: "upload", Route: "POST /files", Role: auth.Reviewer, Summary: "Upload a file"}, func(ctx context.Context, _ *None) (string, error) {
		done, err := ReserveUpload(ctx)
		if err != nil {
			return "", err
		}
		defer done()
		f, err := ReadForm(ctx)
		if err != nil {
			return "", err
		}
		return f.Filename, nil
	}).Upload(map[string]*Schema{"file": File("The file.")})
}

// Forms are in memory as a whole, so only some of them may be at once: the server does not read the others before.
func TestUploadsAtOnce(t *testing.T) {
	s := New(Config{Keys: openDoor{}, Logger: slog.New(slog.DiscardHandler)}, files{})
	for range maxUploads {
		s.uploads <- struct{}{}
	}
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	part, err := form.CreateFormFile("file", "a.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = part.Write([]byte("Some text."))
	_ = form.Close()
	answered := make(chan *httptest.ResponseRecorder)
	go func() {
		r, w := httptest.NewRequest(http.MethodPost, "/files", &body), httptest.NewRecorder()
		r.Header.Set("Content-Type", form.FormDataContentType())
		s.ServeHTTP(w, r)
		answered <- w
	}()
	select {
	case w := <-answered:
		t.Fatalf("uploaded beside %d others: %d", maxUploads, w.Code)
	case <-time.After(50 * time.Millisecond):
	}
	<-s.uploads
	if w := <-answered; w.Code != http.StatusOK || strings.TrimSpace(w.Body.String()) != `"a.txt"` {
		t.Fatalf("%d %s", w.Code, w.Body)
	}
	if len(s.uploads) != maxUploads-1 {
		t.Errorf("%d uploads run, want %d", len(s.uploads), maxUploads-1)
	}
}

func FuzzForm(f *testing.F) {
	f.Add([]byte("--b\r\nContent-Disposition: form-data; name=\"file\"; filename=\"a.txt\"\r\n\r\nx\r\n--b--\r\n"), "b")
	f.Add([]byte("--b\r\n\r\n--b--"), "b")
	f.Fuzz(func(t *testing.T, body []byte, boundary string) {
		if boundary == "" {
			return
		}
		form, err := parseForm(multipart.NewReader(bytes.NewReader(body), boundary), []string{"title"}, 0)
		if err != nil && rule.CodeOf(err) != rule.CodeInvalid {
			t.Fatalf("error %v", err)
		}
		if err == nil && len(form.Fields) > 1 {
			t.Fatalf("fields %v", form.Fields)
		}
	})
}
