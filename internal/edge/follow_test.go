package edge

import (
	"bytes"
	"context"
	"errors"
	"io"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"tenet/internal/bundle"
	"tenet/internal/bundle/place"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// source is a place of bundles in memory, and what signs them.
type source struct {
	t      *testing.T
	keys   *checkpoint.KeyFile
	file   *bundle.File
	failed error
}

func newSource(t *testing.T) *source {
	t.Helper()
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com", at)
	if err != nil {
		t.Fatal(err)
	}
	return &source{t: t, keys: keys}
}

func (s *source) trusted() []string {
	list, _, err := s.keys.Keys(s.t.Context(), bundle.NameOf("example.com", "pay", "production"))
	if err != nil {
		s.t.Fatal(err)
	}
	return list
}

// publish puts a bundle of one rule there.
func (s *source) publish(seq int64, statement string, change ...func(*bundle.Head)) {
	s.t.Helper()
	r := rule.Rule{ID: "0199f0a0-0000-7000-8000-000000000001", ProjectID: "pay", Version: int(seq), Statement: statement, Status: rule.Effective}
	r.Normalize()
	c := bundle.Contents{
		Project: rule.Project{ID: "pay", Name: "pay"}, Snapshot: store.Snapshot{ProjectID: "pay", ID: "s", ContentHash: "root"}, Rules: []rule.Rule{r},
	}
	text, err := c.Encode()
	if err != nil {
		s.t.Fatal(err)
	}
	h := &bundle.Head{
		Name: bundle.NameOf("example.com", "pay", "production"), Project: "pay", Environment: "production", Seq: seq, Action: bundle.Deploy, Snapshot: "s", Root: "root", Rules: 1,
		Built: at, Signed: at.Add(time.Duration(seq) * time.Second),
	}
	for _, f := range change {
		f(h)
	}
	body, err := bundle.Pack(h, text)
	if err != nil {
		s.t.Fatal(err)
	}
	note, err := h.Sign(s.t.Context(), s.keys)
	if err != nil {
		s.t.Fatal(err)
	}
	s.file = &bundle.File{Note: note, Body: body}
}

// Fetch implements place.Place.
func (s *source) Fetch(context.Context, place.Have) (place.Fetched, error) {
	if s.failed != nil {
		return place.Fetched{}, s.failed
	}
	return place.Fetched{Note: s.file.Note, Body: io.NopCloser(bytes.NewReader(s.file.Bytes())), Version: s.file.Note}, nil
}

// Push implements place.Place.
func (s *source) Push(context.Context, *bundle.File) error { return errors.New("not here") }

// follower follows the source from a folder.
func (s *source) follower(folder string, now *time.Time) *Follower {
	return NewFollower(FollowConfig{
		Place: s, Trusted: s.trusted(), Folder: folder, Every: time.Second, Corpus: &Corpus{}, Logger: slog.New(slog.DiscardHandler), Now: func() time.Time { return *now },
		Manifest: func(*bundle.Contents) ([]byte, error) { return nil, nil }, Root: func(*bundle.Contents) string { return "root" },
	})
}

func (f *Follower) statement(t *testing.T) string {
	t.Helper()
	r, err := (rules{f.cfg.Corpus}).Get(t.Context(), "pay", "0199f0a0-0000-7000-8000-000000000001")
	if err != nil {
		t.Fatal(err)
	}
	return r.Statement
}

func TestAFollowerTakesOnlyWhatMayFollow(t *testing.T) {
	t.Parallel()
	s, now := newSource(t), at.Add(time.Minute)
	f := s.follower(t.TempDir(), &now)
	s.publish(5, "five")
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	other := newSource(t)
	for about, tt := range map[string]struct {
		publish func()
		says    string
	}{
		"an older one":             {func() { s.publish(4, "four") }, "number 5 already"},
		"another one of a number":  {func() { s.publish(5, "not five") }, "two different ones"},
		"another environment":      {func() { s.publish(6, "six", func(h *bundle.Head) { h.Environment = "staging" }) }, "has signed it"},
		"another project":          {func() { s.publish(6, "six", func(h *bundle.Head) { h.Project = "x" }) }, "has signed it"},
		"another root":             {func() { s.publish(6, "six", func(h *bundle.Head) { h.Root = "x" }) }, "does not fit its head"},
		"another number of rules":  {func() { s.publish(6, "six", func(h *bundle.Head) { h.Rules = 2 }) }, "does not fit its head"},
		"a key that nobody trusts": {func() { other.publish(6, "six"); s.file = other.file }, ""},
		"a body that was cut":      {func() { s.publish(6, "six"); s.file.Body = s.file.Body[:len(s.file.Body)/2] }, ""},
		"a body with more":         {func() { s.publish(6, "six"); s.file.Body = append(s.file.Body, 0) }, ""},
		"another body":             {func() { s.publish(6, "six"); body := s.file.Body; s.publish(6, "6!!"); s.file.Body = body }, ""},
	} {
		tt.publish()
		if err := f.Fetch(t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) || f.Problem() == "" {
			t.Errorf("%s: %v; want an error with %q", about, err, tt.says)
		}
		if got := f.statement(t); got != "five" {
			t.Fatalf("%s: the rule is now %q", about, got)
		}
	}
	s.publish(6, "six", func(h *bundle.Head) { h.Action = bundle.Rollback })
	if err := f.Fetch(t.Context()); err != nil || f.statement(t) != "six" || f.Problem() != "" {
		t.Errorf("the next one: %v, %q", err, f.statement(t))
	}
}

func TestAFollowerStartsFromItsFolder(t *testing.T) {
	t.Parallel()
	s, now, folder := newSource(t), at.Add(time.Minute), t.TempDir()
	s.publish(2, "two")
	if err := s.follower(folder, &now).Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.failed = errors.New("away")
	now = now.Add(time.Hour)
	f := s.follower(folder, &now)
	if err := f.Start(t.Context()); err != nil || f.statement(t) != "two" {
		t.Fatalf("without the place: %v", err)
	}
	if age := f.Age(); age != time.Hour+58*time.Second {
		t.Errorf("the bundle was last vouched for %s ago", age)
	}
	if err := s.follower(t.TempDir(), &now).Start(t.Context()); err == nil {
		t.Error("an edge without any bundle starts")
	}
	// A damaged file is no reason to decide by it, nor to stay away from the place.
	if err := checkpoint.WriteFile(filepath.Join(folder, bundleFile), []byte("TNTB1\ndamaged")); err != nil {
		t.Fatal(err)
	}
	if err := s.follower(folder, &now).Start(t.Context()); err == nil {
		t.Error("an edge starts from a damaged bundle")
	}
	s.failed = nil
	if err := s.follower(folder, &now).Start(t.Context()); err != nil {
		t.Error(err)
	}
}

// An old head that is sent again must not make a bundle look younger than it is.
func TestAReplayedHeadDoesNotVouch(t *testing.T) {
	t.Parallel()
	s, now := newSource(t), at.Add(time.Hour)
	f := s.follower(t.TempDir(), &now)
	s.publish(1, "one")
	old := s.file
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.publish(1, "one", func(h *bundle.Head) { h.Signed = at.Add(50 * time.Minute) })
	if err := f.Fetch(t.Context()); err != nil || f.Age() != 10*time.Minute {
		t.Fatalf("age %s, %v", f.Age(), err)
	}
	s.file = old
	if err := f.Fetch(t.Context()); err != nil || f.Age() != 10*time.Minute {
		t.Errorf("after the old head: age %s, %v", f.Age(), err)
	}
	s.publish(1, "one", func(h *bundle.Head) { h.Signed = at.Add(24 * time.Hour) })
	if err := f.Fetch(t.Context()); err != nil || f.Age() != 10*time.Minute {
		t.Errorf("after a head of tomorrow: age %s, %v", f.Age(), err)
	}
}

func TestAPinnedFollowerStaysAndCatchesUp(t *testing.T) {
	t.Parallel()
	s, now := newSource(t), at.Add(time.Minute)
	f := s.follower(t.TempDir(), &now)
	s.publish(1, "one")
	if err := f.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	f.Pin(true)
	s.publish(2, "two")
	if err := f.Fetch(t.Context()); err != nil || f.statement(t) != "one" {
		t.Errorf("pinned: %v, %q", err, f.statement(t))
	}
	f.Pin(false)
	if err := f.Fetch(t.Context()); err != nil || f.statement(t) != "two" {
		t.Errorf("unpinned: %v, %q", err, f.statement(t))
	}
}

// Views follow changes alone, so what has gone from a bundle must be among them.
func TestRulesThatLeaveABundleAreChanges(t *testing.T) {
	t.Parallel()
	c := &Corpus{}
	put := func(ids ...string) {
		contents := &bundle.Contents{Project: rule.Project{ID: "pay"}}
		for _, id := range ids {
			contents.Rules = append(contents.Rules, rule.Rule{ID: id, ProjectID: "pay", Version: 1, Status: rule.Effective})
		}
		c.Put(bundle.Head{Project: "pay"}, contents, nil)
	}
	changes := func(after int64) (list []string, version int64) {
		version, err := (rules{c}).Changes(t.Context(), "pay", after, func(s store.RuleState) error {
			list = append(list, s.Rule.ID+" "+string(s.Rule.Status))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return list, version
	}
	put("a", "b")
	all, first := changes(0)
	put("b", "c")
	next, second := changes(first)
	put("a", "b", "c")
	back, third := changes(second)
	put("a", "d")
	mixed, fourth := changes(third)
	put("a", "d")
	none, _ := changes(fourth)
	two, _ := changes(second)
	for i, tt := range []struct{ got, want string }{
		{strings.Join(all, ", "), "a EFFECTIVE, b EFFECTIVE"},
		{strings.Join(next, ", "), "a RETIRED, c EFFECTIVE"},
		{strings.Join(back, ", "), "a EFFECTIVE"},
		{strings.Join(mixed, ", "), "b RETIRED, c RETIRED, d EFFECTIVE"},
		{strings.Join(none, ", "), ""},
		{strings.Join(two, ", "), "a EFFECTIVE, b RETIRED, c RETIRED, d EFFECTIVE"},
	} {
		if tt.got != tt.want {
			t.Errorf("changes %d: %s; want %s", i+1, tt.got, tt.want)
		}
	}
}
