//go:build unix

package shell

import (
	"io/fs"
	"syscall"
)

// writable reports whether the user may change a file, or the entries of a folder.
func writable(name string, info fs.FileInfo) bool {
	const write, search = 2, 1
	mode := uint32(write)
	if info.IsDir() {
		mode |= search
	}
	return syscall.Access(name, mode) == nil
}

// shared reports whether a file has other names.
func shared(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || uint64(stat.Nlink) > 1
}
