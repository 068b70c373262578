package main

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// keyName is the variable that holds the private key of releases: ECDSA on P-256, PKCS #8 in PEM.
const keyName = "TENET_RELEASE_KEY"

// described is release.json: what `tenet upgrade --check` and scripts read.
type described struct {
	Version string          `json:"version"`
	Time    string          `json:"time"`
	Go      string          `json:"go"`
	Files   []describedFile `json:"files"`
}

// describedFile is a file of the release.
type describedFile struct {
	Name   string `json:"name"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// checksums writes release.json, the digests of all files in the form of sha256sum, and, given a key, a signature of them.
func (r *release) checksums() error {
	list, err := r.files()
	if err != nil {
		return err
	}
	d := described{Version: r.version, Time: r.time.Format("2006-01-02T15:04:05Z"), Go: runtime.Version(), Files: list}
	if err := r.write("release.json", func(w io.Writer) error {
		e := json.NewEncoder(w)
		e.SetIndent("", "  ")
		return e.Encode(d)
	}); err != nil {
		return err
	}
	if list, err = r.files(); err != nil {
		return err
	}
	var text strings.Builder
	for _, f := range list {
		fmt.Fprintf(&text, "%s  %s\n", f.SHA256, f.Name)
	}
	if err := r.write(marker, func(w io.Writer) error { _, err := io.WriteString(w, text.String()); return err }); err != nil {
		return err
	}
	key := os.Getenv(keyName)
	if key == "" {
		fmt.Fprintf(os.Stderr, "dist: %s is not signed, since %s is not set\n", marker, keyName)
		return nil
	}
	signature, public, err := sign(key, []byte(text.String()))
	if err != nil {
		return fmt.Errorf("%s: %w", keyName, err)
	}
	for name, content := range map[string][]byte{marker + ".sig": signature, "release.pub": public} {
		if err := r.write(name, func(w io.Writer) error { _, err := w.Write(content); return err }); err != nil {
			return err
		}
	}
	return nil
}

// files lists the finished files.
func (r *release) files() ([]describedFile, error) {
	entries, err := os.ReadDir(r.out)
	if err != nil {
		return nil, err
	}
	list := make([]describedFile, 0, len(entries))
	for _, entry := range entries {
		f, err := os.Open(filepath.Join(r.out, entry.Name()))
		if err != nil {
			return nil, err
		}
		digest := sha256.New()
		n, err := io.Copy(digest, f)
		if err := errors.Join(err, f.Close()); err != nil {
			return nil, err
		}
		list = append(list, describedFile{entry.Name(), n, hex.EncodeToString(digest.Sum(nil))})
	}
	return list, nil
}

// sign signs a text as `cosign sign-blob` does: ECDSA over its SHA-256, in base64. It also returns the public key, in PEM. Signatures follow
// RFC 6979, so that they repeat.
func sign(key string, text []byte) (signature, public []byte, err error) {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return nil, nil, errors.New("is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, nil, errors.New("is not a private key in PKCS #8 without a password")
	}
	private, ok := parsed.(*ecdsa.PrivateKey)
	if !ok || private.Curve != elliptic.P256() {
		return nil, nil, errors.New("is not a key for ECDSA on P-256; make one with: openssl genpkey -algorithm EC -pkeyopt ec_paramgen_curve:P-256")
	}
	sum := sha256.Sum256(text)
	raw, err := private.Sign(nil, sum[:], crypto.SHA256)
	if err != nil {
		return nil, nil, err
	}
	der, err := x509.MarshalPKIXPublicKey(&private.PublicKey)
	if err != nil {
		return nil, nil, err
	}
	return []byte(base64.StdEncoding.EncodeToString(raw)), pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// list prints the finished files with their sizes.
func (r *release) list(w io.Writer) error {
	files, err := r.files()
	if err != nil {
		return err
	}
	for _, f := range files {
		if _, err := fmt.Fprintf(w, "%8.1f MiB  %s\n", float64(f.Size)/(1<<20), f.Name); err != nil {
			return err
		}
	}
	return nil
}
