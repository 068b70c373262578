package search

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"tenet/internal/store"
)

// documentVectors compares all chunks of documents with a query, so that the answer is exact. It keeps the vectors in memory within
// a limit. Vectors of a chunk never change, so those in memory are never wrong; their chunks may only be gone.
type documentVectors struct {
	store store.VectorReader
	limit int64

	mu       sync.Mutex
	bytes    int64
	projects map[string]*projectVectors
}

// projectVectors are the vectors of a project in memory.
type projectVectors struct {
	model  string
	used   time.Time
	bytes  int64
	blocks map[blockKey][]float32
}

// blockKey names vectors of a document that begin at a chunk.
type blockKey struct {
	documentID string
	n          int
}

func newDocumentVectors(s store.VectorReader, limit int64) *documentVectors {
	return &documentVectors{store: s, limit: limit, projects: map[string]*projectVectors{}}
}

// nearest ranks the documents of a project that have vectors of a model by their chunk that is nearest to the query.
func (v *documentVectors) nearest(ctx context.Context, projectID, model string, query []float32) ([]store.DocumentMatch, error) {
	keys, err := v.store.Keys(ctx, projectID, model)
	if err != nil {
		return nil, err
	}
	blocks, missing := v.cached(projectID, model, keys)
	best := map[string]store.DocumentMatch{}
	for key, block := range blocks {
		score(best, key, block, query)
	}
	err = v.store.Each(ctx, projectID, model, missing, func(d store.DocumentVectors) error {
		key := blockKey{d.DocumentID, d.N}
		if _, ok := blocks[key]; ok {
			return nil
		}
		score(best, key, d.Vectors, query)
		v.keep(projectID, model, key, d.Vectors)
		return nil
	})
	list := make([]store.DocumentMatch, 0, len(best))
	for _, m := range best {
		list = append(list, m)
	}
	slices.SortFunc(list, func(a, b store.DocumentMatch) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(b.DocumentID, a.DocumentID))
	})
	return list, err
}

// cached returns the vectors among keys that are in memory, drops those that are gone, and names the documents to read.
func (v *documentVectors) cached(projectID, model string, keys []store.DocumentVectors) (blocks map[blockKey][]float32, missing []string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.projects[projectID]
	if p == nil || p.model != model {
		v.drop(projectID)
		p = &projectVectors{model: model, blocks: map[blockKey][]float32{}}
		v.projects[projectID] = p
	}
	p.used = time.Now()
	blocks = make(map[blockKey][]float32, len(keys))
	for _, k := range keys {
		key := blockKey{k.DocumentID, k.N}
		if block, ok := p.blocks[key]; ok {
			blocks[key] = block
		} else if n := len(missing); n == 0 || missing[n-1] != k.DocumentID { // keys come by document
			missing = append(missing, k.DocumentID)
		}
	}
	for key, block := range p.blocks {
		if _, ok := blocks[key]; !ok {
			delete(p.blocks, key)
			p.bytes -= size(block)
			v.bytes -= size(block)
		}
	}
	return blocks, missing
}

// keep keeps vectors in memory, in place of those of the projects not used for longest if they need room. If that is not enough,
// it drops them.
func (v *documentVectors) keep(projectID, model string, key blockKey, block []float32) {
	v.mu.Lock()
	defer v.mu.Unlock()
	p := v.projects[projectID]
	if p == nil || p.model != model || p.blocks[key] != nil {
		return
	}
	for v.bytes+size(block) > v.limit {
		oldest := ""
		for id, other := range v.projects {
			if id != projectID && other.bytes > 0 && (oldest == "" || other.used.Before(v.projects[oldest].used)) {
				oldest = id
			}
		}
		if oldest == "" {
			return
		}
		v.drop(oldest)
	}
	p.blocks[key] = block
	p.bytes += size(block)
	v.bytes += size(block)
}

func (v *documentVectors) drop(projectID string) {
	if p := v.projects[projectID]; p != nil {
		v.bytes -= p.bytes
		delete(v.projects, projectID)
	}
}

func size(block []float32) int64 { return int64(4 * len(block)) }

// score notes the chunk of a block that is nearest to the query, if its document has no nearer one.
func score(best map[string]store.DocumentMatch, key blockKey, block, query []float32) {
	top, seen := best[key.documentID]
	for i := 0; (i+1)*store.Dimensions <= len(block); i++ {
		s := float64(dot((*[store.Dimensions]float32)(block[i*store.Dimensions:]), (*[store.Dimensions]float32)(query)))
		if !seen || s > top.Score || (s == top.Score && key.n+i < top.N) {
			top, seen = store.DocumentMatch{DocumentID: key.documentID, N: key.n + i, Score: s}, true
		}
	}
	if seen {
		best[key.documentID] = top
	}
}

// dot is the inner product: of vectors of length 1, their cosine. The length that the compiler knows and the sums side by
// side make it twice as fast as the plain loop.
func dot(a, b *[store.Dimensions]float32) float32 {
	var s0, s1, s2, s3 float32
	for i := 0; i < store.Dimensions; i += 4 {
		s0 += a[i] * b[i]
		s1 += a[i+1] * b[i+1]
		s2 += a[i+2] * b[i+2]
		s3 += a[i+3] * b[i+3]
	}
	return s0 + s1 + s2 + s3
}
