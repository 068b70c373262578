package rule

import "testing"

func TestToolGlobs(t *testing.T) {
	for _, test := range []struct {
		glob, server, tool string
		want               bool
	}{
		{"write_file", "filesystem", "write_file", true},
		{"Write_File", "filesystem", "write_file", true},
		{"write_file", "filesystem", "write_files", false},
		{"write_*", "any", "write_file", true},
		{"*_file", "any", "read_file", true},
		{"filesystem/write_*", "filesystem", "write_file", true},
		{"filesystem/write_*", "FileSystem", "WRITE_file", true},
		{"filesystem/write_*", "git", "write_file", false},
		{"filesystem/write_*", "", "write_file", true}, // a server without a name may be any
		{"*git*/push", "my-github-2", "push", true},
		{"files/*", "files", "admin/wipe", true}, // names of tools may hold a slash
		{"files/w?pe", "files", "wipe", true},
		{"files/w?pe", "files", "wpe", false},
		{"resources/read", "files", "resources/read", true},
		{"prompts/get", "files", "prompts/get", true},
		{"files/resources/read", "files", "resources/read", true},
		{"git/resources/read", "files", "resources/read", false},
		{"a*b*c", "x", "aXbYbZc", true},
		{"a*b*c", "x", "aXbYbZ", false},
		{"", "x", "", true},
		{"*", "x", "", true},
	} {
		if got := CompileTools([]string{test.glob}).Match(test.server, test.tool); got != test.want {
			t.Errorf("%q of %s/%s: %v, want %v", test.glob, test.server, test.tool, got, test.want)
		}
	}
	if CompileTools(nil).Match("a", "b") {
		t.Error("no glob matches a tool")
	}
}
