package dump_test

import (
	"bytes"
	"io/fs"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// mapReader is a runtime that reads a file for profilers, and a word, when it looks for its code.
type mapReader struct {
	image module.Image
	heard []string
}

const profilerFile = "/tmp/perf-7.map"

func (r *mapReader) String() string                               { return "mapReader" }
func (r *mapReader) Region(mem.Addr) (reg unwind.Region, ok bool) { return reg, false }

func (r *mapReader) Scan(*module.Set) (bool, error) {
	f, err := r.image.Path(profilerFile)
	if err != nil {
		return false, err
	}
	r.heard = append(r.heard, string(f.Data))
	var b [4]byte
	if _, err := r.image.Memory.ReadMem(b[:], stack); err != nil {
		return false, err
	}
	r.heard = append(r.heard, string(b[:]))
	if _, err := r.image.Path("/program"); err == nil {
		r.heard = append(r.heard, "program")
	}
	return true, nil
}

// TestSaverKeepsWhatRuntimesRead: memory and files that were read before and after the stop are read again from the
// file; programs are not in it.
func TestSaverKeepsWhatRuntimesRead(t *testing.T) {
	var reader *mapReader
	opt := options()
	opt.Runtimes = vm.NewTable([]vm.Kind{{Name: "map", Whole: func(i module.Image) vm.Whole {
		reader = &mapReader{image: i}
		return reader
	}}}, nil)
	content := []byte("1 2 first")
	image := module.Image{Memory: mem.NewOverlay(nil, mem.Range{Start: stack, Data: []byte("word")}),
		Path: func(path string) (*module.File, error) {
			switch path {
			case profilerFile:
				return &module.File{Data: content, Path: path}, nil
			case "/program":
				return &module.File{Data: []byte("\x7fELF…"), Path: path}, nil
			}
			return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
		}}
	var out bytes.Buffer
	saver := dump.NewSaver(&out)
	first, last := batch(1, []int{8}, 7), batch(2, nil, 8)
	w := dump.New(first.Maps, saver.Image(image), opt)
	defer w.Close()
	content = []byte("1 2 first, 3 4 second")
	for _, b := range []*snapshot.Snapshot{first, last} {
		w.Batch(b)
		saver.Batch(w, b)
	}
	if err := saver.Finish(); err != nil || saver.Saved() != 2 {
		t.Fatalf("%d batches saved, %v", saver.Saved(), err)
	}
	live := reader.heard
	if len(live) != 6 || !strings.Contains(live[3], "second") {
		t.Fatalf("read live: %q", live)
	}
	r := dump.NewReplayer(&out, func(*snapshot.File) (*module.File, error) { return nil, errNoFile }, opt)
	d, err := r.Next()
	if err != nil || show(d) != "7:1 8:1 in 2" {
		t.Fatalf("replay: %v, %v", d, err)
	}
	// The file has what was in it last: what is added to such files does not take away from what was there.
	want := []string{live[3], "word", live[3], "word"}
	if got := reader.heard; strings.Join(got, ";") != strings.Join(want, ";") {
		t.Errorf("read from the saved file: %q, want %q", got, want)
	}
}
