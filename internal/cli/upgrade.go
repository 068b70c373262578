package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"golang.org/x/mod/semver"
)

// upgradeCommand is `tenet upgrade`.
type upgradeCommand struct {
	Check bool          `required:"" help:"Ask, and change nothing. Programs are replaced the way they were installed."`
	From  string        `type:"filled" placeholder:"URL" help:"Address of all releases, such as https://github.com/OWNER/tenet/releases ($$TENET_RELEASES). Default is where this program comes from."`
	JSON  bool          `name:"json" help:"Print the answer as JSON."`
	Wait  time.Duration `name:"timeout" default:"10s" help:"Longest time to wait for the answer."`
}

func (upgradeCommand) Help() string {
	return `Exit code 0 says that this is the newest release, 1 that a newer one exists, 2 that it could not be found out.`
}

// upgradeAnswer is the output of `tenet upgrade --check --json`.
type upgradeAnswer struct {
	Version string `json:"version"`
	Newest  string `json:"newest"`
	Newer   bool   `json:"newer"`
	Notes   string `json:"notes"`
	Command string `json:"command,omitempty"`
}

// maxRelease bounds the description of a release, in bytes.
const maxRelease = 1 << 20

// releaseForm is that of the versions of releases.
var releaseForm = regexp.MustCompile(`^[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.]+)?$`)

// Run compares the version of this program with the newest release.
func (k *upgradeCommand) Run(ctx context.Context, s *session) error {
	ctx, cancel := context.WithTimeout(ctx, k.Wait)
	defer cancel()
	from := strings.TrimSuffix(cmp.Or(k.From, s.env("TENET_RELEASES"), Releases), "/")
	if from == "" {
		return fmt.Errorf("this program was built from source (%s), so it knows no releases; name their address with --from", version())
	}
	newest, err := newestRelease(ctx, from)
	if err != nil {
		return err
	}
	own := version()
	a := upgradeAnswer{Version: own, Newest: newest, Newer: newer(newest, own), Notes: from + "/tag/v" + newest}
	if a.Newer {
		program, _ := os.Executable() // without it, the command is left out
		a.Command = upgradeWith(program, newest)
	}
	if err := k.print(s, a); err != nil {
		return err
	}
	if a.Newer {
		return exit(exitFound)
	}
	return nil
}

func (k *upgradeCommand) print(s *session, a upgradeAnswer) error {
	if k.JSON {
		return printJSON(s.out, a)
	}
	if !a.Newer {
		_, err := fmt.Fprintf(s.out, "tenet %s is up to date; the newest release is %s\n", a.Version, a.Newest)
		return err
	}
	fmt.Fprintf(s.out, "tenet %s is out, and this is %s\n  %s\n", s.bold(a.Newest), a.Version, a.Notes)
	if a.Command != "" {
		fmt.Fprintf(s.out, "  %s\n", a.Command)
	}
	return nil
}

// newestRelease asks for the version of the newest release.
func newestRelease(ctx context.Context, from string) (string, error) {
	at, err := url.Parse(from)
	if err != nil || (at.Scheme != "https" && at.Scheme != "http") || at.Host == "" {
		return "", fmt.Errorf("%q is not the address of releases; use one such as https://github.com/OWNER/tenet/releases", from)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, from+"/latest/download/release.json", http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", fmt.Errorf("the releases cannot be reached: %w", err)
	}
	defer func() { _ = response.Body.Close() }() // it is only read
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("%s answers %s", request.URL, response.Status)
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxRelease))
	if err != nil {
		return "", fmt.Errorf("%s: %w", request.URL, err)
	}
	var release struct {
		Version string `json:"version"`
	}
	if err := json.Unmarshal(body, &release); err != nil || !releaseForm.MatchString(release.Version) {
		return "", fmt.Errorf("%s is not the description of a release", request.URL)
	}
	return release.Version, nil
}

// newer reports whether a release is newer than the version of this program. One that was built from source has no place among releases, and
// every release counts as newer.
func newer(release, own string) bool { return semver.Compare("v"+release, "v"+strings.TrimPrefix(own, "v")) > 0 }

// upgradeWith is the command that replaces a program, by the place where it is; empty if that shows nothing.
func upgradeWith(program, release string) string {
	program = strings.ReplaceAll(program, `\`, "/")
	switch {
	case strings.Contains(program, "/node_modules/"):
		return "npm install -g tenet-rules@" + release
	case strings.Contains(program, "/uv/tools/"):
		return "uv tool upgrade tenet-rules"
	case strings.Contains(program, "/pipx/venvs/"):
		return "pipx upgrade tenet-rules"
	case strings.Contains(program, "/venv/") || strings.Contains(program, "/.venv/") || strings.Contains(program, "/site-packages/"):
		return "pip install --upgrade tenet-rules==" + release
	case program == "/usr/bin/tenet" && runtime.GOOS == "linux":
		return "install the .deb or .rpm of that release, or pull the image"
	}
	return ""
}
