package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// pageName is the file name of the page for auditors.
const pageName = "tenet-auditor.html"

// page is the path of the page for auditors: a file of the release, which all others but the image carry, too.
func (r *release) page() string { return filepath.Join(r.out, pageName) }

// auditorPage writes the page on which auditors check proofs in a browser.
func (r *release) auditorPage(ctx context.Context) error {
	command := exec.CommandContext(ctx, "go", "run", "./internal/auditor/page", "-o", r.page())
	command.Dir = r.root
	command.Env = append(without(os.Environ(), "GOFLAGS", "GOWORK", "GOEXPERIMENT", "GODEBUG", "GOFIPS140"), "CGO_ENABLED=0", "GOENV=off")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("the page for auditors: %w", err)
	}
	return nil
}
