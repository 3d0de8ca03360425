package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// imageArches are the architectures of the image.
var imageArches = []string{"amd64", "arm64"}

// labels are the annotations that registries and tools show.
// Source: OCI image specification 1.1, annotations.md.
func (r *release) labels() map[string]string {
	return map[string]string{
		"org.opencontainers.image.title":       "fpstack",
		"org.opencontainers.image.description": summary,
		"org.opencontainers.image.version":     r.version,
		"org.opencontainers.image.revision":    r.commit,
		"org.opencontainers.image.created":     r.date.Format(time.RFC3339),
		"org.opencontainers.image.licenses":    "Apache-2.0",
		"org.opencontainers.image.source":      homepage,
	}
}

// image writes an OCI image layout of the architectures that were built, as one tar: an index with an image for
// each, named fpstack:VERSION. It is left out if none of them was built.
func (r *release) image() error {
	var index v1.ImageIndex = mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	found := false
	for _, arch := range imageArches {
		if !slices.Contains(r.arches, arch) {
			continue
		}
		found = true
		image, err := r.imageOf(arch)
		if err != nil {
			return fmt.Errorf("make the image for %s: %w", arch, err)
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: image,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: "linux", Architecture: arch}}})
	}
	if !found {
		return nil
	}
	annotated, ok := mutate.Annotations(index, r.labels()).(v1.ImageIndex)
	if !ok {
		return fmt.Errorf("annotate the index: it is a %T", index)
	}
	dir := filepath.Join(r.work, "image")
	p, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := map[string]string{"org.opencontainers.image.ref.name": "fpstack:" + r.version}
	if err := p.AppendIndex(annotated, layout.WithAnnotations(name)); err != nil {
		return err
	}
	return r.tarFolder(dir, fmt.Sprintf("fpstack-%s-oci.tar", r.version))
}

// imageOf is the image for arch: one layer with the program, the licences and a folder for temporary files.
func (r *release) imageOf(arch string) (v1.Image, error) {
	program, err := os.ReadFile(r.program(arch))
	if err != nil {
		return nil, err
	}
	licenses, err := r.read("cmd/licenses.txt")
	if err != nil {
		return nil, err
	}
	data, err := writeTar([]file{{"usr/bin/fpstack", 0o755, program}, {"tmp/", 0o1777, nil},
		{"usr/share/licenses/fpstack/LICENSES.txt", 0o644, licenses}}, r.date)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(data)), nil
	}, tarball.WithMediaType(types.OCILayer), tarball.WithCompressionLevel(9))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	image, err := mutate.Append(base, mutate.Addendum{Layer: layer,
		History: v1.History{Created: v1.Time{Time: r.date}, CreatedBy: "fpstack " + r.version}})
	if err != nil {
		return nil, err
	}
	return mutate.ConfigFile(image, r.config(arch, image))
}

// config says how the image runs: as root of its namespace, as only root's capabilities survive the start of a
// program; which capabilities those are is said when it is run.
func (r *release) config(arch string, image v1.Image) *v1.ConfigFile {
	old, err := image.ConfigFile()
	if err != nil {
		return nil // mutate.ConfigFile refuses it
	}
	config := old.DeepCopy()
	config.OS, config.Architecture, config.Created = "linux", arch, v1.Time{Time: r.date}
	config.Config = v1.Config{Entrypoint: []string{"/usr/bin/fpstack"}, Cmd: []string{"--help"}, WorkingDir: "/tmp",
		Env: []string{"PATH=/usr/bin"}, Labels: r.labels()}
	return config
}

// tarFolder writes the files of dir as the tar name of the release.
func (r *release) tarFolder(dir, name string) error {
	var files []file
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(dir, path)
		files = append(files, file{filepath.ToSlash(relative), 0o644, data})
		return err
	})
	if err != nil {
		return err
	}
	data, err := writeTar(files, r.date)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.out, name), data, 0o644)
}
