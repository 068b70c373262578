package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// someReleases is the address of releases in the files of the repository, with OWNER in place of an account. In those of a release, its own address is.
const someReleases = "https://github.com/OWNER/tenet/releases"

// addressed puts the address of the releases into a file, and into the name of the image the account.
func (r *release) addressed(text []byte) []byte {
	if r.releases == "" {
		return text
	}
	text = bytes.ReplaceAll(text, []byte(someReleases), []byte(strings.TrimSuffix(r.releases, "/")))
	if of, ok := strings.CutPrefix(r.releases, "https://github.com/"); ok {
		owner, _, _ := strings.Cut(of, "/")
		text = bytes.ReplaceAll(text, []byte("ghcr.io/OWNER/"), []byte("ghcr.io/"+strings.ToLower(owner)+"/"))
	}
	return text
}

// chart packs the Helm chart, which has the version of the release, and adds what CI downloads.
func (r *release) chart() error {
	files, err := filesBelow(filepath.Join(r.root, "deploy", "helm", "tenet"))
	if err != nil {
		return err
	}
	for i, f := range files {
		if f.name == "Chart.yaml" && !bytes.Contains(f.content, []byte("\nversion: "+r.version+"\n")) {
			return fmt.Errorf("deploy/helm/tenet/Chart.yaml has another version than VERSION, %s", r.version)
		}
		files[i].name, files[i].content = "tenet/"+f.name, r.addressed(f.content)
	}
	for name, from := range map[string]string{"install.sh": "scripts/ci/install.sh", "tenet.gitlab-ci.yml": "deploy/gitlab/tenet.gitlab-ci.yml"} {
		text, err := os.ReadFile(filepath.Join(r.root, from))
		if err != nil {
			return err
		}
		if err := r.write(name, func(w io.Writer) error { _, err := w.Write(r.addressed(text)); return err }); err != nil {
			return err
		}
	}
	return r.writeTarGz("tenet-chart-"+r.version+".tgz", files)
}
