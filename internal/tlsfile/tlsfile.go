// Package tlsfile serves TLS with certificates in files, and uses new ones without a restart.
package tlsfile

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"tenet/internal/rule"
)

// Files names what a server needs for TLS.
type Files struct {
	// Cert holds the certificate of the server in PEM, followed by those between it and its authority; Key holds its private key.
	Cert, Key string
	// ClientCA holds the authorities, in PEM, of the certificates that clients present. Empty: clients are not asked for any.
	ClientCA string
	// MinVersion is 1.2 or 1.3; empty means 1.2.
	MinVersion string
}

// checkEvery is the interval at which the files are compared with what is in use.
const checkEvery = 5 * time.Second

// maxFile bounds the size of a file, in bytes.
const maxFile = 1 << 20

// warnBefore is how long before its end a certificate is a warning in the log.
const warnBefore = 14 * 24 * time.Hour

// Source holds the certificates in use. Make one with Open.
type Source struct {
	files   Files
	minimum uint16
	log     *slog.Logger
	current atomic.Pointer[loaded]
	failed  [sha256.Size]byte // the content of the last files that could not be used
	warned  time.Time         // end of the certificate that the log has warned of
}

// loaded is the content of the files at one time.
type loaded struct {
	sum     [sha256.Size]byte
	cert    tls.Certificate
	clients *x509.CertPool
	expires time.Time
}

// Open reads the files. It returns an invalid error that names the setting to change if they cannot be used.
func Open(files Files, log *slog.Logger) (*Source, error) {
	s := &Source{files: files, log: log}
	switch files.MinVersion {
	case "", "1.2":
		s.minimum = tls.VersionTLS12
	case "1.3":
		s.minimum = tls.VersionTLS13
	default:
		return nil, rule.Errorf(rule.CodeInvalid, "tls_min_version: %q is not 1.2 or 1.3", files.MinVersion)
	}
	if files.Cert == "" || files.Key == "" {
		return nil, rule.Errorf(rule.CodeInvalid, "TLS needs tls_cert and tls_key: the files of the certificate and of its private key")
	}
	texts, sum, err := s.read()
	if err != nil {
		return nil, err
	}
	now, err := parse(texts, sum)
	if err != nil {
		return nil, err
	}
	s.current.Store(now)
	return s, nil
}

// texts are the contents of the three files.
type texts struct{ cert, key, clientCA []byte }

// read returns the contents of the files and a digest of them.
func (s *Source) read() (t texts, sum [sha256.Size]byte, err error) {
	digest := sha256.New()
	for _, file := range []struct {
		setting, path string
		into          *[]byte
	}{{"tls_cert", s.files.Cert, &t.cert}, {"tls_key", s.files.Key, &t.key}, {"tls_client_ca", s.files.ClientCA, &t.clientCA}} {
		if file.path == "" {
			continue
		}
		if *file.into, err = readFile(file.path); err != nil {
			return t, sum, rule.Errorf(rule.CodeInvalid, "%s: %w", file.setting, err)
		}
		fmt.Fprintf(digest, "%d\n", len(*file.into))
		digest.Write(*file.into)
	}
	return t, [sha256.Size]byte(digest.Sum(nil)), nil
}

func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > maxFile {
		return nil, fmt.Errorf("%s is not a file of at most 1 MiB", path)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // opened for reading
	return io.ReadAll(io.LimitReader(f, maxFile))
}

// parse makes certificates of the contents of the files.
func parse(t texts, sum [sha256.Size]byte) (*loaded, error) {
	cert, err := tls.X509KeyPair(t.cert, t.key)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "tls_cert and tls_key: %w", err)
	}
	now := &loaded{sum: sum, cert: cert, expires: cert.Leaf.NotAfter}
	if t.clientCA != nil {
		now.clients = x509.NewCertPool()
		if !now.clients.AppendCertsFromPEM(t.clientCA) {
			return nil, rule.Errorf(rule.CodeInvalid, "tls_client_ca: the file has no certificate in PEM")
		}
	}
	return now, nil
}

