package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"tenet/internal/corpus"
	"tenet/internal/rule"
	"tenet/internal/store"
)

// collection is a set of texts, as rules, with questions and their known answers.
type collection struct {
	name    string
	ids     []string // of the texts
	rules   []store.RuleState
	queries []query
	view    *corpus.View
}

type query struct {
	id, text string
	answers  map[string]bool // ids of texts
}

// read reads a collection from its folder. Texts are docs.jsonl or passages.jsonl: the title, if there is one, becomes the
// statement and the text the rationale; without titles the text is the statement.
func read(folder, name string) (*collection, error) {
	c := &collection{name: name}
	texts := filepath.Join(folder, name, "docs.jsonl")
	if _, err := os.Stat(texts); err != nil {
		texts = filepath.Join(folder, name, "passages.jsonl")
	}
	err := eachLine(texts, func(line []byte) error {
		var d struct{ ID, Title, Text string }
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		r := rule.Rule{ID: d.ID, Statement: d.Title, Rationale: d.Text, Status: rule.Effective}
		if d.Title == "" {
			r.Statement, r.Rationale = d.Text, ""
		}
		c.ids, c.rules = append(c.ids, d.ID), append(c.rules, store.RuleState{Rule: r})
		return nil
	})
	if err != nil {
		return nil, err
	}
	place := map[string]int{}
	err = eachLine(filepath.Join(folder, name, "queries.jsonl"), func(line []byte) error {
		var q struct{ ID, Text string }
		err := json.Unmarshal(line, &q)
		place[q.ID] = len(c.queries)
		c.queries = append(c.queries, query{q.ID, q.Text, map[string]bool{}})
		return err
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(filepath.Join(folder, name, "qrels.tsv"), func(line []byte) error {
		fields := strings.Split(string(line), "\t")
		if i, ok := place[fields[0]]; ok && len(fields) > 1 {
			c.queries[i].answers[fields[1]] = true
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	c.view, err = corpus.New(1, c.rules)
	return c, err
}

// eachLine calls fn for the lines of a file, of at most 16 MiB each.
func eachLine(path string, fn func([]byte) error) error {
	f, err := os.Open(path) //nolint:gosec // the user's own file
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // opened for reading
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 16<<20)
	for n := 1; lines.Scan(); n++ {
		if err := fn(lines.Bytes()); err != nil {
			return fmt.Errorf("%s:%d: %w", path, n, err)
		}
	}
	return lines.Err()
}
