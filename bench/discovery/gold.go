package main

import (
	"archive/tar"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

//go:embed gold.txt
var goldText string

// marked is a file with its normative statements.
type marked struct {
	path  string
	part  string // such as tuned
	units []unit
}

// unit is a normative statement: where its sentence begins, and the words of the first line of it.
type unit struct {
	line     int
	text     string
	optional bool // two readers may judge it differently
}

// loadMarked reads files and their marks: those of the collection, or of any folder with marks of its own.
func loadMarked(data, marks string) (map[string][]byte, []marked, error) {
	if marks == "" {
		files, err := load(data)
		if err != nil {
			return nil, nil, err
		}
		gold, err := readGold(files, goldText)
		return files, gold, err
	}
	text, err := os.ReadFile(marks) //nolint:gosec // the file is the caller's
	if err != nil {
		return nil, nil, err
	}
	files := map[string][]byte{}
	root := os.DirFS(data)
	err = fs.WalkDir(root, ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = fs.ReadFile(root, path)
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	gold, err := readGold(files, string(text))
	return files, gold, err
}

// partsOf returns the names of the parts, in their order.
func partsOf(gold []marked) []string {
	var parts []string
	for _, g := range gold {
		if !slices.Contains(parts, g.part) {
			parts = append(parts, g.part)
		}
	}
	return parts
}

// load reads the files of the collection, the packed ones from their archive.
func load(data string) (map[string][]byte, error) {
	files := map[string][]byte{}
	packed, err := os.Open(filepath.Join(data, "assistant_md.tar.gz")) //nolint:gosec // the folder is the caller's
	if err != nil {
		return nil, err
	}
	defer packed.Close() //nolint:errcheck // it is only read
	unzipped, err := gzip.NewReader(packed)
	if err != nil {
		return nil, err
	}
	for archive := tar.NewReader(unzipped); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, err
		}
		if h.Typeflag != tar.TypeReg {
			continue
		}
		content, err := io.ReadAll(io.LimitReader(archive, 1<<20))
		if err != nil {
			return nil, err
		}
		files[strings.TrimPrefix(h.Name, "./")] = content
	}
	root := os.DirFS(data)
	return files, fs.WalkDir(root, "policy_document", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		files[path], err = fs.ReadFile(root, path)
		return err
	})
}

// readGold reads the marks, and the words that they mark.
func readGold(files map[string][]byte, goldText string) ([]marked, error) {
	var out []marked
	var lines []string
	part := ""
	for row := range strings.Lines(goldText) {
		row = strings.TrimSpace(row)
		if row == "" || row[0] == '#' {
			continue
		}
		if name, ok := strings.CutPrefix(row, "= "); ok {
			part = name
			continue
		}
		if path, hash, ok := strings.Cut(row, " "); ok {
			sum := sha256.Sum256(files[path])
			if got := hex.EncodeToString(sum[:6]); got != hash {
				return nil, fmt.Errorf("%s is not the file that was marked: its hash is %s, not %s", path, got, hash)
			}
			out = append(out, marked{path: path, part: part})
			lines = strings.Split(string(files[path]), "\n")
			continue
		}
		u, err := readUnit(row, lines)
		if err != nil {
			return nil, err
		}
		last := &out[len(out)-1]
		last.units = append(last.units, u)
	}
	return out, nil
}

// readUnit reads line:column+length, with a ? behind it for an optional one.
func readUnit(row string, lines []string) (unit, error) {
	row, optional := strings.CutSuffix(row, "?")
	at, length, ok1 := strings.Cut(row, "+")
	line, column, ok2 := strings.Cut(at, ":")
	l, err1 := strconv.Atoi(line)
	c, err2 := strconv.Atoi(column)
	n, err3 := strconv.Atoi(length)
	if !ok1 || !ok2 || errors.Join(err1, err2, err3) != nil || l < 1 || l > len(lines) || c < 0 || n < 1 || c+n > len(lines[l-1]) {
		return unit{}, fmt.Errorf("gold.txt: %q marks nothing", row)
	}
	return unit{line: l, text: lines[l-1][c : c+n], optional: optional}, nil
}
