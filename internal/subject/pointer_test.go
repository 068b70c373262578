package subject

import (
	"crypto/sha256"
	"fmt"
	"testing"
)

func TestFilesGiveTheContentBehindAPointer(t *testing.T) {
	content := "eval(x)\n"
	diff := fmt.Sprintf("diff --git a/n.py b/n.py\nnew file mode 100644\nindex 0000000..1234567\n--- /dev/null\n+++ b/n.py\n@@ -0,0 +1,3 @@\n"+
		"+version https://git-lfs.github.com/spec/v1\n+oid sha256:%x\n+size 8\n", sha256.Sum256([]byte(content)))
	s, err := Build(Input{Diff: diff})
	if err != nil || s.Files[0].Unseen == "" {
		t.Fatalf("the content behind a pointer counts as seen (%v)", err)
	}
	s, err = Build(Input{Diff: diff, Files: []InputFile{{Path: "n.py", Content: &content}}})
	if err != nil || len(s.Files) != 1 || s.Files[0].Unseen != "" || s.Files[0].Hunks[0].Lines[0].Text != "eval(x)" {
		t.Fatalf("the content is not taken: %+v, %v", s, err)
	}
	other := "ok(x)\n"
	if _, err := Build(Input{Diff: diff, Files: []InputFile{{Path: "n.py", Content: &other}}}); err == nil {
		t.Fatal("another content is taken")
	}
}
