package push

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"
)

// folder keeps profiles as files, the newest of them within limits. It touches only files that have its form of a name.
type folder struct {
	root   *os.Root
	limits Limits
	now    func() time.Time

	listed time.Time // when the folder was last read
	room   int64     // how many bytes fitted then, less those written since
}

// listEvery is how often the folder is read, if what is written fits: others may write there too, and files grow old.
const listEvery = time.Minute

// The name of a file: when it began, whose it is, and a part of its id.
const (
	fileStart  = "fpstack-"
	fileTime   = "20060102T150405.000Z"
	fileEnding = ".pb.gz"
	fileID     = 16 // hex digits
)

// ownFile reports whether name is one that [fileName] gives, and the time in it.
func ownFile(name string) (at time.Time, ok bool) {
	rest, begins := strings.CutPrefix(name, fileStart)
	rest, ends := strings.CutSuffix(rest, fileEnding)
	if !begins || !ends || len(rest) < len(fileTime)+1+1+fileID || rest[len(rest)-fileID-1] != '-' ||
		strings.Trim(rest[len(rest)-fileID:], "0123456789abcdef") != "" || rest[len(fileTime)] != '-' {
		return time.Time{}, false
	}
	at, err := time.Parse(fileTime, rest[:len(fileTime)])
	return at, err == nil
}

func fileName(r *Recorded) string {
	service := "unknown"
	for _, a := range r.Attributes {
		if a.Key == "service.name" {
			service = plain(a.Value)
		}
	}
	at := time.Unix(0, r.Of.TimeNanos).UTC().Format(fileTime)
	return fmt.Sprintf("%s%s-%s-%x%s", fileStart, at, service, r.IDs[0][:8], fileEnding)
}

// send writes a request as a file; one that is there already is the same, from another try.
func (f *folder) send(_ context.Context, r *Request) error {
	if err := f.makeRoom(int64(len(r.Body))); err != nil {
		return &Refusal{Why: "clear folder: " + err.Error(), Again: true}
	}
	switch err := writeNew(f.root, r.Path, r.Body); {
	case err == nil, errors.Is(err, fs.ErrExist) && f.has(r):
		return nil
	case errors.Is(err, fs.ErrExist):
		return &Refusal{Why: fmt.Sprintf("write to folder: %q is taken", r.Path)}
	default:
		return &Refusal{Why: "write to folder: " + err.Error(), Again: true}
	}
}

// has reports whether r is there, from an earlier try.
func (f *folder) has(r *Request) bool {
	info, err := f.root.Lstat(r.Path)
	return err == nil && info.Mode().IsRegular() && info.Size() == int64(len(r.Body))
}

// abandoned is the age of a file that is still being written at which its writer has ended.
const abandoned = time.Hour

// makeRoom sees to it that so many bytes fit. To read the folder for each of thousands of files takes longer than all
// else.
func (f *folder) makeRoom(size int64) error {
	if f.room -= size; f.room >= 0 && f.now().Sub(f.listed).Abs() < listEvery {
		return nil
	}
	f.room = -1
	return f.rotate(size)
}

// rotate removes what is too old, and the oldest until so many bytes fit.
func (f *folder) rotate(size int64) error {
	dir, err := f.root.Open(".")
	if err != nil {
		return err
	}
	defer dir.Close()
	all, err := dir.ReadDir(-1)
	if err != nil {
		return err
	}
	var names []string // sorted as they are by time
	sizes := map[string]int64{}
	for _, e := range all {
		info, err := e.Info()
		_, own := ownFile(e.Name())
		switch {
		case err != nil || !info.Mode().IsRegular():
		case own:
			names = append(names, e.Name())
			sizes[e.Name()] = info.Size()
			size += info.Size()
		case strings.HasPrefix(e.Name(), unfinished) && f.now().Sub(info.ModTime()) > abandoned:
			f.root.Remove(e.Name())
		}
	}
	slices.Sort(names)
	for _, name := range names {
		at, _ := ownFile(name)
		if f.now().Sub(at) <= f.limits.Age && size <= f.limits.Bytes {
			break
		}
		if err := f.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		size -= sizes[name]
	}
	f.listed, f.room = f.now(), f.limits.Bytes-size
	return nil
}
