package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"os"
	"strings"

	_ "embed"
)

// wheelTags are the names of the platforms in pip: the program is static, so it runs on every libc, and Go needs macOS 12.
var wheelTags = map[string]string{
	"linux/amd64":   "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
	"linux/arm64":   "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
	"darwin/amd64":  "macosx_12_0_x86_64",
	"darwin/arm64":  "macosx_12_0_arm64",
	"windows/amd64": "win_amd64",
	"windows/arm64": "win_arm64",
}

// The Python of the wheels, and the JavaScript of the package for npm.
var (
	//go:embed python/__init__.py
	pythonInit []byte
	//go:embed python/__main__.py
	pythonMain []byte
	//go:embed npm/tenet.js
	launcher []byte
)

// packageName is the name of the wheels, and the first part of those for npm.
const packageName = "tenet-rules"

// summary describes the packages in indexes.
const summary = "Tenet: rule governance and evaluation on the command line and as a server"

// wheels makes a wheel for each platform, whose only code is the program.
func (r *release) wheels() error {
	texts, err := r.readDocs()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(r.page())
	if err != nil {
		return err
	}
	version := pythonVersion(r.version)
	for _, b := range r.built {
		program, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		tag := "py3-none-" + wheelTags[b.String()]
		info := "tenet_rules-" + version + ".dist-info"
		var wheel strings.Builder
		fmt.Fprintf(&wheel, "Wheel-Version: 1.0\nGenerator: tenet\nRoot-Is-Purelib: false\n")
		for _, system := range strings.Split(wheelTags[b.String()], ".") {
			fmt.Fprintf(&wheel, "Tag: py3-none-%s\n", system)
		}
		files := []file{
			{name: "tenet_rules-" + version + ".data/scripts/" + b.program(), mode: executable, content: program},
			{name: "tenet_rules-" + version + ".data/data/share/tenet/" + pageName, mode: plain, content: page},
			{name: "tenet_rules/__init__.py", mode: plain, content: pythonInit},
			{name: "tenet_rules/__main__.py", mode: plain, content: pythonMain},
			{name: info + "/METADATA", mode: plain, content: fmt.Appendf(nil, "Metadata-Version: 2.4\nName: %s\nVersion: %s\nSummary: %s\nLicense-Expression: Apache-2.0\nLicense-File: LICENSE\nRequires-Python: >=3.8\nDescription-Content-Type: text/markdown\n\n%s",
				packageName, version, summary, texts["README.md"])},
			{name: info + "/WHEEL", mode: plain, content: []byte(wheel.String())},
			{name: info + "/licenses/LICENSE", mode: plain, content: texts["LICENSE"]},
		}
		// RECORD comes last, as its format recommends: it names the others.
		files = append(sorted(files), file{name: info + "/RECORD", mode: plain, content: record(files, info)})
		if err := r.writeZip(fmt.Sprintf("tenet_rules-%s-%s.whl", version, tag), files); err != nil {
			return err
		}
	}
	return nil
}

// record lists the files of a wheel with their digests.
func record(files []file, info string) []byte {
	var text bytes.Buffer
	for _, f := range files {
		sum := sha256.Sum256(f.content)
		fmt.Fprintf(&text, "%s,sha256=%s,%d\n", f.name, base64.RawURLEncoding.EncodeToString(sum[:]), len(f.content))
	}
	fmt.Fprintf(&text, "%s/RECORD,,\n", info)
	return text.Bytes()
}

// pythonVersion writes a version as PEP 440 wants it: 1.2.0-rc.1 is 1.2.0rc1.
func pythonVersion(version string) string {
	number, pre, found := strings.Cut(version, "-")
	if !found {
		return version
	}
	for from, to := range map[string]string{"alpha": "a", "beta": "b"} {
		pre = strings.Replace(pre, from, to, 1)
	}
	return number + strings.ReplaceAll(pre, ".", "")
}
