package client_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// program builds the tenet command of this checkout once and returns its path.
var program = sync.OnceValue(func() string {
	dir, err := os.MkdirTemp("", "tenet-program-")
	if err != nil {
		panic(err)
	}
	path := filepath.Join(dir, "tenet")
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", path, "tenet/cmd/tenet")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		panic("building tenet: " + err.Error() + "\n" + string(out))
	}
	return path
})

func TestMain(m *testing.M) {
	code := m.Run()
	_ = os.RemoveAll(filepath.Dir(program()))
	os.Exit(code)
}

// server starts `tenet serve` with the starter packs.
func server() (url string, stop func()) {
	dir, err := os.MkdirTemp("", "tenet-example-")
	if err != nil {
		panic(err)
	}
	serve := exec.Command(program(), "serve", "--listen", "127.0.0.1:0", "--data", dir, "--log-format", "json")
	log, err := serve.StderrPipe()
	if err == nil {
		err = serve.Start()
	}
	if err != nil {
		panic(err)
	}
	lines := bufio.NewScanner(log)
	for lines.Scan() {
		var entry struct{ Msg, URL string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			go func() {
				for lines.Scan() { // a full pipe would block the server
				}
			}()
			return entry.URL, func() {
				_ = serve.Process.Signal(os.Interrupt)
				_ = serve.Wait()
				_ = os.RemoveAll(dir)
			}
		}
	}
	panic(errors.Join(errors.New("tenet serve has ended"), lines.Err(), serve.Wait()))
}

// Programs that use the client must not link the server: its packages are those of the standard library and the types of the API.
func TestDependencies(t *testing.T) {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "-f", "{{if not .Standard}}{{.ImportPath}}{{end}}", ".").Output()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"tenet/internal/rule", "tenet/internal/wire", "tenet/internal/wire/op", "tenet/internal/client", "tenet/client"}
	if got := strings.Fields(string(out)); !slices.Equal(got, want) {
		t.Errorf("the client depends on %q, want %q", got, want)
	}
}
