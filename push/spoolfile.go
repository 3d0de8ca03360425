package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"time"
)

// spoolEnding ends the names of files in a spool; before it is when the request was made, in nanoseconds.
const spoolEnding = ".push"

// OpenSpool opens the spool in a folder, which may hold what another run left, or one in memory where folder is nil.
// What is damaged is removed, and is what was dropped. Requests of another version or for another store take room until
// they are too old; what is none has another name, and is left alone. Both are reported.
//
// Precondition: nobody else writes to folder, see outfile.OpenFolder. It stays the caller's.
func OpenSpool(folder *os.Root, t *Target, limits Limits) (s *Spool, dropped []Dropped, odd []error, err error) {
	s = &Spool{folder: folder, limits: limits}
	if folder == nil {
		s.limits.Bytes = min(limits.Bytes, MaxInMemory)
		return s, nil, nil, nil
	}
	dir, err := folder.Open(".")
	if err != nil {
		return nil, nil, nil, fmt.Errorf("open spool: %w", err)
	}
	defer dir.Close()
	files, err := dir.ReadDir(-1)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("read spool: %w", err)
	}
	slices.SortFunc(files, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
	for _, f := range files {
		if strings.HasPrefix(f.Name(), unfinished) && f.Type().IsRegular() {
			folder.Remove(f.Name()) // its writer ended: a request is complete or not there
			continue
		}
		number, err := numberIn(f.Name())
		if err != nil || !f.Type().IsRegular() {
			odd = append(odd, fmt.Errorf("read spool: leave %q alone: %w", f.Name(), errNoRequest))
			continue
		}
		e, err := s.read(f.Name(), number, t)
		s.add(e)
		switch {
		case errors.Is(err, errDamaged):
			err = fmt.Errorf("read spool: remove %q: %w", f.Name(), err)
			dropped = append(dropped, Dropped{e.profiles, Unread, err})
			s.forget(len(s.entries) - 1)
			odd = append(odd, err)
		case err != nil:
			odd = append(odd, fmt.Errorf("read spool: %q is not sent: %w", f.Name(), err))
		}
	}
	return s, dropped, odd, nil
}

// Errors of files in a spool.
var (
	errNoRequest   = errors.New("it is no request")
	errDamaged     = errors.New("it is damaged")
	errForAnother  = errors.New("it is for another kind of store")
	errOtherFormat = errors.New("another version of fpstack wrote it")
)

// spooled is the first line of a file; behind it is the body.
type spooled struct {
	Format            int // spoolFormat
	Path, ContentType string
	Gzip              bool
	Profiles          int
	Series            []uint32 `json:",omitempty"`
	Made              time.Time
	Size              int    // of the body
	CRC               uint32 // of the body, IEEE
}

// spoolFormat counts the forms that a file had.
const spoolFormat = 1

const (
	maxHead    = 4096     // bounds the first line
	maxRequest = 32 << 20 // bounds a request
	block      = 4096     // what the smallest file takes of a disk
)

// blocks is what so many bytes take of a disk.
func blocks(n int) int64 { return (int64(n) + block - 1) / block * block }

// read makes the entry of a file, also with an error, which is then why it is not sent.
func (s *Spool) read(name string, number int64, t *Target) (*entry, error) {
	s.last = max(s.last, number)
	r, size, err := s.load(name)
	path, contentType := t.Form()
	if err == nil && (r.Path != path || r.ContentType != contentType) {
		err = errForAnother
	}
	e := &entry{name: name, size: size, profiles: r.Profiles, made: r.Made, series: r.Series}
	if e.strange = err != nil; e.strange {
		e.made = time.Unix(0, number)
	}
	return e, err
}

// load reads one request, and says what its file takes of the disk. With an error it is what is known of the request.
func (s *Spool) load(name string) (*Request, int64, error) {
	f, err := s.folder.Open(name)
	if err != nil {
		return &Request{}, 0, err
	}
	defer f.Close()
	size := int64(0)
	if info, err := f.Stat(); err == nil {
		size = blocks(int(min(info.Size(), math.MaxInt32)))
	}
	all, err := io.ReadAll(io.LimitReader(f, maxRequest+maxHead+1))
	if err != nil {
		return &Request{}, size, err
	}
	head, body, ok := bytes.Cut(all, []byte("\n"))
	var h spooled
	switch {
	case !ok || len(head) > maxHead || json.Unmarshal(head, &h) != nil:
		return &Request{}, size, errDamaged
	case h.Profiles < 0 || h.Profiles > maxProfiles:
		return &Request{}, size, errDamaged
	}
	r := &Request{Path: h.Path, ContentType: h.ContentType, Gzip: h.Gzip, Body: body, Profiles: h.Profiles,
		Series: h.Series, Made: h.Made}
	switch {
	case h.Format != spoolFormat:
		return r, size, errOtherFormat
	case h.Size != len(body) || h.CRC != crc32.ChecksumIEEE(body):
		return r, size, errDamaged
	}
	return r, size, nil
}

// maxProfiles bounds how many profiles a request of a file may claim.
const maxProfiles = 1 << 20

// store writes r into the folder, where e has room for it. Others may use the Spool meanwhile.
func (s *Spool) store(e *entry, r *Request) error {
	return writeNew(s.folder, e.name, e.head, []byte("\n"), r.Body)
}

// unsynced are the entries whose files may not survive a crash.
func (s *Spool) unsynced() (of []*entry) {
	for _, e := range s.entries {
		if e.held == nil && !e.synced && !e.strange {
			of = append(of, e)
		}
	}
	return of
}
