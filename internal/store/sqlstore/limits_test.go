package sqlstore_test

import (
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"tenet/internal/rule"
	"tenet/internal/store"
	"tenet/internal/store/litetest"
	"tenet/internal/store/pgtest"
	"tenet/internal/store/sqlstore"
)

// noted notes a server, which locks its row until the transaction ends. then is run before that.
func noted(t *testing.T, s store.Store, id string, then func()) error {
	t.Helper()
	return s.Update(t.Context(), func(tx store.Tx) error {
		err := tx.Servers.Put(t.Context(), store.Server{ID: id, StartedAt: time.Now(), SeenAt: time.Now(), Data: []byte("{}")})
		if err == nil {
			then()
		}
		return err
	})
}

func nothing() {}

// paused notes a server in a transaction that pauses before its end until goOn is closed, and returns when it does. The channel gets the error of the transaction.
func paused(t *testing.T, s store.Store, goOn <-chan struct{}) (ended <-chan error) {
	t.Helper()
	holds, errs := make(chan struct{}), make(chan error, 1)
	var once sync.Once
	go func() {
		errs <- noted(t, s, "one", func() { once.Do(func() { close(holds); <-goOn }) })
	}()
	select {
	case <-holds:
	case err := <-errs:
		t.Fatalf("the transaction has ended before its pause: %v", err)
	}
	return errs
}

func TestANodeThatStandsStillInATransactionDelaysTheOthersBriefly(t *testing.T) {
	t.Parallel()
	dsn := pgtest.DSN(t)
	within := func() store.Store {
		s, err := sqlstore.OpenPostgresWithin(t.Context(), dsn, 500*time.Millisecond, time.Minute, time.Minute, time.Minute)
		return opened(t, s, err)
	}
	frozen, other := within(), within()
	thaw := make(chan struct{})
	ended := paused(t, frozen, thaw)
	begun := time.Now()
	if err := noted(t, other, "one", nothing); err != nil {
		t.Errorf("the other node: %v", err)
	}
	if waited := time.Since(begun); waited > time.Minute {
		t.Errorf("the other node waited %v for a transaction that may pause for 500ms", waited)
	}
	close(thaw)
	if err := <-ended; err != nil {
		t.Errorf("the node that stood still does not try again: %v", err)
	}
}

// proxy passes on what comes through a Unix socket, until it is told to swallow what the connections that it has then carry.
type proxy struct {
	swallow atomic.Pointer[chan struct{}] // closed to let go of them
	listen  net.Listener
}

// newProxy puts a proxy before the server of an address, and returns the address of the proxy.
func newProxy(t *testing.T, dsn string) (*proxy, string) {
	t.Helper()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	server := q.Get("host")
	if !filepath.IsAbs(server) {
		t.Skip("the server is not reached by a Unix socket")
	}
	dir, err := os.MkdirTemp("", "proxy") //nolint:usetesting // the path of a Unix socket must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	const socket = ".s.PGSQL.5432"
	p := &proxy{}
	if p.listen, err = net.Listen("unix", filepath.Join(dir, socket)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = p.listen.Close() })
	go func() {
		for {
			client, err := p.listen.Accept()
			if err != nil {
				return
			}
			up, err := net.Dial("unix", filepath.Join(server, socket))
			if err != nil {
				_ = client.Close()
				continue
			}
			before := p.swallow.Load()
			go p.pass(client, up, before)
			go p.pass(up, client, before)
		}
	}()
	q.Set("host", dir)
	u.RawQuery = q.Encode()
	return p, u.String()
}

// pass copies what comes from one side to the other, unless swallowing has begun since before.
func (p *proxy) pass(to, from net.Conn, before *chan struct{}) {
	defer func() { _, _ = to.Close(), from.Close() }()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if now := p.swallow.Load(); now != before {
			<-*now
			return
		}
		if n > 0 {
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func TestANodeWhoseConnectionsFallSilentRecovers(t *testing.T) {
	t.Parallel()
	p, dsn := newProxy(t, pgtest.DSN(t))
	s, err := sqlstore.OpenPostgresWithin(t.Context(), dsn, time.Minute, time.Minute, 500*time.Millisecond, 500*time.Millisecond)
	s = opened(t, s, err)
	if err := noted(t, s, "one", nothing); err != nil {
		t.Fatal(err)
	}
	release := make(chan struct{})
	defer close(release)
	err = noted(t, s, "two", func() { p.swallow.CompareAndSwap(nil, &release) })
	if rule.CodeOf(err) != rule.CodeUnavailable {
		t.Errorf("a commit without an answer: %v, want unavailable", err)
	}
	begun := time.Now()
	for noted(t, s, "three", nothing) != nil {
		if time.Since(begun) > time.Minute {
			t.Fatal("the node still uses connections that have fallen silent")
		}
	}
}

func TestADamagedFileIsToldAtOnce(t *testing.T) {
	t.Parallel()
	dir := litetest.Dir(t)
	s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, sqlstore.FileName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	const page = 4096
	for n := range min(len(whole)/page, 40) {
		torn := append([]byte(nil), whole...)
		clear(torn[n*page : (n+1)*page])
		if err := os.WriteFile(path, torn, 0o600); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		s, err := sqlstore.OpenSQLite(t.Context(), dir, sqlstore.Options{})
		if took := time.Since(begun); took > 15*time.Second {
			t.Fatalf("with page %d of zeros, opening took %v: %v", n, took, err)
		}
		if err != nil {
			if rule.CodeOf(err) != rule.CodeUnavailable || !strings.Contains(err.Error(), "damaged") {
				t.Errorf("page %d of zeros: %v", n, err)
			}
			continue
		}
		// What opens may still be damaged where nobody has looked. Once somebody has, the node says so.
		_, err = s.Projects.List(t.Context())
		if damaged := err != nil; damaged != (s.Ping(t.Context()) != nil) {
			t.Errorf("page %d of zeros: reading: %v, then ping: %v", n, err, s.Ping(t.Context()))
		}
		_ = s.Close()
	}
}
