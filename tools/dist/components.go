package main

import (
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"strings"

	cdx "github.com/CycloneDX/cyclonedx-go"
)

// components lists, in CycloneDX, the modules that each program is made of, as the program itself says.
func (r *release) components() error {
	for _, b := range r.built {
		info, err := buildinfo.ReadFile(b.path)
		if err != nil {
			return err
		}
		program, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(program)
		bom := cdx.NewBOM()
		bom.SerialNumber = "urn:uuid:" + uuidOf(sum)
		bom.Metadata = &cdx.Metadata{
			Timestamp: r.time.Format("2006-01-02T15:04:05Z"),
			Component: &cdx.Component{
				Type: cdx.ComponentTypeApplication, BOMRef: "tenet", Name: "tenet", Version: r.version,
				Licenses:   &cdx.Licenses{{License: &cdx.License{ID: "Apache-2.0"}}},
				Hashes:     &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(sum[:])}},
				Properties: &[]cdx.Property{{Name: "platform", Value: b.String()}},
			},
		}
		list := []cdx.Component{{
			Type: cdx.ComponentTypeLibrary, BOMRef: "pkg:golang/std@" + info.GoVersion, Name: "std", Version: strings.TrimPrefix(info.GoVersion, "go"),
			PackageURL: "pkg:golang/std@" + strings.TrimPrefix(info.GoVersion, "go"),
		}}
		uses := []string{list[0].BOMRef}
		for _, module := range info.Deps {
			if module.Replace != nil {
				module = module.Replace
			}
			purl := "pkg:golang/" + module.Path + "@" + module.Version
			component := cdx.Component{Type: cdx.ComponentTypeLibrary, BOMRef: purl, Name: module.Path, Version: module.Version, PackageURL: purl}
			// The sum of a module in go.sum is a SHA-256 in base64.
			if digest, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(module.Sum, "h1:")); err == nil && len(digest) == sha256.Size {
				component.Hashes = &[]cdx.Hash{{Algorithm: cdx.HashAlgoSHA256, Value: hex.EncodeToString(digest)}}
			}
			list, uses = append(list, component), append(uses, purl)
		}
		bom.Components = &list
		bom.Dependencies = &[]cdx.Dependency{{Ref: "tenet", Dependencies: &uses}}
		name := fmt.Sprintf("tenet-%s-%s-%s.cdx.json", r.version, b.os, b.arch)
		if err := r.write(name, func(w io.Writer) error {
			return cdx.NewBOMEncoder(w, cdx.BOMFileFormatJSON).SetPretty(true).Encode(bom)
		}); err != nil {
			return err
		}
	}
	return nil
}

// uuidOf makes a UUID (RFC 9562, version 8) of a digest.
func uuidOf(sum [sha256.Size]byte) string {
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}
