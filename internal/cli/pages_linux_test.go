package cli

import (
	"bytes"
	"os"
	"strconv"
	"testing"
)

// rssFile is the resident memory of this process that is of files, in KiB.
func rssFile(t *testing.T) int {
	t.Helper()
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(status) {
		if value, ok := bytes.CutPrefix(line, []byte("RssFile:")); ok {
			n, err := strconv.Atoi(string(bytes.TrimSpace(bytes.TrimSuffix(bytes.TrimSpace(value), []byte("kB")))))
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	t.Fatal("no RssFile in /proc/self/status")
	return 0
}

func TestPagesOfTheProgramAreGivenBack(t *testing.T) {
	before := rssFile(t)
	if err := releaseProgram(); err != nil {
		t.Fatal(err)
	}
	if after := rssFile(t); after > before*9/10 {
		t.Errorf("%d KiB of files were resident, then %d", before, after)
	}
}

func TestOnlyMappingsThatAreNotWrittenAreGivenBack(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]bool{
		"00400000-02400000 r-xp 00000000 fe:00 42 /bin/tenet":               true,
		"02400000-04400000 r--p 02000000 fe:00 42 /bin/tenet":               true,
		"04400000-04500000 rw-p 04000000 fe:00 42 /bin/tenet":               false,
		"7f0000000000-7f0000100000 r-xp 00000000 fe:00 43 /lib/x86_64/libc": false,
		"c000000000-c004000000 rw-p 00000000 00:00 0":                       false,
		"Rss:               43048 kB":                                       false,
	} {
		m, ok := parseMapping(line, "/bin/tenet")
		if ok != want || ok && m.to-m.from != 0x2000000 {
			t.Errorf("%s: %+v, %v", line, m, ok)
		}
	}
}
