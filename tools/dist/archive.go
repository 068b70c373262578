package main

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/flate"
	"compress/gzip"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is a file in an archive.
type file struct {
	name    string
	mode    os.FileMode
	content []byte
	uid     int // and group
}

const executable, plain os.FileMode = 0o755, 0o644

// sorted returns files by their names, so that equal files make equal archives.
func sorted(files []file) []file {
	slices.SortFunc(files, func(a, b file) int { return strings.Compare(a.name, b.name) })
	return files
}

// archives packs the programs with their documents.
func (r *release) archives() error {
	texts, err := r.readDocs()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(r.page())
	if err != nil {
		return err
	}
	for _, b := range r.built {
		name := fmt.Sprintf("tenet-%s-%s-%s", r.version, b.os, b.arch)
		content, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		files := []file{{name: name + "/" + b.program(), mode: executable, content: content}, {name: name + "/" + pageName, mode: plain, content: page}}
		for doc, text := range texts {
			files = append(files, file{name: name + "/" + doc, mode: plain, content: text})
		}
		if b.os == "windows" {
			err = r.writeZip(name+".zip", sorted(files))
		} else {
			err = r.writeTarGz(name+".tar.gz", files)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// write creates a finished file.
func (r *release) write(name string, fill func(w io.Writer) error) error {
	f, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	if err := fill(f); err != nil {
		_ = f.Close() // the first error counts
		return fmt.Errorf("%s: %w", name, err)
	}
	return f.Close()
}

func (r *release) writeTarGz(name string, files []file) error {
	return r.write(name, func(w io.Writer) error {
		z := gzip.NewWriter(w)
		if err := writeTar(z, r.time, files); err != nil {
			return err
		}
		return z.Close()
	})
}

// writeTar writes files, and before each the folders that it is in. A name that ends with a slash is a folder with its own mode.
func writeTar(w io.Writer, at time.Time, files []file) error {
	t := tar.NewWriter(w)
	made := map[string]bool{".": true}
	var folder func(name string, mode os.FileMode, uid int) error
	folder = func(name string, mode os.FileMode, uid int) error {
		if made[name] {
			return nil
		}
		made[name] = true
		if err := folder(path.Dir(name), executable, 0); err != nil {
			return err
		}
		return t.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: int64(mode), ModTime: at, Uid: uid, Gid: uid, Format: tar.FormatPAX})
	}
	for _, f := range sorted(files) {
		if dir, isFolder := strings.CutSuffix(f.name, "/"); isFolder {
			if err := folder(dir, f.mode, f.uid); err != nil {
				return err
			}
			continue
		}
		if err := folder(path.Dir(f.name), executable, 0); err != nil {
			return err
		}
		header := &tar.Header{Typeflag: tar.TypeReg, Name: f.name, Mode: int64(f.mode), Size: int64(len(f.content)), ModTime: at, Uid: f.uid, Gid: f.uid, Format: tar.FormatPAX}
		if err := t.WriteHeader(header); err != nil {
			return err
		}
		if _, err := t.Write(f.content); err != nil {
			return err
		}
	}
	return t.Close()
}

func (r *release) writeZip(name string, files []file) error {
	return r.write(name, func(w io.Writer) error {
		z := zip.NewWriter(w)
		z.RegisterCompressor(zip.Deflate, func(w io.Writer) (io.WriteCloser, error) { return flate.NewWriter(w, flate.DefaultCompression) })
		for _, f := range files {
			header := &zip.FileHeader{Name: f.name, Method: zip.Deflate, Modified: r.time}
			header.SetMode(f.mode)
			to, err := z.CreateHeader(header)
			if err != nil {
				return err
			}
			if _, err := io.Copy(to, bytes.NewReader(f.content)); err != nil {
				return err
			}
		}
		return z.Close()
	})
}
