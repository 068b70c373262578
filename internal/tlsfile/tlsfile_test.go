package tlsfile

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// issue returns a certificate and its key in PEM.
func (a authority) issue(t *testing.T, name string) (cert, keyText []byte) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// pool returns the authority as one that a client trusts.
func (a authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// folder writes files and returns their paths.
func folder(t *testing.T, contents ...[]byte) []string {
	t.Helper()
	paths := make([]string, len(contents))
	dir := t.TempDir()
	for i, content := range contents {
		paths[i] = filepath.Join(dir, string(rune('a'+i))+".pem")
		if err := os.WriteFile(paths[i], content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return paths
}

// serve answers with "here" over TLS and returns the address.
func serve(t *testing.T, s *Source, require bool) string {
	t.Helper()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "here") }))
	server.TLS = s.Server(require, "h2", "http/1.1")
	server.EnableHTTP2 = true
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	// StartTLS brings a certificate of its own into the outer configuration, which is not asked.
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.Listener.Addr().String()
}

// ask returns the name of the certificate that a server presents, and the protocol.
func ask(t *testing.T, at string, c *tls.Config) (name, protocol string, err error) {
	t.Helper()
	c.ServerName = "tenet.example.com"
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: c, ForceAttemptHTTP2: true, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+at, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return "", "", err
	}
	defer response.Body.Close()
	return response.TLS.PeerCertificates[0].SerialNumber.String(), response.Proto, nil
}

// journal is a log that a test reads.
type journal struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (j *journal) Write(p []byte) (int, error) {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.text.Write(p)
}

func (j *journal) count(words string) int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return strings.Count(j.text.String(), words)
}

// eventually waits until fn is true.
func eventually(t *testing.T, what string, fn func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !fn(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("after a minute still not: %s", what)
		}
	}
}

// A renewed certificate is served without a restart; one whose key is not there yet is not, and is reported once.
func TestRenewal(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, "tenet.example.com")
	paths := folder(t, cert, key)
	var log journal
	s, err := Open(Files{Cert: paths[0], Key: paths[1]}, slog.New(slog.NewTextHandler(&log, nil)))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); s.run(ctx, time.Millisecond) }()
	defer func() { stop(); <-ended }()
	at := serve(t, s, false)
	first, protocol, err := ask(t, at, &tls.Config{RootCAs: a.pool()})
	if err != nil || protocol != "HTTP/2.0" {
		t.Fatalf("the first certificate: %v, protocol %s", err, protocol)
	}
	eventually(t, "a warning that the certificate ends within an hour", func() bool { return log.count("ends soon") == 1 })

	newCert, newKey := a.issue(t, "tenet.example.com")
	if err := os.WriteFile(paths[0], newCert, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a report of a certificate without its key", func() bool { return log.count("cannot be used") == 1 })
	time.Sleep(20 * time.Millisecond)
	if n := log.count("cannot be used"); n != 1 {
		t.Errorf("the same files were reported %d times, want once", n)
	}
	if still, _, err := ask(t, at, &tls.Config{RootCAs: a.pool()}); err != nil || still != first {
		t.Errorf("half a renewal serves certificate %s (%v), want the one before, %s", still, err, first)
	}
	if err := os.WriteFile(paths[1], newKey, 0o600); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the new certificate", func() bool {
		now, _, err := ask(t, at, &tls.Config{RootCAs: a.pool()})
		return err == nil && now != first
	})
}

// Clients without a certificate of the authority are refused where one is required, and one of another authority always is.
func TestClientCertificates(t *testing.T) {
	a, clients, others := newAuthority(t), newAuthority(t), newAuthority(t)
	cert, key := a.issue(t, "tenet.example.com")
	paths := folder(t, cert, key, clients.pem)
	s, err := Open(Files{Cert: paths[0], Key: paths[1], ClientCA: paths[2], MinVersion: "1.3"}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pair := func(a authority) []tls.Certificate {
		own, err := tls.X509KeyPair(a.issue(t, "client"))
		if err != nil {
			t.Fatal(err)
		}
		return []tls.Certificate{own}
	}
	optional, required := serve(t, s, false), serve(t, s, true)
	for name, test := range map[string]struct {
		at     string
		client *tls.Config
		ok     bool
	}{
		"none, asked":             {optional, &tls.Config{}, true},
		"none, required":          {required, &tls.Config{}, false},
		"good, asked":             {optional, &tls.Config{Certificates: pair(clients)}, true},
		"good, required":          {required, &tls.Config{Certificates: pair(clients)}, true},
		"of another, asked":       {optional, &tls.Config{GetClientCertificate: always(pair(others))}, false},
		"of another, required":    {required, &tls.Config{GetClientCertificate: always(pair(others))}, false},
		"good, an older protocol": {required, &tls.Config{Certificates: pair(clients), MaxVersion: tls.VersionTLS12}, false},
	} {
		c := test.client.Clone()
		c.RootCAs = a.pool()
		if _, _, err := ask(t, test.at, c); (err == nil) != test.ok {
			t.Errorf("%s: %v, want an answer: %t", name, err, test.ok)
		}
	}
}

func always(certs []tls.Certificate) func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &certs[0], nil }
}

// Files that cannot be used are an error that names the setting.
func TestBadFiles(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, "tenet.example.com")
	_, otherKey := a.issue(t, "tenet.example.com")
	p := folder(t, cert, key, otherKey, []byte("no PEM"))
	for want, files := range map[string]Files{
		"TLS needs tls_cert and tls_key":  {Cert: p[0]},
		"tls_min_version: \"1.0\"":        {Cert: p[0], Key: p[1], MinVersion: "1.0"},
		"tls_cert: stat":                  {Cert: filepath.Join(t.TempDir(), "none"), Key: p[1]},
		"tls_key: " + filepath.Dir(p[0]):  {Cert: p[0], Key: filepath.Dir(p[0])},
		"tls_cert and tls_key: tls:":      {Cert: p[0], Key: p[2]},
		"tls_client_ca: the file has no ": {Cert: p[0], Key: p[1], ClientCA: p[3]},
	} {
		if _, err := Open(files, slog.New(slog.DiscardHandler)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", files, err, want)
		}
	}
}

// A client on the same machine accepts the certificate of the file under any name, and no other.
func TestLocal(t *testing.T) {
	a := newAuthority(t)
	cert, key := a.issue(t, "elsewhere.example.com")
	_, other := a.issue(t, "elsewhere.example.com")
	paths := folder(t, cert, key, other)
	s, err := Open(Files{Cert: paths[0], Key: paths[1]}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	at := serve(t, s, false)
	good, err := Local(paths[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, at, good); err != nil {
		t.Errorf("the certificate of the file is refused: %v", err)
	}
	foreign, _ := newAuthority(t).issue(t, "elsewhere.example.com")
	bad, err := Local(folder(t, foreign)[0])
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := ask(t, at, bad); !errors.Is(err, ErrOther) {
		t.Errorf("another certificate: %v, want %v", err, ErrOther)
	}
}
