// Command page writes the page for auditors: one HTML file that checks proofs and evidence packs in a browser, without a network.
//
//	go run ./internal/auditor/page -o dist/tenet-auditor.html
package main

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

//go:embed page.html
var page string

//go:embed page.css
var style string

//go:embed page.js
var script string

func main() {
	out := flag.String("o", "dist/tenet-auditor.html", "file to write")
	flag.Parse()
	if err := write(*out); err != nil {
		fmt.Fprintln(os.Stderr, "page:", err)
		os.Exit(1)
	}
}

func write(out string) error {
	root, err := exec.Command("go", "env", "GOROOT").Output() //nolint:noctx // a build step
	if err != nil {
		return err
	}
	support, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), "lib", "wasm", "wasm_exec.js"))
	if err != nil {
		return err
	}
	program, err := build()
	if err != nil {
		return err
	}
	html, err := assemble(string(support), program)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(out), 0o755); err != nil { //nolint:gosec // a folder of files to publish
		return err
	}
	return os.WriteFile(out, html, 0o644) //nolint:gosec // a file to publish
}

// build compiles the check for browsers.
func build() (program []byte, err error) {
	dir, err := os.MkdirTemp("", "tenet-auditor")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, "check.wasm")
	cmd := exec.Command("go", "build", "-buildvcs=false", "-trimpath", "-ldflags", "-s -w -buildid=", "-o", file, "tenet/internal/auditor/wasm") //nolint:noctx // a build step
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "CGO_ENABLED=0")
	cmd.Stderr = os.Stderr
	if err := cmd.Run(); err != nil {
		return nil, err
	}
	return os.ReadFile(file)
}

// assemble makes the page of its parts. Its policy lets nothing but these parts run, and no address be reached.
func assemble(support string, program []byte) ([]byte, error) {
	var packed bytes.Buffer
	z, err := gzip.NewWriterLevel(&packed, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	if _, err := z.Write(program); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	code := support + "\n" + script
	if strings.Contains(code, "</script") {
		return nil, errors.New("the scripts end themselves")
	}
	policy := "default-src 'none'; script-src '" + hash(code) + "' 'wasm-unsafe-eval'; style-src '" + hash(style) + "'; base-uri 'none'; form-action 'none'"
	return []byte(strings.NewReplacer("{{policy}}", policy, "{{style}}", style, "{{script}}", code, "{{program}}", base64.StdEncoding.EncodeToString(packed.Bytes())).Replace(page)), nil
}

// hash returns the hash of a part as a content security policy names it.
func hash(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}
