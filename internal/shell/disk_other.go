//go:build !unix

package shell

import "io/fs"

// writable reports whether the user may change a file, or the entries of a folder.
func writable(_ string, info fs.FileInfo) bool { return info.Mode().Perm()&0o200 != 0 }

// shared reports whether a file has other names, which this system does not say.
func shared(fs.FileInfo) bool { return false }
