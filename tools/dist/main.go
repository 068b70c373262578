// Command dist builds the files of a release: archives, packages for Debian and Red Hat, a container image, wheels for Python, packages for npm,
// lists of components, checksums and their signature. Equal sources and an equal Go give equal files, byte by byte.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// platform is an operating system and a machine, by their names in Go.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

// program is the file name of the program.
func (p platform) program() string {
	if p.os == "windows" {
		return "tenet.exe"
	}
	return "tenet"
}

// platforms are those of a release.
var platforms = []platform{
	{"linux", "amd64"}, {"linux", "arm64"}, {"darwin", "amd64"}, {"darwin", "arm64"}, {"windows", "amd64"}, {"windows", "arm64"},
}

// release is a version, and where its files are made.
type release struct {
	root     string // of the repository
	out      string // folder of the finished files
	work     string // folder of what they are made of
	version  string
	releases string // address of all releases, for `tenet upgrade`; may be empty
	time     time.Time
	built    []built
}

// built is the program for one platform.
type built struct {
	platform

	path string
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "dist:", err)
		os.Exit(1) //nolint:gocritic // the signal handler ends with the process
	}
}

func run(ctx context.Context) error {
	root := flag.String("root", "../..", "folder of the repository")
	out := flag.String("out", "", "folder of the finished files, which is emptied; default is dist in the repository")
	only := flag.String("platforms", "", "platforms to build for, with commas between, such as linux/amd64; default is all")
	releases := flag.String("releases", os.Getenv("TENET_RELEASES"), "address of all releases, which tenet upgrade asks, such as https://github.com/OWNER/tenet/releases")
	flag.Parse()
	r := &release{releases: *releases}
	var err error
	if r.root, err = filepath.Abs(*root); err != nil {
		return err
	}
	if r.out, err = outFolder(r.root, *out); err != nil {
		return err
	}
	if r.version, err = versionOf(r.root); err != nil {
		return err
	}
	if r.time, err = sourceTime(ctx, r.root); err != nil {
		return err
	}
	chosen, err := choose(*only)
	if err != nil {
		return err
	}
	if err := emptied(r.out); err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "tenet-dist-"); err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(r.work) }()
	for _, p := range chosen {
		if err := r.build(ctx, p); err != nil {
			return err
		}
	}
	if err := r.manuals(ctx); err != nil {
		return err
	}
	for _, step := range []struct {
		what string
		make func() error
	}{
		{"page for auditors", func() error { return r.auditorPage(ctx) }},
		{"archives", r.archives},
		{"packages for Debian and Red Hat", r.packages},
		{"lists of components", r.components},
		{"container image", r.image},
		{"wheels", r.wheels},
		{"packages for npm", r.npm},
		{"chart and scripts", r.chart},
		{"checksums", r.checksums},
	} {
		fmt.Fprintln(os.Stderr, "dist:", step.what)
		if err := step.make(); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return r.list(os.Stdout)
}

// outFolder is the absolute path of the folder of the finished files: commands that run in the folder of the repository write into it, too.
func outFolder(root, out string) (string, error) {
	if out == "" {
		return filepath.Join(root, "dist"), nil
	}
	return filepath.Abs(out)
}

// versionForm is that of semantic versions.
var versionForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// versionOf reads the one place that holds the version.
func versionOf(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, "VERSION"))
	if err != nil {
		return "", err
	}
	version := strings.TrimSpace(string(text))
	if !versionForm.MatchString(version) {
		return "", fmt.Errorf("VERSION: %q is not a version such as 1.2.0 or 1.2.0-rc.1", version)
	}
	return version, nil
}

// sourceTime is the time of all files of the release: SOURCE_DATE_EPOCH, or else the time of the last commit.
func sourceTime(ctx context.Context, root string) (time.Time, error) {
	text := os.Getenv("SOURCE_DATE_EPOCH")
	if text == "" {
		out, err := exec.CommandContext(ctx, "git", "-C", root, "log", "-1", "--format=%ct").Output()
		if err != nil {
			return time.Time{}, fmt.Errorf("the time of the last commit: %w; set SOURCE_DATE_EPOCH outside of a repository", err)
		}
		text = string(out)
	}
	seconds, err := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
	if err != nil || seconds < 1e9 {
		return time.Time{}, fmt.Errorf("SOURCE_DATE_EPOCH: %q is not a time in seconds", text)
	}
	return time.Unix(seconds, 0).UTC(), nil
}

// choose returns the named platforms, or all.
func choose(names string) ([]platform, error) {
	if names == "" {
		return platforms, nil
	}
	var chosen []platform
	for name := range strings.SplitSeq(names, ",") {
		i := slices.IndexFunc(platforms, func(p platform) bool { return p.String() == name })
		if i < 0 {
			return nil, fmt.Errorf("-platforms: %q is none of %v", name, platforms)
		}
		chosen = append(chosen, platforms[i])
	}
	return chosen, nil
}

// marker is a file by which a folder is known as one that this program has made, and may empty.
const marker = "checksums.txt"

// emptied makes the folder of the finished files, or empties it if an earlier run has filled it.
func emptied(dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	ours := slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == marker })
	if len(entries) > 0 && !ours {
		return fmt.Errorf("%s is not empty, and has no %s of an earlier run; name another folder with -out", dir, marker)
	}
	if err := os.RemoveAll(dir); err != nil {
		return err
	}
	return os.MkdirAll(dir, 0o755)
}

// build compiles the program for a platform.
func (r *release) build(ctx context.Context, p platform) error {
	started := time.Now()
	dir := filepath.Join(r.work, p.os+"-"+p.arch)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	b := built{p, filepath.Join(dir, p.program())}
	flags := "-s -w -buildid= -X tenet/internal/cli.Version=" + r.version
	if r.releases != "" {
		flags += " -X tenet/internal/cli.Releases=" + r.releases
	}
	command := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", flags, "-o", b.path, "./cmd/tenet")
	command.Dir = r.root
	// Settings of the builder's own, such as GOFLAGS and GOAMD64, would make other programs.
	command.Env = append(without(os.Environ(), "GOFLAGS", "GOWORK", "GOEXPERIMENT", "GOAMD64", "GOARM64", "GODEBUG", "GOFIPS140"),
		"CGO_ENABLED=0", "GOOS="+p.os, "GOARCH="+p.arch, "GOENV=off")
	command.Stderr = os.Stderr
	if err := command.Run(); err != nil {
		return fmt.Errorf("go build for %s: %w", p, err)
	}
	fmt.Fprintf(os.Stderr, "dist: tenet for %s, %d s\n", p, int(time.Since(started).Seconds()))
	r.built = append(r.built, b)
	return nil
}

// without returns an environment without some names.
func without(environ []string, names ...string) []string {
	return slices.DeleteFunc(slices.Clone(environ), func(entry string) bool {
		name, _, _ := strings.Cut(entry, "=")
		return slices.Contains(names, name)
	})
}

// on returns the programs for an operating system.
func (r *release) on(system string) []built {
	var list []built
	for _, b := range r.built {
		if b.os == system {
			list = append(list, b)
		}
	}
	return list
}

// docs are files of the repository that go into archives and packages.
var docs = []string{"LICENSE", "README.md", "CHANGELOG.md"}

// readDocs returns those files by their names.
func (r *release) readDocs() (map[string][]byte, error) {
	texts := map[string][]byte{}
	for _, name := range docs {
		text, err := os.ReadFile(filepath.Join(r.root, name))
		if err != nil {
			return nil, err
		}
		texts[name] = text
	}
	return texts, nil
}
