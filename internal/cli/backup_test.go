package cli

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestABackupIsRestored(t *testing.T) {
	t.Chdir(t.TempDir())
	dir, out := "data", "copies" // names are those of the folder that one is in
	if err := os.Mkdir(out, 0o700); err != nil {
		t.Fatal(err)
	}
	must := func(args ...string) (string, string) {
		t.Helper()
		code, stdout, errs := run(t, "", args...)
		if code != 0 {
			t.Fatalf("%v exits with %d and %s", args, code, errs)
		}
		return stdout, errs
	}
	must("projects", "create", "acme", "--data", dir)
	plain, packed, piped := filepath.Join(out, "a.db"), filepath.Join(out, "a.db.zst"), filepath.Join(out, "piped.db")
	if _, errs := must("backup", plain, "--data", dir); !strings.Contains(errs, "copied and checked "+plain) || !strings.Contains(errs, "2 projects") {
		t.Errorf("says %s", errs)
	}
	must("backup", packed, "--data", dir)
	stdout, _ := must("backup", "-", "--data", dir)
	if err := os.WriteFile(piped, []byte(stdout), 0o600); err != nil {
		t.Fatal(err)
	}
	full, err := os.Stat(plain)
	if err != nil {
		t.Fatal(err)
	}
	if small, err := os.Stat(packed); err != nil || small.Size()*2 > full.Size() {
		t.Errorf("compressed to %v of %d bytes: %v", small, full.Size(), err)
	}
	for _, from := range []string{plain, packed, piped} {
		into := from + "-restored"
		must("restore", from, "--data", into)
		if list, _ := must("projects", "list", "--data", into); !strings.Contains(list, "acme") {
			t.Errorf("restored from %s:\n%s", from, list)
		}
		if left, err := filepath.Glob(filepath.Join(into, "restore-*")); err != nil || len(left) > 0 {
			t.Errorf("leaves %v, %v", left, err)
		}
	}
	// A database that is there is put aside, and only if wanted.
	must("projects", "create", "later", "--data", dir)
	if code, _, errs := run(t, "", "restore", plain, "--data", dir); code != 2 || !strings.Contains(errs, "--force puts it aside") {
		t.Errorf("over a database: %d, %s", code, errs)
	}
	if list, _ := must("projects", "list", "--data", dir); !strings.Contains(list, "later") {
		t.Errorf("the database has changed:\n%s", list)
	}
	_, errs := must("restore", packed, "--force", "--data", dir)
	if list, _ := must("projects", "list", "--data", dir); strings.Contains(list, "later") || !strings.Contains(list, "acme") {
		t.Errorf("after restoring:\n%s", list)
	}
	aside, err := filepath.Glob(filepath.Join(dir, "tenet.db.before-*"))
	if err != nil || len(aside) != 1 || !strings.Contains(errs, aside[0]) {
		t.Fatalf("put aside: %v, %v, and says %s", aside, err, errs)
	}
	again := filepath.Join(t.TempDir(), "again")
	must("restore", aside[0], "--data", again)
	if list, _ := must("projects", "list", "--data", again); !strings.Contains(list, "later") {
		t.Errorf("what was put aside:\n%s", list)
	}
}

func TestBackupsThatAreRefused(t *testing.T) {
	dir, out := t.TempDir(), t.TempDir()
	if code, _, errs := run(t, "", "projects", "create", "acme", "--data", dir); code != 0 {
		t.Fatal(errs)
	}
	letter, bomb := filepath.Join(out, "letter.zst"), filepath.Join(out, "bomb.zst")
	if err := os.WriteFile(letter, []byte("a letter"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(bomb, []byte{0x28, 0xb5, 0x2f, 0xfd, 0x04, 0x00, 0x51, 0x00, 0x00, 'z', 'z', 'z'}, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		args []string
		says string
	}{
		{[]string{"backup", letter, "--data", dir}, "there already"},
		{[]string{"backup", filepath.Join(out, "x"), "--data", filepath.Join(out, "none")}, "there is no database"},
		{[]string{"backup", filepath.Join(out, "x"), "--server", "http://127.0.0.1:1"}, "goes without --server"},
		{[]string{"backup", filepath.Join(out, "x"), "--database-url", "postgres://127.0.0.1:1/x"}, "pg_dump"},
		{[]string{"restore", letter, "--data", filepath.Join(out, "new")}, "no sound copy"},
		{[]string{"restore", bomb, "--data", filepath.Join(out, "new")}, "no compressed copy"},
		{[]string{"restore", letter, "--force", "--data", dir}, "no sound copy"},
		{[]string{"restore", filepath.Join(out, "none"), "--data", dir}, "no such file"},
		{[]string{"restore", letter, "--database-url", "postgres://127.0.0.1:1/x"}, "pg_restore"},
		{[]string{"db", "migrate", "--sql", "--data", dir}, "--plan"},
		{[]string{"db", "migrate", "--server", "http://127.0.0.1:1"}, "goes without --server"},
	} {
		code, stdout, errs := run(t, "", tt.args...)
		if code != 2 || stdout != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%v exits with %d, %q and %s; want %q", tt.args, code, stdout, errs, tt.says)
		}
	}
	if code, list, _ := run(t, "", "projects", "list", "--data", dir); code != 0 || !strings.Contains(list, "acme") {
		t.Errorf("the database after all that: %d\n%s", code, list)
	}
}

func TestMigrationsArePlanned(t *testing.T) {
	dir := t.TempDir()
	code, text, errs := run(t, "", "db", "migrate", "--plan", "--sql", "--data", dir)
	if code != 0 || !strings.Contains(text, "schema version 0 would become ") || !strings.Contains(text, "CREATE TABLE") {
		t.Fatalf("%d, %s\n%.400s", code, errs, text)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) > 0 {
		t.Errorf("a plan leaves %v, %v", entries, err)
	}
	if _, text, _ = run(t, "", "db", "migrate", "--data", dir); !strings.Contains(text, "migrated from schema version 0 to ") {
		t.Errorf("migrating says %s", text)
	}
	if _, text, _ = run(t, "", "db", "migrate", "--data", dir); !strings.Contains(text, "up to date") {
		t.Errorf("once more, it says %s", text)
	}
	_, text, _ = run(t, "", "db", "migrate", "--plan", "--json", "--data", dir)
	var plan struct {
		Have, Newest int
		Pending      []any
	}
	if err := json.NewDecoder(bytes.NewBufferString(text)).Decode(&plan); err != nil || plan.Have == 0 || plan.Have != plan.Newest || plan.Pending == nil {
		t.Errorf("as JSON: %v\n%s", err, text)
	}
}
