package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// file is one file of an archive.
type file struct {
	name string // slashes, relative
	mode int64
	data []byte
}

// writeTar gives a tar of files and the folders above them, sorted by name, all of root's and as old as date.
// It is of the ustar format, which every tar reads.
func writeTar(files []file, date time.Time) ([]byte, error) {
	all := slices.Clone(files)
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(strings.TrimSuffix(f.name, "/")); dir != "." && !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			all = append(all, file{name: dir + "/", mode: 0o755})
		}
	}
	slices.SortFunc(all, func(a, b file) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range all {
		h := &tar.Header{Name: f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: date, Format: tar.FormatUSTAR,
			Typeflag: tar.TypeReg, Uname: "root", Gname: "root"}
		if strings.HasSuffix(f.name, "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			return nil, fmt.Errorf("write %q: %w", f.name, err)
		}
		if _, err := w.Write(f.data); err != nil {
			return nil, fmt.Errorf("write %q: %w", f.name, err)
		}
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// zip compresses data by gzip, without a name or a time.
func zip(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is a valid one
	_, _ = w.Write(data)                                  // a Buffer takes all
	_ = w.Close()
	return b.Bytes()
}

// copied are files of the sources, by their name in an archive.
var copied = map[string]string{
	"LICENSE": "LICENSE", "LICENSES.txt": "cmd/licenses.txt", "README.md": "README.md", "CHANGELOG.md": "CHANGELOG.md",
	"fpstack-grant": grantScript, "man/fpstack-grant.8": grantPage,
}

const (
	grantScript = "packaging/files/fpstack-grant"
	grantPage   = "packaging/files/fpstack-grant.8"
)

// shared are the files of an archive that are the same for each architecture, without the folder at its top.
func (r *release) shared() ([]file, error) {
	var all []file
	names := map[string]string{}
	for name, from := range copied {
		names[name] = from
	}
	for pattern, folder := range map[string]string{"docs/*.md": "docs", "packaging/systemd/*.service": "systemd",
		"packaging/deploy/*.yaml": "deploy"} {
		found, err := filepath.Glob(filepath.Join(r.source, pattern))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("find %s: %d files (%v)", pattern, len(found), err)
		}
		for _, f := range found {
			names[path.Join(folder, filepath.Base(f))] = path.Join(path.Dir(pattern), filepath.Base(f))
		}
	}
	for name, from := range names {
		data, err := r.read(from)
		if err != nil {
			return nil, err
		}
		mode := int64(0o644)
		if bytes.HasPrefix(data, []byte("#!")) {
			mode = 0o755
		}
		all = append(all, file{name, mode, data})
	}
	for _, p := range r.texts.pages {
		all = append(all, file{path.Join("man", p.name), 0o644, p.text})
	}
	for shell, name := range map[string]string{"bash": "fpstack.bash", "zsh": "_fpstack", "fish": "fpstack.fish"} {
		all = append(all, file{path.Join("completions", name), 0o644, r.texts.completions[shell]})
	}
	return all, nil
}

// archives writes a tar.gz for each architecture.
func (r *release) archives() error {
	shared, err := r.shared()
	if err != nil {
		return err
	}
	for _, arch := range r.arches {
		program, err := os.ReadFile(r.program(arch))
		if err != nil {
			return err
		}
		top := fmt.Sprintf("fpstack-%s-linux-%s", r.version, arch)
		files := []file{{path.Join(top, "fpstack"), 0o755, program}}
		for _, f := range shared {
			files = append(files, file{path.Join(top, f.name), f.mode, f.data})
		}
		data, err := writeTar(files, r.date)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(r.out, top+".tar.gz"), zip(data), 0o644); err != nil {
			return err
		}
	}
	return nil
}
