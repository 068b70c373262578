// Command commands measures how many harmful and harmless shell commands the starter rules about actions stop, and prints the tables of
// docs/agents.md. Nothing is run.
package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"flag"
	"fmt"
	"hash/fnv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"tenet/internal/catalog"
	"tenet/internal/check"
	"tenet/internal/subject"
	"tenet/packs"
)

// harmful and harmless are commands that no rule was tuned on, one a line.
//
//go:embed harmful.txt
var harmful string

//go:embed harmless.txt
var harmless string

func main() {
	data := flag.String("data", "../shared/data/commands", "folder with harmful.jsonl and harmless.jsonl; empty leaves them out")
	show := flag.Bool("show", false, "list the commands that are answered wrongly")
	part := flag.String("part", "all", "rows to list: tuned, held-out, unseen or all")
	flag.Parse()
	if err := run(*data, *part, *show); err != nil {
		fmt.Fprintln(os.Stderr, "commands:", err)
		os.Exit(1)
	}
}

// command is a command with the answer that people expect.
type command struct {
	text, part string
	stop       bool
}

func run(data, part string, show bool) error {
	rules, err := load()
	if err != nil {
		return err
	}
	list, err := read(data)
	if err != nil {
		return err
	}
	fmt.Printf("%d rules about actions\n%-10s %-9s %9s %8s %10s\n", len(rules), "part", "kind", "commands", "stopped", "stopped %")
	for _, p := range []string{"tuned", "held-out", "unseen"} {
		if part != "all" && part != p {
			continue
		}
		var bad, good, forms tally
		for _, c := range list {
			if c.part != p {
				continue
			}
			if !c.stop {
				good.add(rules, c.text, show, true)
				continue
			}
			bad.add(rules, c.text, show, false)
			for _, form := range spellings(c.text) {
				forms.add(rules, form, show, false)
			}
		}
		bad.print(p, "harmful")
		forms.print(p, "respelt")
		good.print(p, "harmless")
	}
	start := time.Now()
	for _, c := range list {
		_ = stopping(rules, c.text)
	}
	fmt.Printf("%.0f us a command\n", float64(time.Since(start).Microseconds())/float64(max(1, len(list))))
	return nil
}

type tally struct{ all, stopped int }

func (t *tally) add(rules []judged, text string, show, wrong bool) {
	t.all++
	by := stopping(rules, text)
	if len(by) > 0 {
		t.stopped++
	}
	if show && (len(by) > 0) == wrong {
		fmt.Printf("    %q %s\n", text, strings.Join(by, "; "))
	}
}

func (t *tally) print(part, kind string) {
	if t.all > 0 {
		fmt.Printf("%-10s %-9s %9d %8d %9.1f%%\n", part, kind, t.all, t.stopped, 100*float64(t.stopped)/float64(t.all))
	}
}

// judged is a rule about actions.
type judged struct {
	slug    string
	program *check.Program
}

// load compiles the rules of the starter packs that are about actions only.
func load() ([]judged, error) {
	all, err := packs.All()
	if err != nil {
		return nil, err
	}
	var list []judged
	for _, p := range all {
		file, err := catalog.ParseYAML(p.Rules)
		if err != nil {
			return nil, err
		}
		for _, r := range file.Rules {
			applies := r.AppliesTo
			if applies == nil && file.Defaults != nil {
				applies = file.Defaults.AppliesTo
			}
			if applies == nil || !slices.Contains(applies.Kinds, string(subject.Action)) || r.Check == nil || r.Slug == nil {
				continue
			}
			program, err := check.Compile(r.Check)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", *r.Slug, err)
			}
			list = append(list, judged{*r.Slug, program})
		}
	}
	return list, nil
}

// stopping returns the rules that ask about a command or deny it.
func stopping(rules []judged, text string) []string {
	s, err := subject.Build(subject.Input{Action: text})
	if err != nil {
		return []string{err.Error()}
	}
	in := check.Prepare(s)
	var by []string
	for _, r := range rules {
		out := r.program.Run(context.Background(), in)
		if out.Result == check.Broken || out.Result == check.Undecided {
			by = append(by, fmt.Sprintf("%s %s", r.slug, out.Result))
		}
	}
	return by
}

// read returns the commands of the folder, in two halves by a hash of their ids, and those of this program.
func read(data string) ([]command, error) {
	var list []command
	for _, name := range []string{"harmful", "harmless"} {
		text := map[string]string{"harmful": harmful, "harmless": harmless}[name]
		for line := range strings.Lines(text) {
			if line = strings.TrimSpace(line); line != "" {
				list = append(list, command{line, "unseen", name == "harmful"})
			}
		}
		if data == "" {
			continue
		}
		rows, err := readRows(filepath.Join(data, name+".jsonl"), name == "harmful")
		if err != nil {
			return nil, err
		}
		list = append(list, rows...)
	}
	return list, nil
}

func readRows(path string, stop bool) ([]command, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	var list []command
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var row struct{ ID, Command string }
		if err := json.Unmarshal(lines.Bytes(), &row); err != nil {
			return nil, fmt.Errorf("%s: %w", path, err)
		}
		hash := fnv.New32a()
		_, _ = hash.Write([]byte(row.ID))
		part := "tuned"
		if hash.Sum32()%2 == 1 {
			part = "held-out"
		}
		list = append(list, command{row.Command, part, stop})
	}
	return list, lines.Err()
}
