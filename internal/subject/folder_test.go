package subject_test

import (
	"testing"

	"tenet/internal/subject"
)

func TestFolders(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		glob, folder   string
		holds, isWhole bool
	}{
		{"**/*.py", "vendor/lib", true, false},
		{"*.py", "vendor/lib", true, false},
		{"/main.py", "vendor", false, false},
		{"vendor/**", "vendor", true, true},
		{"vendor/", "vendor/lib/a", true, true},
		{"vendor/**", "vendors", false, false},
		{"vendor/lib/docs/**", "vendor/lib", true, false},
		{"vendor/lib/docs/**", "vendor/lib/src", false, false},
		{"./Vendor/lib/", "vendor/lib", true, false}, // a match of another case is not sure
		{"**/vendor/**", "a/vendor/lib", true, true},
		{"**/vendor/**", "vendor", true, true},
		{"**/vendor/**", "lib", true, false},
		{"{vendor,third_party}/**", "third_party/x", true, true},
		{"third_party/*/**", "third_party/x", true, true},
		{"third_party/*/**", "third_party", true, false},
		{"src/main.go", "src/main.goo", false, false},
		{"src/main.go", "src/main.go", false, false},
		{"src/main.go/", "src/main.go", true, true},
		{"src/main.go", "src", true, false},
		{"cafe\u0301/**", "caf\u00e9", true, false},
		{"caf\u00e9*/x", "cafe\u0301s", true, false},
		{`a\*/**`, "a*", true, true},
		{`a\**/**`, "a*", true, true},
	} {
		paths, excluded := subject.FoldersOf([]string{tt.glob}, nil), subject.FoldersOf(nil, []string{tt.glob})
		if got := paths.MayHold(tt.folder); got != tt.holds {
			t.Errorf("may %s hold matches of %s: %v", tt.folder, tt.glob, got)
		}
		if got := paths.Within(tt.folder); got != tt.isWhole {
			t.Errorf("does %s match everything below %s: %v", tt.glob, tt.folder, got)
		}
		if got := excluded.Excludes(tt.folder); got != tt.isWhole {
			t.Errorf("does %s exclude everything below %s: %v", tt.glob, tt.folder, got)
		}
	}
}
