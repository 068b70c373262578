package main

import (
	"encoding/binary"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"tenet/internal/store"
)

// vectors reads the vectors of the texts and of the questions.
func (c *collection) vectors(folder string) (docs, questions [][]float32, err error) {
	if docs, err = readVectors(filepath.Join(folder, c.name, "docs.f32"), len(c.rules)); err != nil {
		return nil, nil, err
	}
	questions, err = readVectors(filepath.Join(folder, c.name, "queries.f32"), len(c.queries))
	return docs, questions, err
}

// readVectors reads n vectors of equal length, and fills shorter ones up with zeros, which changes no cosine.
func readVectors(path string, n int) ([][]float32, error) {
	data, err := os.ReadFile(path) //nolint:gosec // the user's own file
	if err != nil {
		return nil, err
	}
	width := len(data) / 4 / max(n, 1)
	if width*n*4 != len(data) || width == 0 || width > store.Dimensions {
		return nil, fmt.Errorf("%s has %d bytes; it should have %d vectors of at most %d numbers", path, len(data), n, store.Dimensions)
	}
	list := make([][]float32, n)
	for i := range list {
		list[i] = make([]float32, store.Dimensions)
		for d := range width {
			list[i][d] = math.Float32frombits(binary.LittleEndian.Uint32(data[4*(i*width+d):]))
		}
	}
	return list, nil
}
