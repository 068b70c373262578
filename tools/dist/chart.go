package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

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
		files[i].name = "tenet/" + f.name
	}
	for name, from := range map[string]string{"install.sh": "scripts/ci/install.sh", "tenet.gitlab-ci.yml": "deploy/gitlab/tenet.gitlab-ci.yml"} {
		text, err := os.ReadFile(filepath.Join(r.root, from))
		if err != nil {
			return err
		}
		if err := r.write(name, func(w io.Writer) error { _, err := w.Write(text); return err }); err != nil {
			return err
		}
	}
	return r.writeTarGz("tenet-chart-"+r.version+".tgz", files)
}
