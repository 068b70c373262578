// Command unpack prints the files of a container image from an OCI layout as a tar stream, and its configuration on stderr:
//
//	unpack LAYOUT ARCHITECTURE | tar -x -C FOLDER
//
// Digests and sizes of all blobs must be right.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
)

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: unpack LAYOUT ARCHITECTURE")
		os.Exit(2)
	}
	if err := unpack(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "unpack:", err)
		os.Exit(1)
	}
}

func unpack(dir, architecture string) error {
	image, err := find(dir, architecture)
	if err != nil {
		return err
	}
	if err := whole(image); err != nil {
		return err
	}
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(config.Config, "", " ")
	if err != nil {
		return err
	}
	files := mutate.Extract(image)
	if _, err := io.Copy(os.Stdout, files); err != nil {
		_ = files.Close() // the first error counts
		return err
	}
	fmt.Fprintf(os.Stderr, "%s\n", text)
	return files.Close()
}

// whole checks the digests of layers, as stored and as unpacked.
func whole(image v1.Image) error {
	config, err := image.ConfigFile()
	if err != nil {
		return err
	}
	layers, err := image.Layers()
	if err != nil {
		return err
	}
	for i, l := range layers {
		digest, err := l.Digest()
		if err != nil {
			return err
		}
		if err := sums(l.Compressed, digest); err != nil {
			return err
		}
		if err := sums(l.Uncompressed, config.RootFS.DiffIDs[i]); err != nil {
			return err
		}
	}
	return nil
}

// sums compares the digest of a stream.
func sums(open func() (io.ReadCloser, error), want v1.Hash) error {
	stream, err := open()
	if err != nil {
		return err
	}
	got, _, err := v1.SHA256(stream)
	if err := errors.Join(err, stream.Close()); err != nil {
		return err
	}
	if got != want {
		return fmt.Errorf("a layer has the digest %s, not %s", got, want)
	}
	return nil
}

// find returns the image of a layout for Linux on a machine.
func find(dir, architecture string) (v1.Image, error) {
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		return nil, err
	}
	manifest, err := outer.IndexManifest()
	if err != nil {
		return nil, err
	}
	for _, d := range manifest.Manifests {
		index, err := outer.ImageIndex(d.Digest)
		if err != nil {
			return nil, err
		}
		images, err := index.IndexManifest()
		if err != nil {
			return nil, err
		}
		for _, m := range images.Manifests {
			if m.Platform != nil && m.Platform.OS == "linux" && m.Platform.Architecture == architecture {
				return index.Image(m.Digest)
			}
		}
	}
	return nil, fmt.Errorf("%s has no image for linux/%s", dir, architecture)
}
