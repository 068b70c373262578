package redact

import (
	"flag"
	"io/fs"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "count the pairs of letters of the words of programs again")

// TestPairTable checks the form of pairs.txt. With -update it counts the letters of all words that occur in three or more
// files of the source of Go, each word as often as there are files with it, up to maxWeight.
func TestPairTable(t *testing.T) {
	if *update {
		if err := os.WriteFile("pairs.txt", []byte(countPairs(t)), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	lines := strings.Fields(pairTable)
	if len(lines) != 27 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		sum := 0.0
		for j := range line {
			sum += math.Exp2(-pairBits[i][j])
		}
		if len(line) != 26 || sum < 0.8 || sum > 1.25 {
			t.Errorf("line %d has %d signs, which add up to %.2f", i+1, len(line), sum)
		}
	}
}

// maxWeight is how many files with a word count.
const maxWeight = 30

func countPairs(t *testing.T) string {
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	if err != nil {
		t.Fatal(err)
	}
	name := regexp.MustCompile(`[A-Za-z][A-Za-z0-9_]*`)
	word := regexp.MustCompile(`[A-Z]?[a-z]{2,}`)
	files, names := map[string]int{}, map[string]int{}
	err = filepath.WalkDir(filepath.Join(strings.TrimSpace(string(root)), "src"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasPrefix(d.Name(), "z") { // constants of systems
			return err
		}
		text, err := os.ReadFile(path) //nolint:gosec // the source of Go
		seen := map[string]bool{}
		for _, n := range name.FindAllString(string(text), -1) {
			if seen[n] {
				continue
			}
			seen[n] = true
			names[n]++
			for _, w := range word.FindAllString(n, -1) {
				if w = strings.ToLower(w); !seen[" "+w] {
					seen[" "+w] = true
					files[w]++
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	var counts [27][26]float64
	for i := range counts {
		for j := range counts[i] {
			counts[i][j] = 0.5
		}
	}
	for w, n := range files {
		if n < 3 {
			continue
		}
		weight := float64(min(n, maxWeight))
		last := 26
		for i := range len(w) {
			counts[last][w[i]-'a'] += weight
			last = int(w[i] - 'a')
		}
	}
	var out strings.Builder
	for _, row := range counts {
		sum := 0.0
		for _, c := range row {
			sum += c
		}
		for _, c := range row {
			out.WriteByte('A' + byte(min(24, math.Round(-2*math.Log2(c/sum)))))
		}
		out.WriteByte('\n')
	}
	var classes [4][4]float64
	for n, k := range names {
		if k < 3 || len(n) < 8 {
			continue
		}
		last := 3
		for i := range len(n) {
			now := map[uint8]int{lower: 0, upper: 1, digit: 2, joint: 3}[class[n[i]]]
			classes[last][now] += float64(min(k, maxWeight))
			last = now
		}
	}
	for i, row := range classes {
		for j, c := range row {
			t.Logf("turns[%d][%d] = %.1f", i, j, -math.Log2((c+0.5)/(row[0]+row[1]+row[2]+row[3])))
		}
	}
	return out.String()
}
