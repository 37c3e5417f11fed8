package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
)

// version is set by a release build: -ldflags "-X main.version=1.2.3".
var version string

type versionCmd struct{}

func (*versionCmd) Run(c console) error {
	_, err := fmt.Fprintf(c.out, "reeve %s (%s, %s/%s)\n", versionText(), runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return err
}

// versionText is the release's version, else what the Go toolchain knows of the
// module and its commit.
func versionText() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	text := info.Main.Version
	if text == "" || text == "(devel)" {
		text = "dev"
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" && text == "dev" && len(s.Value) >= 12 {
			text += "-" + s.Value[:12]
		}
	}
	return text
}
