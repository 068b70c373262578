// Command search measures how well and how fast rules are found, and prints the tables of docs/search-ranking.md. Quality is
// measured on collections with known answers, in a folder given by -data; speed on made-up rules and vectors.
package main

import (
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
)

func main() {
	data := flag.String("data", "../shared/data/retrieval", "folder with the collections obliqa and cranfield; empty leaves quality out")
	vectors := flag.String("vectors", "", "folder with vectors of a model: <collection>/docs.f32 and queries.f32, float32 in little endian; empty leaves out what needs them")
	sizes := flag.String("sizes", "1000,10000,100000", "numbers of rules to measure speed at; empty leaves speed out")
	flag.Parse()
	if err := run(*data, *vectors, *sizes); err != nil {
		fmt.Fprintln(os.Stderr, "search:", err)
		os.Exit(1)
	}
}

func run(data, vectors, sizes string) error {
	if data != "" {
		if err := quality(data, vectors); err != nil {
			return err
		}
		if err := documents(data, "cranfield"); err != nil {
			return err
		}
	}
	var counts []int
	for s := range strings.SplitSeq(sizes, ",") {
		if s == "" {
			continue
		}
		n, err := strconv.Atoi(s)
		if err != nil || n < 100 {
			return fmt.Errorf("-sizes: %q is not a number of 100 or more", s)
		}
		counts = append(counts, n)
	}
	return speed(counts)
}
