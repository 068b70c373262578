package corpus

import (
	"math"
	"math/bits"
	"runtime"
	"slices"
	"sync"

	"tenet/internal/store"
)

const (
	dimensions = store.Dimensions
	signWords  = dimensions / 64
	// settled is the number of vectors after which the mean stays. A moving mean changes all signs, which costs more the more
	// vectors exist.
	settled = 10_000
)

// vectors are the vectors of texts, of one model. They never change; more make new ones that share what they can. Each vector
// has a row, which it keeps.
type vectors struct {
	model  string
	blocks []*vectorBlock
	rows   int
	mean   []float32 // of unit vectors
	meanOf int       // how many vectors the mean is of
}

// vectorBlock holds the vectors of consecutive rows. A number of a unit vector is code*scale: 16 bits are exact enough to rank
// as 32 do, in half the memory.
type vectorBlock struct {
	first  int // row
	keys   []textKey
	byKey  map[textKey]int32 // place in the block
	codes  []int16
	scales []float32
	signs  []uint64 // of each vector less the mean, a bit for each dimension
}

// row finds the row of a text.
func (s *vectors) row(key textKey) (int32, bool) {
	for _, b := range s.blocks {
		if at, ok := b.byKey[key]; ok {
			return int32(b.first) + at, true
		}
	}
	return 0, false
}

// block is the block that holds a row.
func (s *vectors) block(row int32) *vectorBlock {
	i := 0
	for i+1 < len(s.blocks) && s.blocks[i+1].first <= int(row) {
		i++
	}
	return s.blocks[i]
}

// at gives the codes and the scale of a row.
func (s *vectors) at(row int32) (codes *[dimensions]int16, scale float32) {
	b := s.block(row)
	place := int(row) - b.first
	return (*[dimensions]int16)(b.codes[place*dimensions:]), b.scales[place]
}

// bytes estimates the memory that the vectors take.
func (s *vectors) bytes() int64 { return int64(s.rows) * (2*dimensions + dimensions/8 + 80) }

// with returns the vectors with more at the end, in rows that follow one another.
func (s *vectors) with(keys []textKey, list [][]float32) *vectors {
	b := &vectorBlock{
		first: s.rows, keys: keys, byKey: make(map[textKey]int32, len(keys)),
		codes: make([]int16, len(keys)*dimensions), scales: make([]float32, len(keys)),
	}
	for i, key := range keys {
		b.byKey[key] = int32(i)
		b.scales[i] = encode(b.codes[i*dimensions:(i+1)*dimensions], list[i])
	}
	next := &vectors{model: s.model, rows: s.rows + len(keys), mean: s.mean, meanOf: s.meanOf}
	next.blocks = append(append(next.blocks, s.blocks...), b)
	for n := len(next.blocks); n > 1 && 2*len(next.blocks[n-1].keys) >= len(next.blocks[n-2].keys); n = len(next.blocks) {
		next.blocks = append(next.blocks[:n-2], join(next.blocks[n-2], next.blocks[n-1]))
	}
	if next.meanOf < settled && next.rows >= 2*next.meanOf {
		next.centre()
		return next
	}
	for _, b := range next.blocks {
		if b.signs == nil {
			b.sign(next.mean)
		}
	}
	return next
}

// join makes one block of two neighbours; its signs are still to be made.
func join(a, b *vectorBlock) *vectorBlock {
	out := &vectorBlock{
		first: a.first, keys: slices.Concat(a.keys, b.keys), byKey: make(map[textKey]int32, len(a.keys)+len(b.keys)),
		codes: slices.Concat(a.codes, b.codes), scales: slices.Concat(a.scales, b.scales),
	}
	for i, key := range out.keys {
		out.byKey[key] = int32(i)
	}
	return out
}

// only returns the vectors of some rows, in their order, in one block.
func (s *vectors) only(rows []int32) *vectors {
	b := &vectorBlock{
		byKey: make(map[textKey]int32, len(rows)), keys: make([]textKey, 0, len(rows)),
		codes: make([]int16, 0, len(rows)*dimensions), scales: make([]float32, 0, len(rows)),
	}
	for _, row := range rows {
		in := s.block(row)
		codes, scale := s.at(row)
		b.byKey[in.keys[int(row)-in.first]] = int32(len(b.keys))
		b.keys = append(b.keys, in.keys[int(row)-in.first])
		b.codes, b.scales = append(b.codes, codes[:]...), append(b.scales, scale)
	}
	out := &vectors{model: s.model, blocks: []*vectorBlock{b}, rows: len(rows)}
	out.centre()
	return out
}

