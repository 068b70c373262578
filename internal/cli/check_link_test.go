package cli

import (
	"os"
	"path/filepath"
	"testing"
)

func TestRealPath(t *testing.T) {
	root := t.TempDir()
	for _, folder := range []string{"src", "lib"} {
		if err := os.Mkdir(filepath.Join(root, folder), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(root, "src", "n.py"), []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"s": "src", "out": os.TempDir()} {
		if err := os.Symlink(to, filepath.Join(root, link)); err != nil {
			t.Skip(err)
		}
	}
	t.Chdir(filepath.Join(root, "lib"))
	for name, want := range map[string]string{"../s/n.py": "src/n.py", "../src/n.py": "src/n.py", filepath.Join(root, "s", "n.py"): "src/n.py", "../out": "", "none": ""} {
		if got, ok := realPath("lib", name); ok != (want != "") || ok && got != want {
			t.Errorf("%s is %q (%v), want %q", name, got, ok, want)
		}
	}
}
