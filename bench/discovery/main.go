// Command discovery measures how well rules are found in texts, and how fast, and prints the tables of docs/discovery-quality.md.
// Quality is measured against the normative statements that people have marked in gold.txt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path"
	"runtime"
	"strings"
	"time"

	"tenet/internal/discover/assistant"
	"tenet/internal/discover/comment"
	"tenet/internal/discover/policy"
	"tenet/internal/discover/source"
)

func main() {
	data := flag.String("data", "../shared/data/discovery", "folder with policy_document/ and assistant_md.tar.gz")
	part := flag.String("part", "all", "files to measure: tuned, held-out, unseen or all")
	show := flag.Bool("show", false, "list what is found wrongly and what is missed")
	marks := flag.String("gold", "", "file with marks of other files below -data, in the form of gold.txt")
	fitting := flag.Bool("fit", false, "fit the weights of confidence to calibration.txt, and print them with the table of reliability")
	rows := flag.Bool("rows", false, "print the candidates in the files of a part as rows of calibration.txt")
	list := flag.Bool("list", false, "list what is found in the files that follow, and measure nothing")
	speed := flag.Int("speed", 10, "megabytes of text to measure speed at; 0 leaves it out")
	flag.Parse()
	if *fitting {
		if err := fitAll(); err != nil {
			fmt.Fprintln(os.Stderr, "discovery:", err)
			os.Exit(1)
		}
		return
	}
	if *rows {
		if err := printRows(*data, *marks, *part); err != nil {
			fmt.Fprintln(os.Stderr, "discovery:", err)
			os.Exit(1)
		}
		return
	}
	if *list {
		if err := listFound(flag.Args()); err != nil {
			fmt.Fprintln(os.Stderr, "discovery:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(*data, *marks, *part, *show, *speed); err != nil {
		fmt.Fprintln(os.Stderr, "discovery:", err)
		os.Exit(1)
	}
}

func run(data, marks, part string, show bool, megabytes int) error {
	files, gold, err := loadMarked(data, marks)
	if err != nil {
		return err
	}
	parts := append(partsOf(gold), "all")
	if part != "all" {
		parts = []string{part}
	}
	for _, p := range parts {
		measure(files, gold, p, show).print(p)
	}
	if megabytes > 0 {
		measureSpeed(files, gold, megabytes<<20)
	}
	return nil
}

// fitAll prints the weights and the table of reliability.
func fitAll() error {
	rows, err := readRows(calibrationText)
	if err != nil {
		return err
	}
	printFit(os.Stdout, fit(rows))
	bins, brier := reliability(rows)
	fmt.Printf("\n%sBrier score %.3f over %d candidates\n", table(bins), brier, len(rows))
	return nil
}

// printRows prints a row for each candidate of a part that is right or wrong.
func printRows(data, marks, part string) error {
	files, gold, err := loadMarked(data, marks)
	if err != nil {
		return err
	}
	for _, g := range gold {
		if g.part != part {
			continue
		}
		for _, f := range read([]source.File{{Path: g.path, Content: files[g.path]}}) {
			if right, optional := g.judges(f); right || !optional {
				fmt.Printf("%s|%s|%s\n", part+" "+path.Base(g.path), verdict(right), strings.Join(f.Signs, "|"))
			}
		}
	}
	return nil
}

func verdict(right bool) string {
	if right {
		return "right"
	}
	return "wrong"
}

// listFound prints what is found in files, a line each.
func listFound(paths []string) error {
	for _, name := range paths {
		content, err := os.ReadFile(name) //nolint:gosec // the path is the caller's
		if err != nil {
			return err
		}
		for _, f := range read([]source.File{{Path: name, Content: content}}) {
			fmt.Printf("%s:%d\t%.2f\t%s\t%s\t%s\t[%s]\t%s\n", name, f.Line, f.Confidence, f.Modality, f.Severity, f.Statement, f.Method, strings.Join(f.Signs, "|"))
		}
	}
	return nil
}

// readers are the readers of texts.
var readers = []source.Reader{policy.Reader{}, assistant.Reader{}, comment.Reader{}}

// read finds the rules of a file.
func read(files []source.File) []source.Found {
	var out []source.Found
	for _, r := range readers {
		var mine []source.File
		for _, f := range files {
			if r.Reads(f.Path) {
				mine = append(mine, f)
			}
		}
		found, _ := r.Read(context.Background(), mine)
		out = append(out, found...)
	}
	return out
}

// measureSpeed reads the files over and over, as 1,000 files.
func measureSpeed(files map[string][]byte, gold []marked, size int) {
	var list []source.File
	total := 0
	for i := 0; total < size; i++ {
		g := gold[i%len(gold)]
		var content strings.Builder
		for content.Len() < size/1000 {
			content.Write(files[g.path])
			content.WriteString("\n\n")
		}
		list = append(list, source.File{Path: g.path, Content: []byte(content.String())})
		total += content.Len()
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	start := time.Now()
	found := read(list)
	took := time.Since(start)
	runtime.ReadMemStats(&after)
	fmt.Printf("\nspeed: %d files, %.1f MB, %d rules in %.2f s; %.0f MiB allocated, heap %.0f MiB\n", len(list), float64(total)/1e6, len(found),
		took.Seconds(), float64(after.TotalAlloc-before.TotalAlloc)/(1<<20), float64(after.HeapSys)/(1<<20))
}
