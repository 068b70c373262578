package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2/files"
)

// manuals has the program write its manual pages, by building it for this machine.
func (r *release) manuals(ctx context.Context) error {
	command := exec.CommandContext(ctx, "go", "run", "-trimpath", "-buildvcs=false", "-ldflags", "-X tenet/internal/cli.Version="+r.version, "./cmd/tenet", "man", "--dir", r.manualFolder())
	command.Dir = r.root
	command.Env = append(without(os.Environ(), "GOFLAGS", "GOWORK", "GOOS", "GOARCH"), "CGO_ENABLED=0")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("tenet man: %w", err)
	}
	return nil
}

func (r *release) manualFolder() string { return filepath.Join(r.work, "man1") }

// manualFiles are the manual pages as files of a package, compressed as man(1) expects them.
func (r *release) manualFiles() (files.Contents, error) {
	pages, err := filepath.Glob(filepath.Join(r.manualFolder(), "*.1"))
	if err != nil {
		return nil, err
	}
	if len(pages) == 0 {
		return nil, fmt.Errorf("%s holds no manual pages", r.manualFolder())
	}
	list := make(files.Contents, 0, len(pages))
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, err
		}
		var b bytes.Buffer
		z, err := gzip.NewWriterLevel(&b, gzip.BestCompression) // its header has no time
		if err != nil {
			return nil, err
		}
		if _, err := z.Write(text); err != nil {
			return nil, err
		}
		if err := z.Close(); err != nil {
			return nil, err
		}
		if err := os.WriteFile(page+".gz", b.Bytes(), 0o600); err != nil {
			return nil, err
		}
		list = append(list, r.content(page+".gz", "/usr/share/man/man1/"+filepath.Base(page)+".gz", "", plain))
	}
	return list, nil
}
