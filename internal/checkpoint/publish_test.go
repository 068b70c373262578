package checkpoint_test

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"tenet/internal/checkpoint"
)

func TestCheckpointsLeaveTheMachine(t *testing.T) {
	dir := t.TempDir()
	var posted []string
	status := http.StatusNoContent
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost {
			t.Errorf("%s: %v", r.Method, err)
		}
		posted = append(posted, string(body))
		w.WriteHeader(status)
	}))
	defer server.Close()
	var out bytes.Buffer
	places, err := checkpoint.ParsePlaces("stdout, file:"+filepath.Join(dir, "all")+",folder:"+filepath.Join(dir, "each")+","+server.URL, &out, server.Client(), nil)
	if err != nil || len(places) != 4 {
		t.Fatalf("%d places, %v", len(places), err)
	}
	notes := []string{"example.com/p\n1\nAAA=\n\n— example.com/p sig\n", "example.com/p\n2\nBBB=\n\n— example.com/p sig\n"}
	for i, note := range notes {
		for _, p := range places {
			if err := p.Put(t.Context(), checkpoint.Checkpoint{Origin: "example.com/p", Size: int64(i + 1)}, note); err != nil {
				t.Fatal(err)
			}
		}
	}
	all, err := os.ReadFile(filepath.Join(dir, "all"))
	if want := notes[0] + "\n" + notes[1] + "\n"; err != nil || string(all) != want || out.String() != want {
		t.Errorf("file %q, stdout %q, %v; want %q", all, out.String(), err, want)
	}
	var each []string
	err = filepath.WalkDir(filepath.Join(dir, "each"), func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			var data []byte
			data, err = os.ReadFile(path)
			each = append(each, string(data))
		}
		return err
	})
	if err != nil || len(each) != 2 || strings.Join(each, "") != strings.Join(notes, "") || strings.Join(posted, "") != strings.Join(notes, "") {
		t.Errorf("folder %q, posted %q, %v", each, posted, err)
	}
	// An address that does not take it is an error, so that it is logged.
	status = http.StatusInternalServerError
	if err := places[3].Put(t.Context(), checkpoint.Checkpoint{Size: 3}, notes[0]); err == nil {
		t.Error("a refused checkpoint counts as published")
	}
	server.Close()
	if err := places[3].Put(t.Context(), checkpoint.Checkpoint{Size: 3}, notes[0]); err == nil || errors.Is(err, io.EOF) {
		t.Errorf("an address that is down: %v", err)
	}
	for _, bad := range []string{"disk", "stdout:x", "file:", "folder:", "http://", "ftp://x/y", "s3://b/p"} {
		if _, err := checkpoint.ParsePlaces(bad, &out, nil, nil); err == nil {
			t.Errorf("%q is a place", bad)
		}
	}
}
