package app

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// certificate writes a certificate for 127.0.0.1 and its key to files.
func certificate(t *testing.T) (cert, key string, trusted *x509.CertPool, own tls.Certificate) {
	t.Helper()
	secret, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		IsCA: true, BasicConstraintsValid: true, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	public, err := x509.CreateCertificate(rand.Reader, template, template, &secret.PublicKey, secret)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	own = tls.Certificate{Certificate: [][]byte{public}, PrivateKey: secret}
	dir := t.TempDir()
	cert, key = filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")
	for path, block := range map[string]*pem.Block{
		cert: {Type: "CERTIFICATE", Bytes: public},
		key:  {Type: "PRIVATE KEY", Bytes: der},
	} {
		if err := os.WriteFile(path, pem.EncodeToMemory(block), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	trusted = x509.NewCertPool()
	if own.Leaf, err = x509.ParseCertificate(public); err != nil {
		t.Fatal(err)
	}
	trusted.AddCert(own.Leaf)
	return cert, key, trusted, own
}

// A node with certificates speaks TLS only, and lets nobody in without a client certificate where one is asked for, except probes.
func TestServingTLS(t *testing.T) {
	cert, key, trusted, own := certificate(t)
	a, err := create(t, map[string]string{"tls_cert": cert, "tls_key": key, "tls_client_ca": cert})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = a.Stop(t.Context()) }()
	if err := a.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	get := func(url string, certs ...tls.Certificate) int {
		t.Helper()
		client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: certs}}}
		defer client.CloseIdleConnections()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		response, err := client.Do(request)
		if err != nil {
			t.Fatalf("GET %s: %v", url, err)
		}
		defer response.Body.Close()
		return response.StatusCode
	}
	if got := get("http://" + a.Addr() + "/health"); got != http.StatusBadRequest {
		t.Errorf("without TLS: %d, want 400", got)
	}
	if got := get(URL(a) + "/health"); got != http.StatusOK {
		t.Errorf("a probe without a certificate: %d, want 200", got)
	}
	if got := get(URL(a) + "/api/v1/rules"); got != http.StatusUnauthorized {
		t.Errorf("a request without a certificate: %d, want 401", got)
	}
	if got := get(URL(a)+"/api/v1/rules", own); got != http.StatusOK {
		t.Errorf("a request with a certificate: %d, want 200", got)
	}
	// People are sent to a page that they can open.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted, Certificates: []tls.Certificate{own}}}}
	defer client.CloseIdleConnections()
	body := strings.NewReader(`{"action": "drop table customers", "request_approval": true}`)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, URL(a)+"/api/v1/evaluate/quick", body)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var answer struct{ Approval struct{ URL string } }
	if err := json.NewDecoder(response.Body).Decode(&answer); err != nil || !strings.HasPrefix(answer.Approval.URL, "https://") {
		t.Errorf("the page of an approval is %q (%v), want one by https", answer.Approval.URL, err)
	}
}

// What a request says about its way here counts only if a named proxy says it.
func TestForwardedHeaders(t *testing.T) {
	var got http.Header
	handler := forwardedBy([]netip.Prefix{netip.MustParsePrefix("10.1.0.0/16")}, http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { got = r.Header }))
	for from, stays := range map[string]bool{
		"10.1.2.3:555": true, "[::ffff:10.1.2.3]:555": true, "10.2.0.1:555": false, "127.0.0.1:555": false, "nonsense": false,
	} {
		r := httptest.NewRequest(http.MethodGet, "/", http.NoBody)
		r.RemoteAddr = from
		for _, name := range forwarding {
			r.Header.Set(name, "https")
		}
		r.Header.Set("Accept", "text/html")
		handler.ServeHTTP(httptest.NewRecorder(), r)
		for _, name := range forwarding {
			if (got.Get(name) != "") != stays {
				t.Errorf("from %s: %s is %q, want it kept: %t", from, name, got.Get(name), stays)
			}
		}
		if got.Get("Accept") == "" {
			t.Errorf("from %s: Accept is gone", from)
		}
	}
}
