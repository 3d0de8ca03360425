package debugfile

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/fpstack/fpstack/maps/module"
)

// ByBuildID returns a file with that build id, lower-case hex, where the object itself is not at
// hand: the debug file or the object that one of the directories holds under the id, else what
// the Fetcher brings. It is nil if there is none. The error names files that were refused, as
// that of [Finder.Debug].
func (f *Finder) ByBuildID(id string) (*module.Module, error) {
	if !isBuildID(id) {
		return nil, nil
	}
	var names []string
	for _, dir := range f.dirs {
		name := path.Join(dir, ".build-id", id[:2], id[2:])
		names = append(names, name+".debug", name)
	}
	nobody := &module.Module{}
	found, err := f.first(nobody, names, sameBuildID(id))
	if found != nil || f.fetcher == nil {
		return found, err
	}
	file, failed := f.fetcher.Fetch(id)
	if errors.Is(failed, fs.ErrNotExist) {
		return nil, err
	}
	if failed == nil {
		found, failed = f.take(nobody, file, sameBuildID(id))
	} else {
		failed = fmt.Errorf("fetch debug file %s: %w", id, failed)
	}
	return found, errors.Join(err, failed)
}

// ObjectFetcher is a [Fetcher] that brings objects, too.
type ObjectFetcher interface {
	// FetchObject is Fetch of the object itself, as it is mapped.
	FetchObject(buildID string) (*module.File, error)
}

// Object opens the object itself with that build id, lower-case hex: as one of the directories holds it under the id,
// else as the Fetcher brings it. It fails with fs.ErrNotExist if nobody has it. Whether its build id is that one is the
// caller's to check, who closes it.
func (f *Finder) Object(id string) (*module.File, error) {
	if !isBuildID(id) {
		return nil, fs.ErrNotExist
	}
	for _, open := range f.views {
		for _, dir := range f.dirs {
			file, err := open(path.Join(dir, ".build-id", id[:2], id[2:]))
			if !missing(err) {
				return file, err
			}
		}
	}
	if fetcher, ok := f.fetcher.(ObjectFetcher); ok {
		return fetcher.FetchObject(id)
	}
	return nil, fs.ErrNotExist
}

// isBuildID reports whether id is one that may be part of a path.
func isBuildID(id string) bool {
	if len(id) < 4 || len(id) > 128 {
		return false
	}
	for _, c := range id {
		if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
			return false
		}
	}
	return true
}
