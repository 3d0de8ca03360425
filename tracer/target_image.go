//go:build linux

package tracer

import (
	"errors"
	"io/fs"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
)

// Image is the process as walking and naming see it: its memory as it is now, and the files in its view. It is used no
// longer than until Close.
func (p *Process) Image() module.Image {
	i := module.Image{Memory: p, Live: p.live, Search: p.search}
	i.Mapping = func(m *maps.Mapping) (*module.File, error) {
		f, path, err := p.openMapping(m)
		if err != nil {
			return nil, err
		}
		return &module.File{Data: f.data, Path: path, Close: f.release, Forget: f.forget}, nil
	}
	i.Path = func(path string) (*module.File, error) {
		f, err := p.openPath(path)
		switch {
		case errors.Is(err, ErrNoProcess) || errors.Is(err, ErrExec):
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		case err != nil:
			return nil, err
		}
		return &module.File{Data: f.data, Path: path, Close: f.release, Forget: f.forget, Beside: i.Path}, nil
	}
	i.Look = i.Path
	return i
}