// encode writes a vector as codes and returns the scale by which they make a unit vector; 0 for a vector of length 0.
func encode(codes []int16, v []float32) (scale float32) {
	greatest := float32(0)
	for _, x := range v {
		greatest = max(greatest, x, -x)
	}
	if greatest == 0 {
		return 0
	}
	norm := 0.0
	for i, x := range v {
		codes[i] = int16(math.RoundToEven(float64(x) / float64(greatest) * math.MaxInt16))
		norm += float64(codes[i]) * float64(codes[i])
	}
	return float32(1 / math.Sqrt(norm))
}

// centre computes the mean again, and with it all signs. Older views may use the blocks, so it does not change them.
func (s *vectors) centre() {
	sum := make([]float64, dimensions)
	for _, b := range s.blocks {
		for i, scale := range b.scales {
			for d, code := range b.codes[i*dimensions : (i+1)*dimensions] {
				sum[d] += float64(code) * float64(scale)
			}
		}
	}
	s.mean, s.meanOf = make([]float32, dimensions), s.rows
	for d := range sum {
		s.mean[d] = float32(sum[d] / float64(max(s.rows, 1)))
	}
	for i, b := range s.blocks {
		fresh := *b
		fresh.sign(s.mean)
		s.blocks[i] = &fresh
	}
}

func (b *vectorBlock) sign(mean []float32) {
	b.signs = make([]uint64, len(b.keys)*signWords)
	inParts(len(b.keys), 4096, func(from, to int) {
		for i := from; i < to; i++ {
			signs(b.signs[i*signWords:], b.codes[i*dimensions:(i+1)*dimensions], b.scales[i], mean)
		}
	})
}

// signs sets a bit for each dimension in which a vector is above the mean.
func signs(out []uint64, codes []int16, scale float32, mean []float32) {
	for w := range signWords {
		word := uint64(0)
		for i := range 64 {
			if float32(codes[64*w+i])*scale > mean[64*w+i] {
				word |= 1 << i
			}
		}
		out[w] = word
	}
}

// inParts calls fn for the parts of 0 to n, at once if they have at least the size least each.
func inParts(n, least int, fn func(from, to int)) {
	parts := max(1, min(runtime.GOMAXPROCS(0), n/least))
	if parts == 1 {
		fn(0, n)
		return
	}
	var wg sync.WaitGroup
	for i := range parts {
		wg.Go(func() { fn(n*i/parts, n*(i+1)/parts) })
	}
	wg.Wait()
}

// distances fills out with the number of signs in which each row differs from a query.
func (s *vectors) distances(query *[signWords]uint64, out []uint16) {
	for _, b := range s.blocks {
		part := out[b.first : b.first+len(b.keys)]
		inParts(len(part), 8192, func(from, to int) {
			for i := from; i < to; i++ {
				part[i] = differ((*[signWords]uint64)(b.signs[i*signWords:]), query)
			}
		})
	}
}

// differ counts the bits in which two rows of signs differ.
func differ(a, b *[signWords]uint64) uint16 {
	n := 0
	for w := 0; w < signWords; w += 4 { // four at a time go on side by side
		n += bits.OnesCount64(a[w]^b[w]) + bits.OnesCount64(a[w+1]^b[w+1]) + bits.OnesCount64(a[w+2]^b[w+2]) + bits.OnesCount64(a[w+3]^b[w+3])
	}
	return uint16(n)
}

// product is the exact sum of the products of two rows of codes.
func product(a, b *[dimensions]int16) int64 {
	var s0, s1, s2, s3 int64
	for i := 0; i < dimensions-3; i += 4 { // four at a time go on side by side
		s0 += int64(int32(a[i]) * int32(b[i]))
		s1 += int64(int32(a[i+1]) * int32(b[i+1]))
		s2 += int64(int32(a[i+2]) * int32(b[i+2]))
		s3 += int64(int32(a[i+3]) * int32(b[i+3]))
	}
	return s0 + s1 + s2 + s3
}
