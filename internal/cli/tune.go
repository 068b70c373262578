package cli

import "runtime"

// spareThreads is how many more threads than processors run Go code in a server. Every commit ends in an fsync, and when that
// returns, its goroutine needs a free thread. With as many threads as processors all are busy under load, and each commit
// waits for another request's time slice to end; with more, the operating system shares the processors out.
const spareThreads = 6

// Reserves are memory that is counted and never touched, so that it takes no room: the garbage collector then runs after as much
// garbage or more, however small the corpus is, instead of many times a second. An agent may have many gateways.
const (
	serverReserve  = 128 << 20
	gatewayReserve = 32 << 20
	edgeReserve    = 0 // an edge is a neighbor of what it serves, and is to stay small
)

// tune sets the runtime up for serving, except for what the environment says, and returns what must be kept until the end.
// Measured together: a quarter to a third more evaluations a second, at a lower p99; see docs/performance.md.
func tune(s *session, reserve int) []byte {
	if s.env("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(runtime.GOMAXPROCS(0) + spareThreads)
	}
	if s.env("GOGC") != "" || s.env("GOMEMLIMIT") != "" {
		return nil
	}
	return make([]byte, reserve)
}
