package login

import (
	"os"
	"path/filepath"
	"testing"
	"time"
)

// The keyring of the operating system keeps tokens, and no file does. It needs one, so it runs where TENET_TEST_KEYRING is set:
//
//	dbus-run-session -- sh -c 'echo -n secret | gnome-keyring-daemon --unlock --components=secrets >/dev/null && TENET_TEST_KEYRING=1 go test ./internal/sso/login'
func TestTheKeyringKeepsTokens(t *testing.T) {
	if os.Getenv("TENET_TEST_KEYRING") == "" {
		t.Skip("TENET_TEST_KEYRING is not set")
	}
	const server = "https://tenet.test.example"
	s := Store{Dir: t.TempDir()}
	t.Cleanup(func() { _ = s.Delete(server) })
	want := &Tokens{ID: "an id token", Refresh: "a refresh token", Expiry: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	if file, err := s.Save(server, want); err != nil || file != "" {
		t.Fatalf("kept in %q, %v", file, err)
	}
	if files, err := filepath.Glob(filepath.Join(s.Dir, "*")); err != nil || len(files) > 0 {
		t.Errorf("there are files: %v, %v", files, err)
	}
	if got, err := s.Load(server); err != nil || got == nil || got.Refresh != want.Refresh || got.ID != want.ID || !got.Expiry.Equal(want.Expiry) {
		t.Errorf("loaded %+v, %v", got, err)
	}
	if err := s.Delete(server); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Load(server); got != nil {
		t.Errorf("after it was deleted: %+v, %v", got, err)
	}
}
