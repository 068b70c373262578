package main

import (
	"bytes"
	"encoding/pem"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/google/go-containerregistry/pkg/compression"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
	"github.com/klauspost/compress/zstd"
	"golang.org/x/crypto/x509roots/fallback/bundle"
)

// nobody is the user and the group of the program in the image.
const nobody = 65532

// maxImage bounds the compressed layers of one platform, in bytes.
const maxImage = 28_000_000

// image writes the container image of all Linux platforms as an OCI layout in a tar file.
func (r *release) image() error {
	list := r.on("linux")
	if len(list) == 0 {
		return nil
	}
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range list {
		image, err := r.imageOf(b)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image, Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.os, Architecture: b.arch}}})
	}
	dir := filepath.Join(r.work, "image")
	path, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	if err := path.AppendIndex(index, layout.WithAnnotations(map[string]string{
		"org.opencontainers.image.ref.name": r.version, "io.containerd.image.name": "docker.io/library/tenet:" + r.version,
	})); err != nil {
		return err
	}
	files, err := filesBelow(dir)
	if err != nil {
		return err
	}
	return r.write("tenet-"+r.version+"-image.tar", func(w io.Writer) error { return writeTar(w, r.time, files) })
}

// filesBelow reads all files of a folder.
func filesBelow(dir string) ([]file, error) {
	var files []file
	err := fs.WalkDir(os.DirFS(dir), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, name))
		files = append(files, file{name: name, mode: plain, content: content})
		return err
	})
	return files, err
}

func (r *release) imageOf(b built) (v1.Image, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	texts, err := r.readDocs()
	if err != nil {
		return nil, err
	}
	// What seldom changes comes first, so that its layer is kept when the program is replaced.
	base := []file{
		{name: "etc/passwd", mode: plain, content: fmt.Appendf(nil, "root:x:0:0:root:/:/sbin/nologin\ntenet:x:%d:%d:tenet:/data:/sbin/nologin\n", nobody, nobody)},
		{name: "etc/group", mode: plain, content: fmt.Appendf(nil, "root:x:0:\ntenet:x:%d:\n", nobody)},
		{name: "etc/ssl/certs/ca-certificates.crt", mode: plain, content: authorities()},
		{name: "data/", mode: 0o750, uid: nobody},
		{name: "tmp/", mode: os.FileMode(0o1777)},
	}
	upper := []file{
		{name: "usr/bin/tenet", mode: executable, content: program},
		{name: "usr/share/doc/tenet/LICENSE", mode: plain, content: texts["LICENSE"]},
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	var size int64
	for _, files := range [][]file{base, upper} {
		layer, err := r.layer(files)
		if err != nil {
			return nil, err
		}
		n, err := layer.Size()
		if err != nil {
			return nil, err
		}
		size += n
		if image, err = mutate.Append(image, mutate.Addendum{
			Layer: layer, MediaType: types.OCILayerZStd, History: v1.History{Created: v1.Time{Time: r.time}, CreatedBy: "make dist"},
		}); err != nil {
			return nil, err
		}
	}
	if size > maxImage {
		return nil, fmt.Errorf("the image for %s has %.1f MB compressed; at most %.1f are good", b, float64(size)/1e6, maxImage/1e6)
	}
	config, err := image.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.os, b.arch, v1.Time{Time: r.time}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", nobody, nobody), WorkingDir: "/data", Entrypoint: []string{"/usr/bin/tenet"}, Cmd: []string{"serve"},
		Env:          []string{"PATH=/usr/bin", "HOME=/data", "TENET_DATA=/data", "TENET_LISTEN=0.0.0.0:8080"},
		ExposedPorts: map[string]struct{}{"8080/tcp": {}}, Volumes: map[string]struct{}{"/data": {}}, StopSignal: "SIGTERM",
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "/usr/bin/tenet", "health"}, Interval: 15 * time.Second, Timeout: 5 * time.Second, StartPeriod: 30 * time.Second, Retries: 3},
		Labels: map[string]string{
			"org.opencontainers.image.title": "Tenet", "org.opencontainers.image.version": r.version, "org.opencontainers.image.licenses": "Apache-2.0",
			"org.opencontainers.image.description": "Rule governance and evaluation",
		},
	}
	return mutate.ConfigFile(image, config)
}

// layer compresses files with zstd, which makes an eighth less of a program than gzip; containerd, CRI-O, Podman, and Docker since 23 take it.
func (r *release) layer(files []file) (v1.Layer, error) {
	var packed bytes.Buffer
	// One goroutine and a window of 8 MiB, which each decoder must have: equal files become equal bytes.
	z, err := zstd.NewWriter(&packed, zstd.WithEncoderLevel(zstd.SpeedBestCompression), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(8<<20))
	if err != nil {
		return nil, err
	}
	if err := writeTar(z, r.time, files); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	return tarball.LayerFromOpener(func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(packed.Bytes())), nil },
		tarball.WithCompression(compression.ZStd), tarball.WithMediaType(types.OCILayerZStd))
}

// authorities are the roots that Mozilla trusts for servers, without those that it trusts in part.
func authorities() []byte {
	var text bytes.Buffer
	for root := range bundle.Roots() {
		if root.Constraint != nil {
			continue
		}
		text.Write(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: root.Certificate}))
	}
	return text.Bytes()
}
