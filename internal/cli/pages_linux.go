package cli

import (
	"bufio"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// releaseProgram gives back the pages of the program file that the start has read: the tables of all commands and libraries, most of which a node that
// serves never reads again. The others come back from the cache of the file when they are next used. Only mappings of which no page was ever written are
// given back, so that nothing is lost.
func releaseProgram() error {
	program, err := os.Readlink("/proc/self/exe")
	if err != nil {
		return err
	}
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it is only read
	var found []mapping
	within := false // the lines are about the last one
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		if m, ok := parseMapping(lines.Text(), program); ok {
			found, within = append(found, m), true
			continue
		}
		switch name, value, _ := strings.Cut(lines.Text(), ":"); {
		case !within:
		case name == "Anonymous":
			found[len(found)-1].written = strings.TrimSpace(value) != "0 kB"
		case name == "VmFlags": // the last line about a mapping
			within = false
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	for _, m := range found {
		if m.written {
			continue
		}
		if _, _, failed := syscall.Syscall(syscall.SYS_MADVISE, m.from, m.to-m.from, syscall.MADV_DONTNEED); failed != 0 {
			return fmt.Errorf("madvise: %w", failed)
		}
	}
	return nil
}

// mapping is a range of addresses.
type mapping struct {
	from, to uintptr
	written  bool // it may hold what its file does not
}

// parseMapping reads the line of /proc/self/smaps that begins a mapping; false unless it is one of a file that may not be written.
func parseMapping(line, file string) (m mapping, ok bool) {
	fields := strings.Fields(line) // addresses, permissions, offset, device, inode, path
	if len(fields) < 6 || fields[5] != file || len(fields[1]) != 4 || fields[1][1] == 'w' {
		return m, false
	}
	from, to, _ := strings.Cut(fields[0], "-")
	for _, part := range []struct {
		text string
		into *uintptr
	}{{from, &m.from}, {to, &m.to}} {
		n, err := strconv.ParseUint(part.text, 16, strconv.IntSize)
		if err != nil {
			return m, false
		}
		*part.into = uintptr(n)
	}
	return m, true
}
