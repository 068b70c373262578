package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
	"github.com/sassoftware/go-rpmutils"
)

// sample is a release with a small program for Linux and Windows, which is this test: a Go program, so that its modules can be listed.
func sample(t *testing.T) *release {
	t.Helper()
	self := sampleProgram(t)
	r := &release{root: "../..", out: t.TempDir(), work: t.TempDir(), version: "1.2.0-rc.1", time: time.Unix(1_700_000_000, 0).UTC()}
	if err := os.MkdirAll(r.manualFolder(), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.manualFolder(), "tenet.1"), []byte(".TH TENET 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(r.page(), []byte("<!DOCTYPE html>"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, p := range []platform{{"linux", "amd64"}, {"linux", "arm64"}, {"windows", "amd64"}} {
		r.built = append(r.built, built{p, self})
	}
	return r
}

func sampleProgram(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return self
}

// made are the files of a sample, which take long to compress.
var made map[string][]byte

// once returns the files of a sample.
func once(t *testing.T) map[string][]byte {
	t.Helper()
	if made == nil {
		t.Setenv(keyName, "")
		made = everything(t, sample(t))
	}
	return made
}

// everything makes all files of a release and returns their contents by name.
func everything(t *testing.T, r *release) map[string][]byte {
	t.Helper()
	for _, step := range []func() error{r.archives, r.packages, r.components, r.wheels, r.npm, r.checksums} {
		if err := step(); err != nil {
			t.Fatal(err)
		}
	}
	made := map[string][]byte{}
	entries, err := os.ReadDir(r.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		made[e.Name()] = content
	}
	return made
}

// names returns the names and modes of the files in a compressed archive.
func names(t *testing.T, content []byte) (list []string) {
	t.Helper()
	z, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	for archive := tar.NewReader(z); ; {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return list
		}
		if err != nil {
			t.Fatal(err)
		}
		if h.ModTime.Unix() != 1_700_000_000 || h.Uid != 0 {
			t.Errorf("%s: time %v, owner %d", h.Name, h.ModTime, h.Uid)
		}
		list = append(list, h.FileInfo().Mode().String()+" "+h.Name)
	}
}

// Each file of a release has what installers look for, and two runs give equal files.
func TestFilesOfARelease(t *testing.T) {
	first, second := once(t), everything(t, sample(t))
	for name, content := range first {
		if !bytes.Equal(content, second[name]) {
			t.Errorf("%s differs between two runs", name)
		}
	}
	if got := names(t, first["tenet-1.2.0-rc.1-linux-amd64.tar.gz"]); !slices.Contains(got, "-rwxr-xr-x tenet-1.2.0-rc.1-linux-amd64/tenet") || !slices.Contains(got, "-rw-r--r-- tenet-1.2.0-rc.1-linux-amd64/LICENSE") {
		t.Errorf("the archive holds %v", got)
	}
	if got := names(t, first["tenet-1.2.0-rc.1-linux-amd64.tar.gz"]); !slices.Contains(got, "-rw-r--r-- tenet-1.2.0-rc.1-linux-amd64/tenet-auditor.html") {
		t.Errorf("the archive has no page for auditors: %v", got)
	}
	if got := names(t, first["tenet-rules-linux-arm64-1.2.0-rc.1.tgz"]); !slices.Contains(got, "-rwxr-xr-x package/bin/tenet") || !slices.Contains(got, "-rw-r--r-- package/bin/tenet-auditor.html") {
		t.Errorf("the package for npm holds %v", got)
	}
	if len(first["tenet-1.2.0-rc.1-windows-amd64.zip"]) == 0 || len(first["tenet-rules-win32-x64-1.2.0-rc.1.tgz"]) == 0 {
		t.Error("the files for Windows are missing")
	}
	for name := range first {
		if name != marker && !strings.Contains(string(first[marker]), "  "+name+"\n") {
			t.Errorf("%s has no checksum", name)
		}
	}
	if _, ok := first[marker+".sig"]; ok {
		t.Error("signed without a key")
	}
}

// The files that people download name the releases that they come from.
func TestAddressOfReleases(t *testing.T) {
	r := &release{releases: "https://github.com/Acme/tenet/releases/"}
	const text = "include: https://github.com/OWNER/tenet/releases/download\nrepository: ghcr.io/OWNER/tenet\n"
	if got := string(r.addressed([]byte(text))); got != "include: https://github.com/Acme/tenet/releases/download\nrepository: ghcr.io/acme/tenet\n" {
		t.Error(got)
	}
	r.releases = "https://files.example.com/tenet"
	if got := string(r.addressed([]byte(text))); got != "include: https://files.example.com/tenet/download\nrepository: ghcr.io/OWNER/tenet\n" {
		t.Error(got)
	}
	r.releases = ""
	if got := string(r.addressed([]byte(text))); got != text {
		t.Error(got)
	}
	for _, path := range []string{"../../deploy/gitlab/tenet.gitlab-ci.yml", "../../scripts/ci/install.sh"} {
		file, err := os.ReadFile(path)
		if err != nil || !bytes.Contains(file, []byte(someReleases)) {
			t.Errorf("%s: %v; it does not name the address that is replaced", path, err)
		}
	}
}

