package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version and Releases are set by the linker. Without Version, the version is that of the build information; Releases is the address of all
// releases, which is empty in a program that is not one.
var Version, Releases = "", ""

func version() string {
	if Version != "" {
		return Version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" && len(setting.Value) >= 12 {
			return "dev-" + setting.Value[:12]
		}
	}
	if v := info.Main.Version; v != "" && v != "(devel)" {
		return v
	}
	return "dev"
}

type versionCommand struct{ output }

// Run prints the version.
func (k *versionCommand) Run(s *session) error {
	v := programVersion{version(), runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	return show(s, k.output, v, nil, func(s *session, v programVersion) error {
		_, err := fmt.Fprintf(s.out, "tenet %s (%s, %s)\n", v.Version, v.Go, v.Platform)
		return err
	})
}

// programVersion is the version as JSON.
type programVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}
