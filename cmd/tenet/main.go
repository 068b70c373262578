// Command tenet is the rule governance and evaluation service and its command line.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"tenet/internal/cli"
)

func main() { os.Exit(run()) }

func run() int {
	// A reader that goes away is an error of the write, not the end of the process: temporary data is still removed.
	signal.Ignore(syscall.SIGPIPE)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	return cli.Main(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr, os.Environ())
}
