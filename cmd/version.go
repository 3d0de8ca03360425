package cmd

import (
	_ "embed"
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
)

// What scripts/build found in git or was told, by -X of the linker. Empty in a program that `go build` made.
var (
	release    string // the tag, v1.2.3; empty or devel where there is none
	commit     string // all hex digits, +dirty behind them where files were changed
	commitDate string // RFC 3339, UTC
)

// licenses is what scripts/licenses writes: the texts of the licences of all that is linked.
//
//go:embed licenses.txt
var licenses string

// versionCommand prints what this program was built from.
func (a *app) versionCommand() *cobra.Command {
	withLicenses := false
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Long: `Print the version, the commit with its date, the Go that built it, and which
programs are covered. The first line has a fixed form:

  fpstack VERSION OS/ARCHITECTURE GO`,
		Args:        noArgs,
		Annotations: exitStatus("0", "it was printed"),
		RunE: func(c *cobra.Command, _ []string) error {
			text := versionText()
			if withLicenses {
				text = licenses
			}
			_, err := fmt.Fprint(c.OutOrStdout(), text)
			return err
		},
	}
	c.Flags().BoolVar(&withLicenses, "licenses", false, "print the licences of the code in this program")
	return c
}

// build is what a program was built from; what is not known is empty.
type build struct {
	version      string
	commit, date string
}

// thisBuild is that of this program.
func thisBuild() build {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		info = &debug.BuildInfo{}
	}
	return buildOf(build{release, commit, commitDate}, info)
}

// buildOf adds to what the linker was told what Go itself wrote down: `go install …@v1.2.3` knows the version, `go
// build` in a checkout the revision.
func buildOf(told build, info *debug.BuildInfo) build {
	b := told
	settings := map[string]string{}
	for _, s := range info.Settings {
		settings[s.Key] = s.Value
	}
	if b.commit == "" {
		b.commit, b.date = settings["vcs.revision"], settings["vcs.time"]
		if b.commit != "" && settings["vcs.modified"] == "true" {
			b.commit += dirty
		}
	}
	if v := info.Main.Version; b.version == "" && v != "(devel)" {
		b.version = v
	}
	if b.version == "" || b.version == devel {
		b.version = devel
		if revision, changed := strings.CutSuffix(b.commit, dirty); revision != "" {
			b.version += "-" + revision[:min(12, len(revision))]
			if changed {
				b.version += dirty
			}
		}
	}
	return b
}

const (
	devel = "devel"
	dirty = "+dirty"
)

// version is the tag that was built, or devel with the commit.
func version() string { return thisBuild().version }

// versionText is what `fpstack version` and `fpstack --version` print.
func versionText() string {
	b := thisBuild()
	text := fmt.Sprintf("fpstack %s %s/%s %s\n", b.version, runtime.GOOS, runtime.GOARCH, runtime.Version())
	if b.commit != "" {
		text += "commit " + b.commit
		if b.date != "" {
			text += " of " + b.date
		}
		text += "\n"
	}
	return text + "covers " + covered(runtime.GOARCH) + "\n"
}

// covered says which programs the fpstack of an architecture shows stacks of: the architectures of the table in
// docs/dev/porting.md, the runtimes of vm.Kinds.
func covered(arch string) string {
	switch arch {
	case "amd64":
		return `native programs of amd64 and 386
       JavaScript (Node.js 16 to 26), Python (CPython 3.8 to 3.15), .NET 8 to 10, Java 8 to 28 (HotSpot),
       WebAssembly (wasmtime), Go's goroutines, tasks of tokio,
       coroutines of C++20;
       perf maps and jitdumps`
	case "386":
		return "native programs of 386"
	case "arm64":
		return "native programs of arm64, Python (CPython 3.8 to 3.15), Go's goroutines"
	}
	return "no stacks of " + arch + " yet: threads and what they wait for, and files of other machines"
}
