// Command demo fills a database with a year of an invented company, Acme: three teams and a warehouse, 400 rules, 20,000
// evaluations, and all that people do about them. Everything goes through the API of a node in this process, whose clock runs through the year, so records, chain and
// counts are real. Equal seeds make the same year.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"time"

	"tenet/internal/store/sqlstore"
)

func main() {
	var o options
	flag.StringVar(&o.data, "data", ".tenet-demo", "folder of the database that is made")
	flag.IntVar(&o.evaluations, "evaluations", 20_000, "evaluations of the year")
	flag.Uint64Var(&o.seed, "seed", 1, "equal seeds make the same year")
	flag.Parse()
	o.end, o.report = time.Now(), func(format string, args ...any) { fmt.Fprintf(os.Stderr, format+"\n", args...) }
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

type options struct {
	data        string
	evaluations int
	seed        uint64
	end         time.Time // of the year
	report      func(format string, args ...any)
}

// run fills the database, unless the folder has one.
func run(ctx context.Context, o options) (err error) {
	file := filepath.Join(o.data, sqlstore.FileName)
	if _, err := os.Stat(file); err == nil {
		o.report("%s is there already; remove the folder to make it again", file)
		return nil
	}
	// A year that ends in the middle is not served as if it were whole.
	making := o.data + ".making"
	if err := os.RemoveAll(making); err != nil {
		return err
	}
	began := time.Now()
	y := newYear(o)
	if err := y.live(ctx, making); err != nil {
		return errors.Join(err, os.RemoveAll(making))
	}
	if err := os.Remove(o.data); err != nil && !errors.Is(err, os.ErrNotExist) { // an empty folder may be there
		return err
	}
	if err := os.Rename(making, o.data); err != nil {
		return err
	}
	o.report("%s: %s, made in %.0f s", o.data, y.summary(), time.Since(began).Seconds())
	return nil
}