// A wheel lists its files with their digests, carries the program as a script and is for one platform.
func TestWheel(t *testing.T) {
	const name = "tenet_rules-1.2.0rc1-py3-none-win_amd64.whl"
	content := once(t)[name]
	archive, err := zip.NewReader(bytes.NewReader(content), int64(len(content)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	texts := map[string]string{}
	for _, f := range archive.File {
		in, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(in)
		if err != nil {
			t.Fatal(err)
		}
		texts[f.Name] = string(text)
		if strings.HasSuffix(f.Name, "/scripts/tenet.exe") && f.Mode()&0o111 == 0 {
			t.Error("the program cannot be run")
		}
	}
	for file, text := range texts {
		sum := sha256.Sum256([]byte(text))
		if line := file + ",sha256=" + base64.RawURLEncoding.EncodeToString(sum[:]); !strings.HasSuffix(file, "/RECORD") && !strings.Contains(texts["tenet_rules-1.2.0rc1.dist-info/RECORD"], line) {
			t.Errorf("RECORD lacks %s", line)
		}
	}
	if !strings.Contains(texts["tenet_rules-1.2.0rc1.dist-info/WHEEL"], "Tag: py3-none-win_amd64\n") || texts["tenet_rules-1.2.0rc1.data/scripts/tenet.exe"] == "" || texts["tenet_rules-1.2.0rc1.data/data/share/tenet/tenet-auditor.html"] == "" {
		t.Errorf("the wheel holds %d files without a tag or a program", len(texts))
	}
}

// The rpm holds the program, the service and settings that an update keeps.
func TestRPM(t *testing.T) {
	content := once(t)["tenet-1.2.0-rc.1-linux-arm64.rpm"]
	rpm, err := rpmutils.ReadRpm(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	if arch, err := rpm.Header.GetString(rpmutils.ARCH); err != nil || arch != "aarch64" {
		t.Errorf("for %s (%v), want aarch64", arch, err)
	}
	files, err := rpm.Header.GetFiles()
	if err != nil {
		t.Fatal(err)
	}
	payload, err := rpm.PayloadReaderExtended()
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile(sampleProgram(t))
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for {
		f, err := payload.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if f.Name() == "/usr/bin/tenet" {
			content, err := io.ReadAll(payload)
			found = err == nil && bytes.Equal(content, self)
		}
	}
	if !found {
		t.Error("what the rpm unpacks is not the program")
	}
	modes := map[string]int{}
	for _, f := range files {
		modes[f.Name()] = f.Mode() & 0o777
	}
	for name, mode := range map[string]int{"/usr/bin/tenet": 0o755, "/usr/lib/systemd/system/tenet.service": 0o644, "/etc/tenet/tenet.yaml": 0o644, "/usr/share/tenet/tenet-auditor.html": 0o644, "/usr/lib/sysusers.d/tenet.conf": 0o644, "/usr/share/man/man1/tenet.1.gz": 0o644} {
		if modes[name] != mode {
			t.Errorf("%s has mode %o, want %o", name, modes[name], mode)
		}
	}
}

// The list of components names the modules that the program is made of.
func TestComponents(t *testing.T) {
	var bom struct {
		BomFormat, SpecVersion string
		Components             []struct{ Purl string }
	}
	if err := json.Unmarshal(once(t)["tenet-1.2.0-rc.1-linux-amd64.cdx.json"], &bom); err != nil {
		t.Fatal(err)
	}
	if bom.BomFormat != "CycloneDX" || !slices.ContainsFunc(bom.Components, func(c struct{ Purl string }) bool {
		return strings.HasPrefix(c.Purl, "pkg:golang/github.com/goreleaser/nfpm/v2@")
	}) {
		t.Errorf("%s with %d components, without nfpm, which this test uses", bom.BomFormat, len(bom.Components))
	}
}

// The image is small, belongs to nobody, and can check the certificates of others.
func TestImage(t *testing.T) {
	r := sample(t)
	image, err := r.imageOf(r.built[0])
	if err != nil {
		t.Fatal(err)
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if config.Config.User != "65532:65532" || config.Architecture != "amd64" || config.Config.Healthcheck == nil {
		t.Errorf("the configuration is %+v", config.Config)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(authorities()) || strings.Count(string(authorities()), "BEGIN CERTIFICATE") < 80 {
		t.Error("the image has too few authorities")
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 2 {
		t.Fatalf("%d layers, %v", len(layers), err)
	}
	for _, l := range layers {
		if kind, err := l.MediaType(); err != nil || kind != types.OCILayerZStd {
			t.Errorf("a layer is %s, %v", kind, err)
		}
	}
	if err := r.image(); err != nil {
		t.Fatal(err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	for i, l := range manifest.Layers {
		blob, err := os.ReadFile(filepath.Join(r.work, "image", "blobs", "sha256", l.Digest.Hex))
		if err != nil {
			t.Fatal(err)
		}
		z, err := zstd.NewReader(bytes.NewReader(blob), zstd.WithDecoderMaxWindow(8<<20))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.New()
		if _, err := io.Copy(sum, z); err != nil || hex.EncodeToString(sum.Sum(nil)) != config.RootFS.DiffIDs[i].Hex {
			t.Errorf("layer %d is not what the configuration says (%v)", i, err)
		}
		z.Close()
	}
}

// The layout has one image for each platform of Linux, and each says which it is for: in the index, where runtimes choose, and in its configuration.
func TestImageForEachPlatform(t *testing.T) {
	r := sample(t)
	if err := r.image(); err != nil {
		t.Fatal(err)
	}
	path, err := layout.FromPath(filepath.Join(r.work, "image"))
	if err != nil {
		t.Fatal(err)
	}
	outer, err := path.ImageIndex()
	if err != nil {
		t.Fatal(err)
	}
	list, err := outer.IndexManifest()
	if err != nil || len(list.Manifests) != 1 || !list.Manifests[0].MediaType.IsIndex() {
		t.Fatalf("the layout begins with %+v, %v; want one index", list, err)
	}
	index, err := outer.ImageIndex(list.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	if list, err = index.IndexManifest(); err != nil {
		t.Fatal(err)
	}
	var platforms []string
	for _, m := range list.Manifests {
		image, err := index.Image(m.Digest)
		if err != nil {
			t.Fatal(err)
		}
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if own := config.OS + "/" + config.Architecture; m.Platform == nil || m.Platform.String() != own {
			t.Errorf("the index says %v of an image for %s", m.Platform, own)
		}
		platforms = append(platforms, m.Platform.String())
	}
	if want := []string{"linux/amd64", "linux/arm64"}; !slices.Equal(platforms, want) {
		t.Errorf("images for %v, want %v", platforms, want)
	}
}

// An image of more than 28 MB is no release.
func TestImageIsSmall(t *testing.T) {
	r := sample(t)
	noise := make([]byte, maxImage)
	_, _ = rand.Read(noise) // it fails never
	path := filepath.Join(t.TempDir(), "tenet")
	if err := os.WriteFile(path, noise, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := r.imageOf(built{platform{"linux", "amd64"}, path}); err == nil || !strings.Contains(err.Error(), "28.0 are good") {
		t.Errorf("a large image: %v", err)
	}
}

// Signatures are those of cosign and openssl, and the same each time; other keys are refused.
func TestSignature(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der}))
	first, public, err := sign(text, []byte("checksums"))
	if err != nil {
		t.Fatal(err)
	}
	second, _, err := sign(text, []byte("checksums"))
	if err != nil || !bytes.Equal(first, second) {
		t.Errorf("two signatures differ (%v)", err)
	}
	raw, err := base64.StdEncoding.DecodeString(string(first))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(public)
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	verifier, ok := parsed.(*ecdsa.PublicKey)
	sum, other := sha256.Sum256([]byte("checksums")), sha256.Sum256([]byte("checksumz"))
	if !ok || !ecdsa.VerifyASN1(verifier, sum[:], raw) || ecdsa.VerifyASN1(verifier, other[:], raw) {
		t.Error("the signature is not that of the text")
	}
	for _, bad := range []string{"x", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"} {
		if _, _, err := sign(bad, nil); err == nil {
			t.Errorf("the key %.30q is taken", bad)
		}
	}
}

func TestVersions(t *testing.T) {
	for version, want := range map[string]string{"1.2.0": "1.2.0", "1.2.0-rc.1": "1.2.0rc1", "1.2.0-beta.2": "1.2.0b2", "1.2.0-alpha.3": "1.2.0a3"} {
		if got := pythonVersion(version); got != want || !versionForm.MatchString(version) {
			t.Errorf("%s: %s, want %s", version, got, want)
		}
	}
	if _, err := choose("linux/amd64,plan9/amd64"); err == nil {
		t.Error("a platform that is none is taken")
	}
}

// A folder that the program has not filled is not emptied.
func TestForeignFoldersStay(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "thesis.txt"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emptied(dir); err == nil {
		t.Error("a folder with files of others was emptied")
	}
	if err := os.WriteFile(filepath.Join(dir, marker), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := emptied(dir); err != nil {
		t.Error(err)
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("%d files are left", len(left))
	}
}

// Commands that run in the folder of the repository write into the folder of the finished files, too, so its path is absolute.
func TestTheFolderOfFilesMayBeRelative(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	for given, want := range map[string]string{"": "/repository/dist", "out": filepath.Join(here, "out"), "/finished": "/finished"} {
		if got, err := outFolder("/repository", given); err != nil || got != filepath.FromSlash(want) {
			t.Errorf("-out %q is %q, %v; want %q", given, got, err, want)
		}
	}
}
