package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"

	"github.com/goreleaser/nfpm/v2"
	_ "github.com/goreleaser/nfpm/v2/apk" // packagers register themselves
	_ "github.com/goreleaser/nfpm/v2/deb"
	"github.com/goreleaser/nfpm/v2/files"
	_ "github.com/goreleaser/nfpm/v2/rpm"
)

// machines are the names of the architectures in packages: of Debian, of rpm, of apk. That of arm is the one of ARMv7,
// which most such machines are; the program runs on ARMv6 too.
var machines = map[string][3]string{
	"amd64": {"amd64", "x86_64", "x86_64"}, "386": {"i386", "i386", "x86"}, "arm64": {"arm64", "aarch64", "aarch64"},
	"arm": {"armhf", "armv7hl", "armv7"}, "riscv64": {"riscv64", "riscv64", "riscv64"},
	"s390x": {"s390x", "s390x", "s390x"}, "ppc64le": {"ppc64el", "ppc64le", "ppc64le"},
	"loong64": {"loong64", "loongarch64", "loongarch64"},
}

const (
	maintainer  = "fpstack maintainers <fpstack@users.noreply.github.com>"
	homepage    = "https://github.com/fpstack/fpstack"
	summary     = "stacks of every thread of a running process"
	description = `fpstack shows where a running process hangs, crawls or burns CPU, from
outside and without a restart: the stack of every thread, who waits for whom,
a flame graph, or a live table. It needs nothing in the process, neither a
flag nor a library.`
)

// format is a kind of package.
type format struct {
	name    string // as nfpm calls it
	machine int    // index in machines
	zsh     string
}

var formats = []format{
	{"deb", 0, "/usr/share/zsh/vendor-completions"},
	{"rpm", 1, "/usr/share/zsh/site-functions"},
	{"apk", 2, "/usr/share/zsh/site-functions"},
}

// versionFor is the version as a kind of package has it, so that a candidate comes before its release and what has
// no release before all. Sources: deb-version(7), rpm-version(7), apk-package(5).
func (r *release) versionFor(f format) string {
	number, candidate, isCandidate := strings.Cut(strings.TrimPrefix(r.version, "v"), "-")
	day := r.date.Format("20060102")
	switch {
	case r.version == "devel" && f.name == "apk":
		return "0_git" + day
	case r.version == "devel":
		return "0~git" + day + "." + r.commit[:min(12, len(r.commit))]
	case isCandidate && f.name == "apk":
		return number + "_" + candidate
	case isCandidate:
		return number + "~" + candidate
	}
	return number
}

// packages writes the packages of each architecture.
func (r *release) packages() error {
	for _, f := range formats {
		stage := filepath.Join(r.work, f.name)
		contents, err := r.contents(f, stage)
		if err != nil {
			return err
		}
		for _, arch := range r.arches {
			if err := r.pack(f, arch, contents); err != nil {
				return fmt.Errorf("make the %s package for %s: %w", f.name, arch, err)
			}
		}
	}
	return nil
}

// pack writes one package.
func (r *release) pack(f format, arch string, contents files.Contents) error {
	machine := machines[arch][f.machine]
	all := append(files.Contents{content("/usr/bin/fpstack", r.program(arch), 0o755)}, contents...)
	script := func(name string) string { return filepath.Join(r.work, f.name, name) }
	info := nfpm.WithDefaults(&nfpm.Info{
		Name: "fpstack", Arch: arch, Platform: "linux", Version: r.versionFor(f), VersionSchema: "none", Release: "1",
		Section: "devel", Priority: "optional", Maintainer: maintainer, Vendor: "fpstack", Homepage: homepage,
		Description: description, License: "Apache-2.0", MTime: r.date, DisableGlobbing: true,
		Overridables: nfpm.Overridables{
			Contents: all,
			Scripts: nfpm.Scripts{PostInstall: script("postinstall"), PreRemove: script("preremove"),
				PostRemove: script("postremove")},
			Deb: nfpm.Deb{Arch: machine},
			RPM: nfpm.RPM{Arch: machine, BuildHost: "fpstack", Summary: summary, Group: "Development/Debuggers",
				Packager: maintainer},
			APK: nfpm.APK{Arch: machine, Scripts: nfpm.APKScripts{PostUpgrade: script("postinstall")}},
		},
	})
	name := fmt.Sprintf("fpstack_%s-1_%s.deb", info.Version, machine)
	switch f.name {
	case "deb":
		info.Description, info.License = summary+"\n"+description, "" // which has a file of its own
		info.Suggests = []string{"libcap2-bin"}
	case "rpm":
		name = fmt.Sprintf("fpstack-%s-1.%s.rpm", info.Version, machine)
	case "apk":
		// Its index has one line for each field.
		info.Description = summary
		name = fmt.Sprintf("fpstack-%s-r1_%s.apk", info.Version, machine)
	}
	name = strings.ReplaceAll(name, "~", "-") // which a place for downloads may replace by something else
	packager, err := nfpm.Get(f.name)
	if err != nil {
		return err
	}
	if err := nfpm.PrepareForPackager(info, f.name); err != nil {
		return err
	}
	w, err := os.Create(filepath.Join(r.out, name))
	if err != nil {
		return err
	}
	if err := packager.Package(info, w); err != nil {
		w.Close()
		return err
	}
	return w.Close()
}

