package main

import (
	_ "embed"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"tenet/internal/discover/prose"
)

//go:embed calibration.txt
var calibrationText string

// row is a candidate that somebody has judged.
type row struct {
	group string // the text, or the collection, that it is from
	right bool
	signs []string
}

// readRows reads rows: the group, right or wrong, and the signs, parted by bars.
func readRows(text string) ([]row, error) {
	var rows []row
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		cells := strings.Split(line, "|")
		if len(cells) < 3 || cells[1] != "right" && cells[1] != "wrong" {
			return nil, fmt.Errorf("calibration.txt: %q is no row", line)
		}
		rows = append(rows, row{group: cells[0], right: cells[1] == "right", signs: cells[2:]})
	}
	return rows, nil
}

// Settings of the fit: a penalty that keeps signs seen seldom near zero, and steps of Newton's method, which settles after a few.
const (
	penalty = 1.0
	steps   = 30
)

// fit returns the weights of logistic regression with a quadratic penalty on all but the bias. It is deterministic.
func fit(rows []row) map[string]float64 {
	index := map[string]int{prose.Bias: 0}
	for _, r := range rows {
		for _, s := range r.signs {
			index[s] = 1
		}
	}
	names := slices.Sorted(maps.Keys(index))
	names = slices.DeleteFunc(names, func(s string) bool { return s == prose.Bias })
	names = append([]string{prose.Bias}, names...)
	for i, s := range names {
		index[s] = i
	}
	w := make([]float64, len(names))
	for range steps {
		gradient, hessian := make([]float64, len(w)), make([][]float64, len(w))
		for i := range hessian {
			hessian[i] = make([]float64, len(w))
			if i > 0 {
				gradient[i], hessian[i][i] = -penalty*w[i], penalty
			} else {
				hessian[i][i] = 1e-9
			}
		}
		for _, r := range rows {
			on := []int{0}
			sum := w[0]
			for _, s := range r.signs {
				on = append(on, index[s])
				sum += w[index[s]]
			}
			p := 1 / (1 + math.Exp(-sum))
			miss := -p
			if r.right {
				miss++
			}
			for _, i := range on {
				gradient[i] += miss
				for _, j := range on {
					hessian[i][j] += p * (1 - p)
				}
			}
		}
		for i, d := range solve(hessian, gradient) {
			w[i] += d
		}
	}
	out := map[string]float64{}
	for i, s := range names {
		out[s] = math.Round(1000*w[i]) / 1000
	}
	return out
}

// solve solves a system of linear equations by elimination; a is destroyed.
func solve(a [][]float64, b []float64) []float64 {
	n := len(b)
	x := slices.Clone(b)
	for i := range n {
		best := i
		for k := i + 1; k < n; k++ {
			if math.Abs(a[k][i]) > math.Abs(a[best][i]) {
				best = k
			}
		}
		a[i], a[best], x[i], x[best] = a[best], a[i], x[best], x[i]
		for k := i + 1; k < n; k++ {
			f := a[k][i] / a[i][i]
			for j := i; j < n; j++ {
				a[k][j] -= f * a[i][j]
			}
			x[k] -= f * x[i]
		}
	}
	for i := n - 1; i >= 0; i-- {
		for j := i + 1; j < n; j++ {
			x[i] -= a[i][j] * x[j]
		}
		x[i] /= a[i][i]
	}
	return x
}

// score returns the probability of a row by weights.
func score(w map[string]float64, r row) float64 {
	sum := w[prose.Bias]
	for _, s := range r.signs {
		sum += w[s]
	}
	return min(max(1/(1+math.Exp(-sum)), 0.02), 0.98)
}

// bin is a row of the table of reliability.
type bin struct {
	from, to  float64
	n, right  int
	predicted float64 // sum
}

// reliability scores the rows of each group by weights that are fitted to all others, and compares with what was right.
func reliability(rows []row) (bins []bin, brier float64) {
	bins = []bin{{from: 0, to: 0.5}, {from: 0.5, to: 0.7}, {from: 0.7, to: 0.8}, {from: 0.8, to: 0.9}, {from: 0.9, to: 0.95}, {from: 0.95, to: 1}}
	groups := map[string]bool{}
	for _, r := range rows {
		groups[r.group] = true
	}
	for g := range groups {
		others := slices.DeleteFunc(slices.Clone(rows), func(r row) bool { return r.group == g })
		w := fit(others)
		for _, r := range rows {
			if r.group != g {
				continue
			}
			p := score(w, r)
			i := slices.IndexFunc(bins, func(b bin) bool { return p < b.to })
			bins[i].n++
			bins[i].predicted += p
			hit := 0.0
			if r.right {
				bins[i].right++
				hit = 1
			}
			brier += (p - hit) * (p - hit)
		}
	}
	return bins, brier / float64(max(len(rows), 1))
}

// table returns the table of reliability as docs/discovery-quality.md has it.
func table(bins []bin) string {
	var b strings.Builder
	for _, x := range bins {
		if x.n > 0 {
			fmt.Fprintf(&b, "| %.2f to %.2f | %d | %.2f | %.2f |\n", x.from, x.to, x.n, x.predicted/float64(x.n), float64(x.right)/float64(x.n))
		}
	}
	return b.String()
}

// printFit prints the weights in the form of confidence.txt.
func printFit(out io.Writer, w map[string]float64) {
	for _, s := range slices.Sorted(maps.Keys(w)) {
		fmt.Fprintf(out, "%s: %g\n", s, w[s])
	}
}
