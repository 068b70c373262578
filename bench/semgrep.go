package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Size of the commit that `tenet check` and Semgrep look at.
const (
	stagedFiles   = 50
	stagedPattern = 34
	stagedRuns    = 5
)

// semgrep measures the whole process of `tenet check --staged` and of Semgrep on the same staged change, by the same regular expressions.
func semgrep(ctx context.Context, o options) error {
	dir, err := os.MkdirTemp("", "tenet-bench-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	repository := filepath.Join(dir, "repository")
	if err := stage(ctx, repository); err != nil {
		return err
	}
	tenet, err := filepath.Abs(o.binary)
	if err != nil {
		return err
	}
	peer, err := filepath.Abs(o.semgrep)
	if err != nil {
		return err
	}
	ours, theirs := patterns()
	files := map[string][]byte{"tenet.yaml": ours, "semgrep.yaml": theirs} // JSON is YAML
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
			return err
		}
	}
	fmt.Printf("\n## %d staged files, %d regular expressions, whole process, median of %d runs\n\n| what | wall ms | processor ms | findings |\n|---|---|---|---|\n", stagedFiles, stagedPattern, stagedRuns)
	for _, p := range []struct {
		name  string
		args  []string
		count func(answer []byte) (int, error)
	}{
		{"Semgrep", []string{peer, "scan", "--config", filepath.Join(dir, "semgrep.yaml"), "--metrics=off", "--disable-version-check", "--quiet", "--json", "."}, countResults},
		{"tenet check --staged", []string{tenet, "check", "--staged", "--rules", filepath.Join(dir, "tenet.yaml"), "--format", "json"}, countLocations},
	} {
		wall, used, found, err := timed(ctx, dir, repository, p.args, p.count)
		if err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
		if found != stagedFiles {
			return fmt.Errorf("%s has %d findings; want one in each of %d files", p.name, found, stagedFiles)
		}
		fmt.Printf("| %s | %d | %d | %d |\n", p.name, wall.Milliseconds(), used.Milliseconds(), found)
	}
	return nil
}

// stage makes a repository with files in a commit, and a line in each staged that breaks a rule.
func stage(ctx context.Context, dir string) error {
	var before strings.Builder
	for line := range 200 {
		fmt.Fprintf(&before, "\tif err := ledger.Post(ctx, account%d); err != nil { return fmt.Errorf(\"post: %%w\", err) }\n", line)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	write := func(added func(i int) string) error {
		for i := range stagedFiles {
			text := "package pay\n\nfunc post() error {\n" + before.String() + added(i) + "\treturn nil\n}\n"
			if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("file%d.go", i)), []byte(text), 0o600); err != nil {
				return err
			}
		}
		return nil
	}
	git := func(args ...string) error {
		cmd := exec.CommandContext(ctx, "git", append([]string{"-C", dir, "-c", "user.name=bench", "-c", "user.email=bench@example.com"}, args...)...)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("git %s: %w: %.300s", args[0], err, out)
		}
		return nil
	}
	if err := write(func(int) string { return "" }); err != nil {
		return err
	}
	for _, args := range [][]string{{"init", "-q"}, {"add", "."}, {"commit", "-q", "-m", "base"}} {
		if err := git(args...); err != nil {
			return err
		}
	}
	err := write(func(i int) string {
		return strings.Repeat("\tledger.Flush(ctx)\n", 29) + fmt.Sprintf("\tforbidden_%d(ctx)\n", i%stagedPattern)
	})
	if err != nil {
		return err
	}
	return git("add", ".")
}

// patterns are the same rules for Tenet and for Semgrep.
func patterns() (ours, theirs []byte) {
	var mine, peers []map[string]any
	for i := range stagedPattern {
		regex := fmt.Sprintf(`\bforbidden_%d\s*\(`, i)
		mine = append(mine, map[string]any{
			"slug": fmt.Sprintf("B-%d", i), "status": "EFFECTIVE", "modality": "MUST_NOT", "severity": "HIGH", "statement": fmt.Sprintf("forbidden_%d is not called.", i),
			"applies_to": map[string]any{"paths": []string{"**/*.go"}}, "check": map[string]any{"pattern": map[string]any{"regex": regex}},
		})
		peers = append(peers, map[string]any{"id": fmt.Sprintf("b-%d", i), "languages": []string{"regex"}, "severity": "ERROR", "message": "forbidden call", "pattern-regex": regex})
	}
	return encode(map[string]any{"rules": mine}), encode(map[string]any{"rules": peers})
}

// timed runs a program several times after a first one, which fills the disk cache, and returns the medians of its wall and processor time.
func timed(ctx context.Context, home, dir string, args []string, count func([]byte) (int, error)) (wall, used time.Duration, found int, err error) {
	var walls, uses []time.Duration
	for run := range stagedRuns + 1 {
		cmd := exec.CommandContext(ctx, args[0], args[1:]...)
		cmd.Dir, cmd.Stderr = dir, os.Stderr
		cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH")}
		began := time.Now()
		out, err := cmd.Output()
		took := time.Since(began)
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() > 1 { // 1 says that something was found
			return 0, 0, 0, err
		}
		if found, err = count(out); err != nil {
			return 0, 0, 0, err
		}
		if run > 0 {
			walls, uses = append(walls, took), append(uses, cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime())
		}
	}
	slices.Sort(walls)
	slices.Sort(uses)
	return walls[stagedRuns/2], uses[stagedRuns/2], found, nil
}

func countResults(answer []byte) (int, error) {
	var report struct {
		Results []any `json:"results"`
	}
	err := json.Unmarshal(answer, &report)
	return len(report.Results), err
}

func countLocations(answer []byte) (n int, err error) {
	var report struct {
		Violations []struct {
			Locations []any `json:"locations"`
		} `json:"violations"`
	}
	err = json.Unmarshal(answer, &report)
	for i := range report.Violations {
		n += len(report.Violations[i].Locations)
	}
	return n, err
}
