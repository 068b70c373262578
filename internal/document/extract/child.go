package extract

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"runtime/metrics"
	"syscall"
	"time"

	"tenet/internal/rule"
)

// The argument and the variable that make a program the reading process of another.
const (
	childArgument = "read-document"
	childVariable = "TENET_READ_DOCUMENT"
)

// Exit codes of the reading process.
const (
	childFailed  = 70
	childStuffed = 71 // it needed too much memory
	childLate    = 72 // its time was up, and nobody has ended it
)

// task is the order to the reading process; the file comes on its standard input.
type task struct {
	Format Format `json:"format"`
	Limits Limits `json:"limits"`
}

// outcome is its answer on its standard output.
type outcome struct {
	Result  *Result   `json:"result,omitempty"`
	Code    rule.Code `json:"code,omitempty"`
	Message string    `json:"message,omitempty"`
}

// Every program that links this package can be its own reading process, test programs too, so that one way to read a file
// suffices and no setting can be forgotten. It must begin before anything of the program runs, hence here.
func init() {
	if len(os.Args) == 2 && os.Args[1] == childArgument && os.Getenv(childVariable) != "" {
		exit(child(os.Getenv(childVariable), os.Stdin, os.Stdout))
	}
}

// exit ends the reading process at once. Unlike os.Exit it does not wait for a second for late reports of data races, which makes
// tests slow.
func exit(code int) { syscall.Exit(code) }

// maxStack bounds the recursion of the libraries, in bytes.
const maxStack = 128 << 20

// child is the reading process. Panics of other goroutines and stack overflows end it; its parent takes that for a file
// that cannot be read.
func child(spec string, in io.Reader, out io.Writer) int {
	var t task
	if err := json.Unmarshal([]byte(spec), &t); err != nil {
		return childFailed
	}
	debug.SetMaxStack(maxStack)
	debug.SetMemoryLimit(t.Limits.Memory / 4 * 3)
	go watch(t.Limits.Memory)
	// The parent ends this process in time, unless it has itself been killed.
	time.AfterFunc(t.Limits.Time+time.Second, func() { exit(childLate) })
	data, err := io.ReadAll(in)
	if err != nil {
		return childFailed
	}
	var o outcome
	if o.Result, err = read(t.Format, data, t.Limits); err != nil {
		e, _ := errors.AsType[*rule.Error](err) // read has no other
		o = outcome{Code: e.Code, Message: e.Message}
	}
	if err := json.NewEncoder(out).Encode(o); err != nil {
		return childFailed
	}
	return 0
}

// watch ends the process once it holds more than so many bytes.
func watch(limit int64) {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	for {
		metrics.Read(samples)
		if used := samples[0].Value.Uint64() - samples[1].Value.Uint64(); used > uint64(limit) { //nolint:gosec // limits are positive
			fmt.Fprintln(os.Stderr, "tenet: the document needs too much memory")
			exit(childStuffed)
		}
		time.Sleep(5 * time.Millisecond)
	}
}
