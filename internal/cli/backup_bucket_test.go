package cli

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
)

func TestABackupInABucket(t *testing.T) {
	backend := s3mem.New()
	if err := backend.CreateBucket("backups"); err != nil {
		t.Fatal(err)
	}
	s3 := httptest.NewServer(gofakes3.New(backend).Server())
	defer s3.Close()
	t.Setenv("AWS_ENDPOINT_URL", s3.URL)
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	dir := t.TempDir()
	must := func(args ...string) (stdout, errs string) {
		t.Helper()
		code, stdout, errs := run(t, "", args...)
		if code != 0 {
			t.Fatalf("%v exits with %d and %s", args, code, errs)
		}
		return stdout, errs
	}
	must("projects", "create", "acme", "--data", dir)
	for _, object := range []string{"s3://backups/2026/plain.db", "s3://backups/2026/packed.db.zst"} {
		if _, errs := must("backup", object, "--data", dir); !strings.Contains(errs, "copied and checked "+object) {
			t.Errorf("says %s", errs)
		}
		into := filepath.Join(t.TempDir(), "restored")
		must("restore", object, "--data", into)
		if list, _ := must("projects", "list", "--data", into); !strings.Contains(list, "acme") {
			t.Errorf("restored from %s:\n%s", object, list)
		}
		for _, folder := range []string{dir, into} {
			if left, err := filepath.Glob(filepath.Join(folder, "*-[0-9]*")); err != nil || len(left) > 0 {
				t.Errorf("leaves %v, %v", left, err)
			}
		}
	}
	packed, err := backend.HeadObject("backups", "2026/packed.db.zst")
	if err != nil {
		t.Fatal(err)
	}
	if plain, err := backend.HeadObject("backups", "2026/plain.db"); err != nil || packed.Size*2 > plain.Size {
		t.Errorf("compressed to %d bytes: %v", packed.Size, err)
	}
	for says, args := range map[string][]string{
		"there already":      {"backup", "s3://backups/2026/plain.db", "--data", dir},
		"there is no object": {"restore", "s3://backups/none", "--data", filepath.Join(dir, "new")},
		"is not an object":   {"backup", "s3://backups", "--data", dir},
		"NoSuchBucket":       {"backup", "s3://elsewhere/a.db", "--data", dir},
		"--force":            {"restore", "s3://backups/2026/plain.db", "--data", dir},
	} {
		if code, _, errs := run(t, "", args...); code != 2 || !strings.Contains(errs, says) {
			t.Errorf("%v exits with %d and %s, want %q", args, code, errs, says)
		}
	}
	if left, err := os.ReadDir(filepath.Join(dir, "new")); err != nil || len(left) > 0 {
		t.Errorf("a copy that is not there leaves %v, %v", left, err)
	}
}
