package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// packages makes packages for Debian, Red Hat and what descends from them, with the service for systemd.
func (r *release) packages() error {
	afterInstall := filepath.Join(r.work, "after-install")
	// What systemd knows is refreshed where systemd runs; the service is started by the administrator.
	script := `#!/bin/sh
set -e
if command -v systemd-sysusers >/dev/null; then systemd-sysusers tenet.conf; fi
if [ -d /run/systemd/system ]; then systemctl daemon-reload; fi
`
	if err := os.WriteFile(afterInstall, []byte(script), 0o600); err != nil {
		return err
	}
	manuals, err := r.manualFiles()
	if err != nil {
		return err
	}
	for _, b := range r.on("linux") {
		info := &nfpm.Info{
			Name: "tenet", Arch: b.arch, Platform: "linux", Version: r.version, Release: "1", MTime: r.time,
			Section: "devel", Priority: "optional", Maintainer: "The Tenet authors", Vendor: "The Tenet authors", License: "Apache-2.0",
			Description: "Rule governance and evaluation\n Tenet stores rules and answers, with evidence, whether a change, a payment or an action keeps them.",
			Overridables: nfpm.Overridables{
				Contents: append(files.Contents{
					r.content(b.path, "/usr/bin/tenet", "", executable),
					r.content("deploy/systemd/tenet.service", "/usr/lib/systemd/system/tenet.service", "", plain),
					r.content("deploy/systemd/tenet.sysusers", "/usr/lib/sysusers.d/tenet.conf", "", plain),
					r.content("deploy/systemd/tenet.yaml", "/etc/tenet/tenet.yaml", files.TypeConfigNoReplace, plain),
					r.content(r.page(), "/usr/share/tenet/"+pageName, "", plain),
					r.content("LICENSE", "/usr/share/doc/tenet/LICENSE", "", plain),
					r.content("README.md", "/usr/share/doc/tenet/README.md", "", plain),
				}, manuals...),
				Scripts: nfpm.Scripts{PostInstall: afterInstall},
				RPM:     nfpm.RPM{BuildHost: "localhost", Summary: "Rule governance and evaluation", Group: "Unspecified", Packager: "The Tenet authors"},
			},
		}
		for _, format := range []string{"deb", "rpm"} {
			packager, err := nfpm.Get(format)
			if err != nil {
				return err
			}
			made := nfpm.WithDefaults(info)
			if err := nfpm.PrepareForPackager(made, format); err != nil {
				return err
			}
			name := fmt.Sprintf("tenet-%s-linux-%s.%s", r.version, b.arch, format)
			if err := r.write(name, func(w io.Writer) error { return packager.Package(made, w) }); err != nil {
				return err
			}
		}
	}
	return nil
}

// content is a file of a package. A relative source is one of the repository.
func (r *release) content(source, to, kind string, mode os.FileMode) *files.Content {
	if !filepath.IsAbs(source) {
		source = filepath.Join(r.root, source)
	}
	return &files.Content{
		Source: source, Destination: to, Type: kind, FileInfo: &files.ContentFileInfo{Owner: "root", Group: "root", Mode: mode, MTime: r.time},
	}
}
