//go:build !unix

package main

import "time"

var begun = time.Now()

// used is the time since the start, where processor time is not known.
func used() time.Duration { return time.Since(begun) }
