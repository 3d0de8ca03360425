// Command packaging makes all that a release of fpstack holds from one tree of sources: static programs in tar.gz
// archives, .deb, .rpm and .apk packages, an OCI image, a bill of materials (CycloneDX) and SHA256SUMS. scripts/release
// calls it, twice.
//
// The same sources, version, commit and Go give the same bytes, in any folder and at any time: nothing here asks the
// clock, the host's name or its tools. It is a module of its own, so that what it imports is no dependency of fpstack.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// architectures are those that fpstack is built for, as GOARCH.
var architectures = []string{"amd64", "386", "arm64", "arm", "riscv64", "s390x", "ppc64le", "loong64"}

// release is what all parts of a release share.
type release struct {
	source  string    // the tree of fpstack's sources
	work    string    // for what is made on the way
	out     string    // for what is published
	version string    // v1.2.3, v1.2.3-rc1 or devel
	commit  string    // all hex digits
	date    time.Time // of the commit; every file has it
	arches  []string
	texts   texts
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "packaging: %v\n", err)
		os.Exit(1)
	}
}

// run makes the release that args ask for.
func run(args []string) error {
	r, err := parse(args)
	if err != nil {
		return err
	}
	if r.work, err = os.MkdirTemp("", "fpstack-release-"); err != nil {
		return err
	}
	defer os.RemoveAll(r.work)
	for _, step := range []func() error{r.buildAll, r.readTexts, r.archives, r.packages, r.image, r.billOfMaterials,
		r.sums} {
		if err := step(); err != nil {
			return err
		}
	}
	return nil
}

// versions are those that a release may have: what semver, dpkg, rpm and apk sort alike.
var versions = regexp.MustCompile(`^(v\d+\.\d+\.\d+(-rc\d+)?|devel)$`)

// parse reads the command line.
func parse(args []string) (*release, error) {
	r := &release{}
	flags := flag.NewFlagSet("packaging", flag.ContinueOnError)
	flags.StringVar(&r.source, "source", "", "`folder` of the sources")
	flags.StringVar(&r.out, "out", "", "`folder` for the release, empty or not there")
	flags.StringVar(&r.version, "version", "", "v1.2.3, v1.2.3-rc1 or devel")
	flags.StringVar(&r.commit, "commit", "", "the `commit` of the sources")
	date := flags.String("date", "", "its date, RFC 3339")
	arches := flags.String("arch", strings.Join(architectures, ","), "`architectures`")
	if err := flags.Parse(args); err != nil {
		return nil, err
	}
	if flags.NArg() > 0 || r.source == "" || r.out == "" || r.commit == "" {
		return nil, errors.New("want -source, -out, -version, -commit, -date and nothing else")
	}
	if !versions.MatchString(r.version) {
		return nil, fmt.Errorf("version %q: want v1.2.3, v1.2.3-rc1 or devel", r.version)
	}
	var err error
	if r.date, err = time.Parse(time.RFC3339, *date); err != nil {
		return nil, fmt.Errorf("read the date of the commit: %w", err)
	}
	r.date = r.date.UTC()
	r.arches = strings.Split(*arches, ",")
	for _, arch := range r.arches {
		if !slices.Contains(architectures, arch) {
			return nil, fmt.Errorf("architecture %q: want some of %v", arch, architectures)
		}
	}
	return r, r.prepare()
}

// prepare makes both folders absolute, and the one for the release.
func (r *release) prepare() error {
	for _, dir := range []*string{&r.source, &r.out} {
		abs, err := filepath.Abs(*dir)
		if err != nil {
			return err
		}
		*dir = abs
	}
	if err := os.MkdirAll(r.out, 0o755); err != nil {
		return err
	}
	if old, err := os.ReadDir(r.out); err != nil || len(old) > 0 {
		return fmt.Errorf("use folder %q: it holds %d files already (%v)", r.out, len(old), err)
	}
	return nil
}

// program is the program of arch.
func (r *release) program(arch string) string { return filepath.Join(r.work, "bin", arch, "fpstack") }

// read reads a file of the sources.
func (r *release) read(path string) ([]byte, error) {
	return os.ReadFile(filepath.Join(r.source, path))
}
