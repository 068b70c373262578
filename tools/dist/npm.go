package main

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

// node gives the names of systems and machines in Node.js.
var node = map[string]string{"windows": "win32", "amd64": "x64", "linux": "linux", "darwin": "darwin", "arm64": "arm64"}

// manifest is a package.json.
type manifest struct {
	Name                 string            `json:"name"`
	Version              string            `json:"version"`
	Description          string            `json:"description"`
	License              string            `json:"license"`
	Bin                  map[string]string `json:"bin,omitempty"`
	OS                   []string          `json:"os,omitempty"`
	CPU                  []string          `json:"cpu,omitempty"`
	Files                []string          `json:"files"`
	Engines              map[string]string `json:"engines,omitempty"`
	PreferUnplugged      bool              `json:"preferUnplugged,omitempty"` // the program cannot be run from within a zip file
	OptionalDependencies map[string]string `json:"optionalDependencies,omitempty"`
}

// npm makes a package for each platform that holds the program, and one that depends on them all, of which npm installs the one that fits.
func (r *release) npm() error {
	texts, err := r.readDocs()
	if err != nil {
		return err
	}
	page, err := os.ReadFile(r.page())
	if err != nil {
		return err
	}
	fits := map[string]string{}
	for _, p := range platforms {
		fits[npmName(p)] = r.version
	}
	main := manifest{
		Name: packageName, Version: r.version, Description: summary, License: "Apache-2.0", Bin: map[string]string{"tenet": "bin/tenet.js"},
		Files: []string{"bin"}, Engines: map[string]string{"node": ">=18"}, OptionalDependencies: fits,
	}
	if err := r.npmPackage(main, file{name: "bin/tenet.js", mode: executable, content: launcher}, file{name: "README.md", mode: plain, content: texts["README.md"]},
		file{name: "LICENSE", mode: plain, content: texts["LICENSE"]}); err != nil {
		return err
	}
	for _, b := range r.built {
		program, err := os.ReadFile(b.path)
		if err != nil {
			return err
		}
		m := manifest{
			Name: npmName(b.platform), Version: r.version, Description: "The program of " + packageName + " for " + b.String(), License: "Apache-2.0",
			OS: []string{node[b.os]}, CPU: []string{node[b.arch]}, Files: []string{"bin"}, PreferUnplugged: true,
		}
		if err := r.npmPackage(m, file{name: "bin/" + b.program(), mode: executable, content: program}, file{name: "bin/" + pageName, mode: plain, content: page},
			file{name: "LICENSE", mode: plain, content: texts["LICENSE"]}); err != nil {
			return err
		}
	}
	return nil
}

// npmName is the name of the package with the program of a platform.
func npmName(p platform) string {
	return fmt.Sprintf("%s-%s-%s", packageName, node[p.os], node[p.arch])
}

func (r *release) npmPackage(m manifest, files ...file) error {
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return err
	}
	files = append(files, file{name: "package.json", mode: plain, content: append(text, '\n')})
	for i := range files {
		files[i].name = "package/" + files[i].name
	}
	return r.writeTarGz(strings.Join([]string{m.Name, r.version}, "-")+".tgz", files)
}
