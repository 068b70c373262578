// Command bench measures a real Tenet server from outside and prints the tables of docs/performance.md: throughput and
// latency of evaluations decided by checks, import, cold start, memory, and how the cost of an evaluation grows with the
// rules that are out of its scope. Server and load share the machine, so figures are for comparison within one run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"time"
)

func main() {
	var o options
	flag.StringVar(&o.binary, "binary", "bin/tenet", "the tenet binary to measure")
	flag.StringVar(&o.databaseURL, "database-url", "", "measure PostgreSQL at this address (an empty database) instead of SQLite")
	flag.DurationVar(&o.duration, "duration", 10*time.Second, "length of each load phase")
	flag.IntVar(&o.large, "large", 100_000, "rules in the large corpus")
	flag.StringVar(&o.opa, "opa", "", "measure beside this opa binary, and nothing else")
	flag.StringVar(&o.semgrep, "semgrep", "", "measure beside this semgrep program too")
	flag.BoolVar(&o.edge, "edge", false, "measure an edge, and nothing else")
	flag.BoolVar(&o.routes, "routes", false, "measure the routes that search, list and change rules, and nothing else")
	flag.StringVar(&o.sizes, "sizes", "1000,10000,100000", "with -routes, numbers of rules to measure one after the other")
	flag.StringVar(&o.only, "only", "", "with -routes, measure only the requests whose name matches this regular expression")
	flag.BoolVar(&o.load, "load", false, "measure a mixed load on several nodes, and nothing else")
	flag.StringVar(&o.nodes, "nodes", "1", "with -load, numbers of nodes to measure one after the other, such as 1,3")
	flag.IntVar(&o.clients, "clients", 24, "with -load, clients in all")
	flag.IntVar(&o.projects, "projects", 12, "with -load, projects that they work in")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, o); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

type options struct {
	binary      string
	databaseURL string
	duration    time.Duration
	large       int
	opa         string
	semgrep     string
	edge        bool
	// Of the routes:
	routes bool
	sizes  string
	only   string
	// Of the mixed load:
	load              bool
	nodes             string
	clients, projects int
}

func run(ctx context.Context, o options) error {
	if o.load {
		if o.clients < 1 || o.projects < 1 {
			return errors.New("-clients and -projects must be at least 1")
		}
		return mixedLoad(ctx, o)
	}
	switch {
	case o.opa != "":
		return peers(ctx, o)
	case o.semgrep != "":
		return semgrep(ctx, o)
	case o.routes:
		return byRoute(ctx, o)
	case o.edge:
		return edgeAlone(ctx, o)
	}
	if err := throughput(ctx, o); err != nil {
		return fmt.Errorf("throughput: %w", err)
	}
	if o.databaseURL != "" {
		return nil // the other phases need a database of their own each
	}
	if err := growth(ctx, o); err != nil {
		return fmt.Errorf("growth: %w", err)
	}
	return commandLine(ctx, o)
}

// throughput loads 10,000 rules and measures both routes at 8 and at 32 clients.
func throughput(ctx context.Context, o options) error {
	s, err := start(ctx, o, "--no-seed")
	if err != nil {
		return err
	}
	defer s.stop()
	if _, err := s.importRules(ctx, corpus(10_000, 100)); err != nil {
		return err
	}
	if err := s.settle(ctx); err != nil {
		return err
	}
	fmt.Printf("## 10,000 rules, %s a phase\n\n", o.duration)
	fmt.Println("| request | clients | requests/s | p50 ms | p99 ms |")
	fmt.Println("|---|---|---|---|---|")
	for _, route := range []struct {
		name, path string
		body       func(i int) []byte
	}{
		{"evaluation of a diff", "/api/v1/evaluate", diffRequest},
		{"evaluation of facts", "/api/v1/evaluate", factsRequest},
		{"applicable rules", "/api/v1/evaluate/applicable-rules", applicableRequest},
	} {
		for _, clients := range []int{8, 32} {
			r, err := s.load(ctx, clients, o.duration, route.path, route.body)
			if err != nil {
				return err
			}
			fmt.Printf("| %s | %d | %.0f | %.1f | %.1f |\n", route.name, clients, r.rate, r.ms(0.5), r.ms(0.99))
		}
	}
	return s.verify(ctx)
}

// growth measures import, cold start, memory and the cost of an evaluation at three sizes, of which always the same 100
// rules are in scope.
func growth(ctx context.Context, o options) error {
	fmt.Println("\n## Growth with rules out of scope (100 in scope), 8 clients")
	fmt.Println("\n| rules | import s | cold start to ready s | RSS MiB | evaluations/s | p50 ms | p99 ms |")
	fmt.Println("|---|---|---|---|---|---|---|")
	for _, n := range []int{1000, 10_000, o.large} {
		if err := growthAt(ctx, o, n); err != nil {
			return err
		}
	}
	return nil
}

func growthAt(ctx context.Context, o options, n int) error {
	s, err := start(ctx, o, "--no-seed")
	if err != nil {
		return err
	}
	defer s.stop()
	imported, err := s.importRules(ctx, corpus(n, max(1, n/100)))
	if err != nil {
		return err
	}
	cold, err := s.restart(ctx)
	if err != nil {
		return err
	}
	memory, err := s.rss()
	if err != nil {
		return err
	}
	r, err := s.load(ctx, 8, o.duration, "/api/v1/evaluate", factsRequest)
	if err != nil {
		return err
	}
	fmt.Printf("| %d | %.1f | %.2f | %d | %.0f | %.1f | %.1f |\n", n, imported.Seconds(), cold.Seconds(), memory>>20, r.rate, r.ms(0.5), r.ms(0.99))
	return nil
}
