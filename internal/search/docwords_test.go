package search

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Searches take in what has come and gone since the one before, also on another node, and find the same by the index of the database.
func TestDocumentsAreFollowed(t *testing.T) {
	t.Parallel()
	onShelves(t, func(t *testing.T, s *docShelf) {
		other := NewDocuments(DocumentConfig{Store: s.search.cfg.Store, Sources: s.Sources})
		small := NewDocuments(DocumentConfig{Store: s.search.cfg.Store, Sources: s.Sources, TextMemory: 1})
		want := func(about string, names ...string) {
			t.Helper()
			for name, searcher := range map[string]*DocumentSearcher{"this node": s.search, "another node": other, "the database": small} {
				r, err := searcher.Fulltext(s.ctx, s.query("cash"))
				if err != nil {
					t.Fatal(err)
				}
				want, found := slices.Clone(names), filenames(r.Items)
				if name == "the database" { // each ranks in its own way
					want = slices.Sorted(slices.Values(want))
					slices.Sort(found)
				}
				if diff := cmp.Diff(want, found); diff != "" || r.Total != len(names) {
					t.Errorf("%s, %s: %d (-want +got)\n%s", about, name, r.Total, diff)
				}
			}
		}
		want("nothing yet")
		one := s.upload("one.txt", "Cash is refused.")
		want("after an upload", "one.txt")
		s.upload("two.txt", "Cash is counted. Cash is locked away, and cash is insured.")
		s.upload("three.txt", "Nothing of that kind.")
		want("after two more", "two.txt", "one.txt")
		if err := s.Delete(s.ctx, "p", one.ID); err != nil {
			t.Fatal(err)
		}
		want("after a deletion", "two.txt")
		if s.search.words.projects["p"].index == nil || small.words.projects["p"] != nil {
			t.Error("the index is not where its limit says")
		}
	})
}

// Projects share the room for indexes; the one used last keeps its own.
func TestIndexesOfDocumentsAreBounded(t *testing.T) {
	w := newDocumentWords(nil, 100)
	for _, step := range []struct {
		project    string
		characters int64
		have       []string
	}{
		{"a", 60, []string{"a"}}, {"b", 40, []string{"a", "b"}}, {"c", 30, []string{"b", "c"}}, {"b", 101, []string{"c"}}, {"c", 90, []string{"c"}},
	} {
		w.project(step.project, step.characters)
		var have []string
		for _, name := range []string{"a", "b", "c"} {
			if w.projects[name] != nil {
				have = append(have, name)
			}
		}
		if diff := cmp.Diff(step.have, have); diff != "" {
			t.Errorf("after %s with %d: %s", step.project, step.characters, diff)
		}
	}
}
