package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// auditorPage writes the page on which auditors check proofs in a browser.
func (r *release) auditorPage(ctx context.Context) error {
	command := exec.CommandContext(ctx, "go", "run", "./internal/auditor/page", "-o", filepath.Join(r.out, "tenet-auditor.html"))
	command.Dir = r.root
	command.Env = append(without(os.Environ(), "GOFLAGS", "GOWORK", "GOEXPERIMENT", "GODEBUG", "GOFIPS140"), "CGO_ENABLED=0", "GOENV=off")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("the page for auditors: %w", err)
	}
	return nil
}
