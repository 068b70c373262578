// Command lexicon makes the tables of package lexicon from the database files of WordNet:
//
//	go run ./bench/lexicon -wordnet=DIR -out=internal/lexicon
//
// DIR is the folder with data.noun, data.verb, data.adj and index.sense of WordNet 3.1.
package main

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/gzip"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

func main() {
	from := flag.String("wordnet", "", "folder of the database files")
	to := flag.String("out", "internal/lexicon", "folder of the tables")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		fmt.Fprintln(os.Stderr, "lexicon:", err)
		os.Exit(1)
	}
}

func run(from, to string) error {
	senses, err := readSenses(filepath.Join(from, "index.sense"))
	if err != nil {
		return err
	}
	sets := map[string]*synset{}
	for pos, name := range map[byte]string{'n': "data.noun", 'v': "data.verb", 'a': "data.adj"} {
		if err := readSets(filepath.Join(from, name), pos, sets); err != nil {
			return err
		}
	}
	if err := write(filepath.Join(to, "verbs.txt.gz"), verbs(senses)); err != nil {
		return err
	}
	return write(filepath.Join(to, "senses.txt.gz"), meanings(senses, sets))
}

// sense is one meaning of a word.
type sense struct {
	set    string // part of speech and offset
	number int    // from 1, the most frequent first
	count  int    // how often it was met in tagged texts
}

// word is one word of one part of speech.
type word struct {
	text string
	pos  byte
}

// synset is words of one meaning.
type synset struct {
	words     []string
	parents   []string
	opposites map[string][]string // by word, the words that mean the opposite
}

// plain reports whether a word has small letters only, and hyphens within.
func plain(w string) bool {
	return len(w) > 1 && strings.Trim(w, "abcdefghijklmnopqrstuvwxyz-") == "" && w[0] != '-' && w[len(w)-1] != '-'
}

// readSenses reads the senses of all plain words.
func readSenses(path string) (map[word][]sense, error) {
	out := map[word][]sense{}
	err := eachLine(path, func(line string) error {
		f := strings.Fields(line)
		if len(f) != 4 {
			return fmt.Errorf("%s: %q", path, line)
		}
		lemma, rest, _ := strings.Cut(f[0], "%")
		if !plain(lemma) {
			return nil
		}
		number, err := strconv.Atoi(f[2])
		if err != nil {
			return err
		}
		count, err := strconv.Atoi(f[3])
		if err != nil {
			return err
		}
		pos := map[byte]byte{'1': 'n', '2': 'v', '3': 'a', '5': 'a'}[rest[0]]
		if pos != 0 {
			w := word{lemma, pos}
			out[w] = append(out[w], sense{string(pos) + f[1], number, count})
		}
		return nil
	})
	for _, list := range out {
		slices.SortFunc(list, func(a, b sense) int { return cmp.Compare(a.number, b.number) })
	}
	return out, err
}

// readSets reads the synsets of a part of speech.
func readSets(path string, pos byte, sets map[string]*synset) error {
	return eachLine(path, func(line string) error {
		if strings.HasPrefix(line, "  ") {
			return nil // the licence
		}
		f := strings.Fields(line)
		n, err := strconv.ParseInt(f[3], 16, 32)
		if err != nil {
			return err
		}
		s := &synset{opposites: map[string][]string{}}
		at := 4
		for range n {
			w, _, _ := strings.Cut(f[at], "(")
			s.words = append(s.words, strings.ToLower(w))
			at += 2
		}
		pointers, err := strconv.Atoi(f[at])
		if err != nil {
			return err
		}
		for at++; pointers > 0; pointers-- {
			sign, offset, places := f[at], f[at+1], f[at+3]
			at += 4
			switch sign {
			case "@":
				s.parents = append(s.parents, string(pos)+offset)
			case "!":
				k, err := strconv.ParseInt(places[:2], 16, 32)
				if err != nil {
					return err
				}
				if k > 0 {
					s.opposites[s.words[k-1]] = append(s.opposites[s.words[k-1]], string(pos)+offset)
				}
			}
		}
		sets[string(pos)+f[0]] = s
		return nil
	})
}

// verbs lists the verbs, with a + behind those that are nouns or adjectives as often.
func verbs(senses map[word][]sense) string {
	total := func(w string, pos byte) (n int) {
		for _, s := range senses[word{w, pos}] {
			n += s.count + 1
		}
		return n
	}
	var out []string
	for w := range senses {
		if w.pos != 'v' {
			continue
		}
		line := w.text
		if 3*(total(line, 'n')+total(line, 'a')) >= total(line, 'v') {
			line += "+"
		}
		out = append(out, line)
	}
	slices.Sort(out)
	return strings.Join(out, "\n") + "\n"
}

// deepest bounds the senses of a word that are kept: rarer ones mislead.
const deepest = 2

// meanings lists the words with their synsets, and the synsets with what they are kinds of: words of synsets that were met in tagged
// texts, and what these are kinds of.
func meanings(senses map[word][]sense, sets map[string]*synset) string {
	met := map[string]bool{}
	for w, list := range senses {
		for _, s := range list[:min(len(list), deepest)] {
			if s.count > 0 || len(list) == 1 && w.pos != 'n' {
				met[s.set] = true
			}
		}
	}
	numbers := map[string]int{}
	number := func(set string) int {
		if numbers[set] == 0 {
			numbers[set] = len(numbers) + 1
		}
		return numbers[set]
	}
	var b strings.Builder
	words := slices.SortedFunc(maps.Keys(senses), func(a, b word) int {
		return cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(a.pos, b.pos))
	})
	for _, w := range words {
		var kept, opposite []string
		for _, s := range senses[w][:min(len(senses[w]), deepest)] {
			if !met[s.set] {
				continue
			}
			kept = append(kept, strconv.Itoa(number(s.set)))
			for _, o := range sets[s.set].opposites[w.text] {
				opposite = append(opposite, strconv.Itoa(number(o)))
			}
		}
		if len(kept) > 0 {
			fmt.Fprintf(&b, "%s %c %s", w.text, w.pos, strings.Join(kept, ","))
			if len(opposite) > 0 {
				fmt.Fprintf(&b, " %s", strings.Join(opposite, ","))
			}
			b.WriteByte('\n')
		}
	}
	above := slices.SortedFunc(maps.Keys(numbers), func(a, b string) int { return cmp.Compare(numbers[a], numbers[b]) })
	for i := 0; i < len(above); i++ { // kinds may have names of two words, which are not kept
		for _, p := range sets[above[i]].parents {
			if numbers[p] == 0 {
				above = append(above, p)
			}
			fmt.Fprintf(&b, "%d < %d\n", numbers[above[i]], number(p))
		}
	}
	return b.String()
}

func eachLine(path string, read func(string) error) error {
	f, err := os.Open(path) //nolint:gosec // the path is the caller's
	if err != nil {
		return err
	}
	defer f.Close() //nolint:errcheck // it is only read
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if err := read(lines.Text()); err != nil {
			return err
		}
	}
	return lines.Err()
}

// write packs a table.
func write(path, content string) error {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return err
	}
	if _, err := z.Write([]byte(content)); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	fmt.Printf("%s: %d lines, %d bytes, packed %d\n", path, strings.Count(content, "\n"), len(content), packed.Len())
	return os.WriteFile(path, packed.Bytes(), 0o644) //nolint:gosec // it is public
}
