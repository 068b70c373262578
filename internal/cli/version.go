package cli

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// Version is set by the linker; empty, the version is that of the build information.
var Version = ""

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

type versionCommand struct{}

func (versionCommand) Run(s *session) error {
	_, err := fmt.Fprintf(s.out, "tenet %s (%s, %s/%s)\n", version(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}
