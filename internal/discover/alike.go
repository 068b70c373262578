package discover

import (
	"cmp"
	"math"
	"slices"
)

// Bounds of the comparison of the candidates of one scan with each other.
const (
	alikeWords = 4  // rarest words of a statement by which others are looked for
	alikeShare = 40 // statements with one of these words that are compared
	maxAlike   = 5
)

// twin is another candidate of the scan as it is stored.
type twin struct {
	ID         string  `json:"id"`
	Similarity float64 `json:"similarity"`
}

// compareAll lists with each draft the others of the scan that say nearly the same. A draft is compared with those that have one of its
// rarest words, so that the time is in proportion to the number of drafts.
func compareAll(drafts []draft) {
	words := make([]terms, len(drafts))
	with := map[string][]int{}
	for i := range drafts {
		words[i] = termsOf(drafts[i].Statement)
		for w := range words[i] {
			with[w] = append(with[w], i)
		}
	}
	for i := range drafts {
		rare := make([]string, 0, len(words[i]))
		for w := range words[i] {
			if n := len(with[w]); n > 1 && n <= 4*alikeShare {
				rare = append(rare, w)
			}
		}
		slices.SortFunc(rare, func(a, b string) int { return cmp.Or(len(with[a])-len(with[b]), cmp.Compare(a, b)) })
		near := map[int]float64{}
		for _, w := range rare[:min(len(rare), alikeWords)] {
			others := with[w]
			at, _ := slices.BinarySearch(others, i)
			from := max(0, min(at-alikeShare/2, len(others)-alikeShare))
			for _, o := range others[from:min(len(others), from+alikeShare)] {
				if _, known := near[o]; o != i && !known {
					near[o] = words[i].like(words[o])
				}
			}
		}
		var list []twin
		for o, likeness := range near {
			if likeness >= nearWords {
				list = append(list, twin{drafts[o].id, math.Round(likeness*100) / 100})
			}
		}
		slices.SortFunc(list, func(a, b twin) int { return cmp.Or(cmp.Compare(b.Similarity, a.Similarity), cmp.Compare(a.ID, b.ID)) })
		drafts[i].alike = list[:min(len(list), maxAlike)]
	}
}