// Server returns the configuration of a server that speaks the named protocols, such as "h2". With authorities for clients, a certificate
// that a client presents must come from one of them; require also refuses clients without any.
func (s *Source) Server(require bool, protocols ...string) *tls.Config {
	return &tls.Config{
		MinVersion: s.minimum, NextProtos: protocols,
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			now := s.current.Load()
			c := &tls.Config{MinVersion: s.minimum, NextProtos: protocols, Certificates: []tls.Certificate{now.cert}}
			// The tickets of this configuration are its own, so that what a client has shown to older authorities is not taken up again.
			c.SessionTicketsDisabled = now.clients != nil
			if now.clients != nil {
				c.ClientCAs, c.ClientAuth = now.clients, tls.VerifyClientCertIfGiven
				if require {
					c.ClientAuth = tls.RequireAndVerifyClientCert
				}
			}
			return c, nil
		},
		// Not used, since the function above answers; servers want to see a certificate.
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &s.current.Load().cert, nil },
	}
}

// AsksClients reports whether clients are asked for certificates.
func (s *Source) AsksClients() bool { return s.files.ClientCA != "" }

// Expires is the end of the certificate in use.
func (s *Source) Expires() time.Time { return s.current.Load().expires }

// Run compares the files with what is in use until ctx ends. Files that cannot be used, such as a certificate whose key is not written yet,
// are reported in the log once, and what was in use stays in use.
func (s *Source) Run(ctx context.Context) { s.run(ctx, checkEvery) }

func (s *Source) run(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	s.warn(ctx)
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			s.refresh(ctx)
			s.warn(ctx)
		}
	}
}

// refresh uses the files if they have changed.
func (s *Source) refresh(ctx context.Context) {
	t, sum, err := s.read()
	if err != nil {
		sum = sha256.Sum256([]byte(err.Error()))
	}
	if err == nil && sum == s.current.Load().sum {
		s.failed = [sha256.Size]byte{}
		return
	}
	if sum == s.failed {
		return
	}
	var now *loaded
	if err == nil {
		now, err = parse(t, sum)
	}
	if err != nil {
		s.failed = sum
		s.log.ErrorContext(ctx, "the new TLS files cannot be used; the certificate before them stays in use", slog.Any("error", err))
		return
	}
	s.failed = [sha256.Size]byte{}
	s.current.Store(now)
	s.log.InfoContext(ctx, "using the new TLS certificate", slog.Time("expires", now.expires))
}

// warn logs once that the certificate in use ends soon.
func (s *Source) warn(ctx context.Context) {
	expires := s.Expires()
	if time.Until(expires) > warnBefore || s.warned.Equal(expires) {
		return
	}
	s.warned = expires
	s.log.WarnContext(ctx, "the TLS certificate ends soon; write a new one to the files of tls_cert and tls_key", slog.Time("expires", expires))
}

// ErrOther says that a server has another certificate than the files hold.
var ErrOther = errors.New("the server has another certificate than tls_cert")

// Local returns the configuration of a client on the same machine, which accepts the certificate of the file whatever names it is for.
func Local(cert string) (*tls.Config, error) {
	text, err := readFile(cert)
	if err != nil {
		return nil, rule.Errorf(rule.CodeInvalid, "tls_cert: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, rule.Errorf(rule.CodeInvalid, "tls_cert: the file has no certificate in PEM")
	}
	return &tls.Config{
		MinVersion:         tls.VersionTLS12,
		InsecureSkipVerify: true, //nolint:gosec // the names of the certificate are those of the public; VerifyConnection compares the certificate itself
		VerifyConnection: func(state tls.ConnectionState) error {
			// Verify accepts a certificate that is in the pool itself.
			if _, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: pool, CurrentTime: time.Now()}); err != nil {
				return errors.Join(ErrOther, err)
			}
			return nil
		},
	}, nil
}
