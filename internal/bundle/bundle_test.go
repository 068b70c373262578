package bundle_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"tenet/internal/bundle"
	"tenet/internal/checkpoint"
	"tenet/internal/rule"
	"tenet/internal/store"
)

var at = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// contents are those of a bundle with n rules.
func contents(n int) *bundle.Contents {
	c := &bundle.Contents{
		Project:  rule.Project{ID: "pay", Name: "Payments", CreatedAt: at, UpdatedAt: at},
		Snapshot: store.Snapshot{ProjectID: "pay", ID: "0199f0a0-0000-7000-8000-00000000aaaa", Name: "one", CreatedAt: at, ContentHash: strings.Repeat("ab", 32)},
		Waivers:  []rule.Waiver{{ID: "w1", ProjectID: "pay", RuleID: "r", ExpiresAt: at, CreatedAt: at}},
		Keys:     []store.Key{{ID: "k1", ProjectID: "pay", Name: "ci", Role: "evaluator", Hash: "h", CreatedAt: at}}, KeysRequired: true,
	}
	for i := range n {
		r := rule.Rule{
			ID: fmt.Sprintf("0199f0a0-%04x-7000-8000-%012x", i>>12, i), ProjectID: "pay", Version: 1 + i%3, Severity: rule.High, Modality: rule.Must, Status: rule.Effective,
			Statement: fmt.Sprintf("Payments of kind %d above %d EUR must be approved by a second person.", i%97, i), Enforcement: rule.Enforce, CreatedAt: at, UpdatedAt: at,
		}
		r.Normalize()
		c.Rules = append(c.Rules, r)
	}
	return c
}

// server signs bundles.
type server struct {
	t    testing.TB
	keys *checkpoint.KeyFile
}

func newServer(t testing.TB) *server {
	keys, err := checkpoint.OpenKeys(filepath.Join(t.TempDir(), "key"), "example.com/tenet", at)
	if err != nil {
		t.Fatal(err)
	}
	return &server{t, keys}
}

func (s *server) trusted() []string {
	keys, _, err := s.keys.Keys(context.Background(), bundle.NameOf("example.com/tenet", "pay", "production"))
	if err != nil {
		s.t.Fatal(err)
	}
	return keys
}

func head() *bundle.Head {
	return &bundle.Head{
		Name: bundle.NameOf("example.com/tenet", "pay", "production"), Project: "pay", Environment: "production", Seq: 3, Action: bundle.Deploy, Snapshot: "s", Root: "r", Built: at, Signed: at,
	}
}

// pack makes a file of contents.
func (s *server) pack(h *bundle.Head, text []byte) *bundle.File {
	s.t.Helper()
	body, err := bundle.Pack(h, text)
	if err != nil {
		s.t.Fatal(err)
	}
	return s.signed(h, body)
}

func (s *server) signed(h *bundle.Head, body []byte) *bundle.File {
	s.t.Helper()
	note, err := h.Sign(s.t.Context(), s.keys)
	if err != nil {
		s.t.Fatal(err)
	}
	return &bundle.File{Note: note, Body: body}
}