// kind is what rpm marks a file as, so that it can be listed or left out.
func (f format) kind(path string) string {
	switch {
	case f.name == "rpm" && strings.HasPrefix(path, "/usr/share/licenses/"):
		return files.TypeRPMLicense
	case f.name == "rpm" && strings.HasPrefix(path, "/usr/share/doc/"):
		return files.TypeRPMDoc
	}
	return files.TypeFile
}

// content is one file of a package.
func content(to, from string, mode os.FileMode) *files.Content {
	return &files.Content{Source: from, Destination: to, FileInfo: &files.ContentFileInfo{Mode: mode}}
}

// contents are the files of a package that are the same for each architecture. What has to be made is put into stage.
func (r *release) contents(f format, stage string) (files.Contents, error) {
	if err := os.MkdirAll(stage, 0o755); err != nil {
		return nil, err
	}
	var all files.Contents
	var failed error
	made := func(to string, data []byte) {
		from := filepath.Join(stage, strings.ReplaceAll(strings.TrimPrefix(to, "/"), "/", "!"))
		if err := os.WriteFile(from, data, 0o644); err != nil {
			failed = err
		}
		all = append(all, content(to, from, 0o644))
		all[len(all)-1].Type = f.kind(to)
	}
	read := func(name string) []byte {
		data, err := r.read(name)
		if err != nil {
			failed = err
		}
		return data
	}
	for _, p := range r.texts.pages {
		made("/usr/share/man/man1/"+p.name+".gz", zip(p.text))
	}
	made("/usr/share/man/man8/fpstack-grant.8.gz", zip(read(grantPage)))
	made("/usr/share/bash-completion/completions/fpstack", r.texts.completions["bash"])
	made(f.zsh+"/_fpstack", r.texts.completions["zsh"])
	made("/usr/share/fish/vendor_completions.d/fpstack.fish", r.texts.completions["fish"])
	folder := func(path string) {
		all = append(all, &files.Content{Destination: path, Type: files.TypeDir,
			FileInfo: &files.ContentFileInfo{Mode: 0o755}})
	}
	made("/usr/lib/systemd/system/fpstack-agent.service", read("packaging/systemd/fpstack-agent.service"))
	r.documents(f, made, read, folder)
	all = append(all, content("/usr/sbin/fpstack-grant", filepath.Join(r.source, grantScript), 0o755))
	for _, name := range []string{"postinstall", "preremove", "postremove"} {
		if err := r.stageScript(filepath.Join(stage, name), read("packaging/files/"+name)); err != nil {
			return nil, err
		}
	}
	return all, failed
}

// stageScript puts a script where a packager finds it: that of apk keeps the time of its file.
func (r *release) stageScript(to string, data []byte) error {
	if err := os.WriteFile(to, data, 0o755); err != nil {
		return err
	}
	return os.Chtimes(to, r.date, r.date)
}

// documents adds what goes to /usr/share/doc and its like. rpm removes a folder with the package if it is in it.
func (r *release) documents(f format, made func(string, []byte), read func(string) []byte, folder func(string)) {
	const doc = "/usr/share/doc/fpstack/"
	shared, err := filepath.Glob(filepath.Join(r.source, "docs/*.md"))
	if err == nil {
		for _, name := range shared {
			base := filepath.Base(name)
			made(doc+base+".gz", zip(read(path.Join("docs", base))))
		}
	}
	for _, unit := range []string{"fpstack-dump@.service", "fpstack-record@.service"} {
		made(doc+"examples/"+unit, read("packaging/systemd/"+unit))
	}
	for _, name := range []string{"daemonset.yaml", "compose.yaml"} {
		made(doc+"examples/"+name, read("packaging/deploy/"+name))
	}
	if f.name != "deb" {
		folder(doc)
		folder(doc + "examples/")
		folder("/usr/share/licenses/fpstack/")
		made(doc+"CHANGELOG.md", read("CHANGELOG.md"))
		made("/usr/share/licenses/fpstack/LICENSE", read("LICENSE"))
		made("/usr/share/licenses/fpstack/LICENSES.txt", read("cmd/licenses.txt"))
		return
	}
	made(doc+"changelog.gz", zip(read("CHANGELOG.md")))
	made(doc+"changelog.Debian.gz", zip(r.debianChangelog(f)))
	made(doc+"copyright", read("packaging/files/copyright"))
	made(doc+"third-party.txt.gz", zip(read("cmd/licenses.txt")))
	made("/usr/share/lintian/overrides/fpstack", read("packaging/files/lintian-overrides"))
}

// debianChangelog says what changed in the package, not in the program. Source: deb-changelog(5).
func (r *release) debianChangelog(f format) []byte {
	return fmt.Appendf(nil, "fpstack (%s-1) unstable; urgency=medium\n\n"+
		"  * fpstack %s; what is new in it: changelog.gz.\n\n -- %s  %s\n", r.versionFor(f), r.version, maintainer,
		r.date.Format(time.RFC1123Z))
}
