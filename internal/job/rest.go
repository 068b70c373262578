package job

import (
	"context"
	"time"
)

// Rounds over more than fewProjects rest after each for restTimes as long as it took, at most longestRest.
const (
	fewProjects = 100
	restTimes   = 3
	longestRest = 100 * time.Millisecond
)

// Rest lets a round in the background over a number of projects rest after one of them, with which it began at a time: a node with thousands of projects is there
// for those who wait for an answer. It returns early if ctx ends.
func Rest(ctx context.Context, began time.Time, projects int) {
	if projects <= fewProjects {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(min(restTimes*time.Since(began), longestRest)):
	}
}