func encode(t testing.TB, c *bundle.Contents) []byte {
	t.Helper()
	text, err := c.Encode()
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestABundleHoldsWhatWasPutIn(t *testing.T) {
	s, c := newServer(t), contents(300)
	text := encode(t, c)
	if again := encode(t, contents(300)); !bytes.Equal(text, again) {
		t.Fatal("equal contents have other bytes")
	}
	opened, err := bundle.Open(bytes.NewReader(s.pack(head(), text).Bytes()), s.trusted(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got, err := bundle.Decode(opened.Text)
	if diff := cmp.Diff(c, got); err != nil || diff != "" {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	if opened.Head.Seq != 3 || opened.Head.RawSize != int64(len(text)) {
		t.Errorf("head %+v", opened.Head)
	}
}

func TestADeltaLeadsToTheSameText(t *testing.T) {
	s, before := newServer(t), encode(t, contents(2000))
	c := contents(2000)
	c.Rules[7].Statement, c.Rules[7].Version = "Another.", 9
	c.Rules = append(c.Rules[:100], c.Rules[101:]...)
	c.Waivers = nil
	c.Nodes = []rule.Node{{ID: "n1", Name: "acme", Level: rule.LevelOrganization, CreatedAt: at, UpdatedAt: at, Repositories: []string{}}}
	after := encode(t, c)
	h := head()
	whole := s.pack(h, after)
	d, body, err := bundle.PackDelta(*h, 2, before, after)
	if err != nil {
		t.Fatal(err)
	}
	if len(body)*10 > len(whole.Body) {
		t.Errorf("the delta has %d bytes, the whole %d", len(body), len(whole.Body))
	}
	file := s.signed(d, body).Bytes()
	opened, err := bundle.Open(bytes.NewReader(file), s.trusted(), before)
	if err != nil || !bytes.Equal(opened.Text, after) {
		t.Fatalf("%v; the text is the same: %t", err, err == nil && bytes.Equal(opened.Text, after))
	}
	for about, base := range map[string][]byte{"no base": nil, "another base": after} {
		if _, err := bundle.Open(bytes.NewReader(file), s.trusted(), base); err == nil || !strings.Contains(err.Error(), "bundle 2") {
			t.Errorf("%s: %v", about, err)
		}
	}
}

// The owner of the place of a bundle can do all this to it.
func TestHostileBundlesAreRefused(t *testing.T) {
	s, other := newServer(t), newServer(t)
	text := encode(t, contents(50))
	good := s.pack(head(), text)
	file := good.Bytes()
	staging := head()
	staging.Environment, staging.Name = "staging", bundle.NameOf("example.com/tenet", "pay", "staging")
	lying := head()
	lying.Environment = "staging"
	huge := head()
	body, err := bundle.Pack(huge, text)
	if err != nil {
		t.Fatal(err)
	}
	huge.Size = bundle.MaxSize + 1
	bomb := head()
	if _, err := bundle.Pack(bomb, text); err != nil {
		t.Fatal(err)
	}
	bombed := s.signed(bomb, body) // another body under a good head
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bombed.Body = w.EncodeAll(make([]byte, 512<<20), nil)
	swapped := bytes.Clone(text)
	lines := bytes.SplitAfter(swapped, []byte("\n"))
	lines[3], lines[4] = lines[4], lines[3]
	changed := bytes.Replace(file, []byte("seq 3"), []byte("seq 9"), 1) // under the same signature
	flipped := bytes.Clone(file)
	flipped[len(flipped)-9] ^= 1
	long := binary.BigEndian.AppendUint32([]byte("TNTB1\n"), 1<<31)
	for about, f := range map[string]struct {
		file []byte
		says string
	}{
		"empty":                         {nil, "not a bundle"},
		"a page":                        {[]byte("<!doctype html><title>Sign in</title>"), "not a bundle"},
		"cut in the head":               {file[:200], "cut short in its head"},
		"cut in the body":               {file[:len(file)-1], "cut short"},
		"with more behind it":           {append(bytes.Clone(file), 0), "more bytes"},
		"a flipped bit":                 {flipped, "not the one that was signed"},
		"a changed head":                {changed, "invalid signature"},
		"of another server":             {other.pack(head(), text).Bytes(), "no trusted key"},
		"of another environment":        {s.pack(staging, text).Bytes(), "no trusted key"},
		"of a head of two environments": {s.pack(lying, text).Bytes(), "it is of"},
		"too large":                     {s.signed(huge, body).Bytes(), "at most"},
		"a bomb":                        {bombed.Bytes(), "more bytes"},
		"a head of two gigabytes":       {long, "at most"},
	} {
		t.Run(about, func(t *testing.T) {
			var m, n runtime.MemStats
			runtime.ReadMemStats(&m)
			_, err := bundle.Open(bytes.NewReader(f.file), s.trusted(), nil)
			runtime.ReadMemStats(&n)
			if err == nil || !strings.Contains(err.Error(), f.says) {
				t.Errorf("%v; want %q", err, f.says)
			}
			if took := n.TotalAlloc - m.TotalAlloc; took > 4<<20 {
				t.Errorf("refusing it took %d bytes", took)
			}
		})
	}
	if _, err := bundle.Decode(bytes.Join(lines, nil)); err == nil || !strings.Contains(err.Error(), "order") {
		t.Errorf("lines in another order: %v", err)
	}
	if _, err := bundle.Open(bytes.NewReader(file), nil, nil); err == nil || !strings.Contains(err.Error(), "no key is trusted") {
		t.Errorf("without a key: %v", err)
	}
}

// A body that unpacks to more than was signed ends at what was signed, although its hash is right.
func TestABombThatWasSignedEnds(t *testing.T) {
	s := newServer(t)
	h := head()
	if _, err := bundle.Pack(h, encode(t, contents(5))); err != nil {
		t.Fatal(err)
	}
	w, err := zstd.NewWriter(nil)
	if err != nil {
		t.Fatal(err)
	}
	bomb := &bundle.Head{}
	body := w.EncodeAll(make([]byte, 256<<20), nil)
	if _, err := bundle.Pack(bomb, []byte("x")); err != nil {
		t.Fatal(err)
	}
	h.Size, h.Hash = int64(len(body)), hashOf(body)
	var m, n runtime.MemStats
	runtime.ReadMemStats(&m)
	_, err = bundle.Open(bytes.NewReader(s.signed(h, body).Bytes()), s.trusted(), nil)
	runtime.ReadMemStats(&n)
	if err == nil || !strings.Contains(err.Error(), "unpack") {
		t.Errorf("%v", err)
	}
	if took := n.TotalAlloc - m.TotalAlloc; took > 8<<20 {
		t.Errorf("it took %d bytes", took)
	}
}

// Nothing that a place sends makes an edge crash, or take what was not signed.
func FuzzOpen(f *testing.F) {
	s := newServer(f)
	text := encode(f, contents(3))
	good := s.pack(head(), text).Bytes()
	trusted := s.trusted()
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add([]byte("TNTB1\n\x00\x00\x00\x01x"))
	f.Fuzz(func(t *testing.T, data []byte) {
		o, err := bundle.Open(bytes.NewReader(data), trusted, nil)
		if err == nil && !bytes.Equal(o.Text, text) {
			t.Errorf("took %q", data)
		}
		_, _ = bundle.Decode(data)
	})
}

func BenchmarkBundle(b *testing.B) {
	s := newServer(b)
	c := contents(100_000)
	text := encode(b, c)
	file := s.pack(head(), text).Bytes()
	trusted := s.trusted()
	b.Run("build", func(b *testing.B) {
		for b.Loop() {
			if _, err := bundle.Pack(head(), encode(b, c)); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("verify and load", func(b *testing.B) {
		b.ReportMetric(float64(len(file))/(1<<20), "MiB")
		for b.Loop() {
			o, err := bundle.Open(bytes.NewReader(file), trusted, nil)
			if err != nil {
				b.Fatal(err)
			}
			if _, err := bundle.Decode(o.Text); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkVerify checks signature, sizes and hashes of a bundle of 2 MiB and unpacks it. Its rules have words by chance, so that it is as hard to compress as
// texts that people write.
func BenchmarkVerify(b *testing.B) {
	s := newServer(b)
	random := rand.New(rand.NewPCG(2, 22))
	words := make([]string, 4000)
	for i := range words {
		for range 3 + random.IntN(7) {
			words[i] += string(rune('a' + random.IntN(26)))
		}
	}
	const want = 2 << 20
	var file []byte
	for n := 8_000; len(file) < want; n = n * 9 / 8 {
		c := contents(n)
		for i := range c.Rules {
			var statement strings.Builder
			for range 30 {
				statement.WriteString(words[random.IntN(len(words))] + " ")
			}
			c.Rules[i].Statement = statement.String()
		}
		file = s.pack(head(), encode(b, c)).Bytes()
	}
	trusted := s.trusted()
	for b.Loop() {
		if _, err := bundle.Open(bytes.NewReader(file), trusted, nil); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(len(file))/(1<<20), "MiB")
	b.ReportMetric(b.Elapsed().Seconds()*1e3/float64(b.N)*want/float64(len(file)), "ms/2MiB")
}
