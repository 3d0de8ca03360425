package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spool keeps requests in a folder until a store takes them: the oldest are dropped where they are too many or too
// old. One goroutine uses it at a time, and one process uses the folder.
type Spool struct {
	dir     string
	limits  Limits
	entries []entry // oldest first
	bytes   int64
	lent    bool // the oldest is being sent, and is not dropped meanwhile
}

// Limits bound a Spool.
type Limits struct {
	Bytes int64
	Age   time.Duration
}

// entry is one file of the folder.
type entry struct {
	name     string
	size     int64
	profiles int
	made     time.Time
}

// Dropped is what a Spool gave up.
type Dropped struct {
	Profiles int
	Why      Reason
	Err      error // what happened, where there is more to say
}

// Reason is why profiles were dropped: one of a few, so that they can be counted by it.
type Reason string

// The reasons.
const (
	Full       Reason = "the spool is full"
	TooLarge   Reason = "larger than the whole spool"
	TooOld     Reason = "too old"
	Unwritten  Reason = "the spool cannot be written"
	Unread     Reason = "the spool cannot be read"
	Refused    Reason = "refused by the store"
	InPart     Reason = "refused by the store in part"
	NotEncoded Reason = "not encoded"
)

// spoolEnding ends the names of files in a spool; before it is when the request was made, in nanoseconds.
const spoolEnding = ".push"

// OpenSpool opens the spool in a folder, which is made if it is not there, and may hold what another run left. What is
// no request is left alone, and reported.
func OpenSpool(dir string, limits Limits) (s *Spool, odd []error, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, nil, fmt.Errorf("make spool: %w", err)
	}
	s = &Spool{dir: dir, limits: limits}
	files, err := os.ReadDir(dir)
	if err != nil {
		return nil, nil, fmt.Errorf("read spool: %w", err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), unfinished) {
			os.Remove(filepath.Join(dir, f.Name())) // its writer ended: a request is complete or not there
			continue
		}
		e, err := s.read(f)
		if err != nil {
			odd = append(odd, fmt.Errorf("read spool: leave %s alone: %w", filepath.Join(dir, f.Name()), err))
			continue
		}
		s.entries = append(s.entries, *e)
		s.bytes += e.size
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return s, odd, nil
}

// unfinished begins the names of files that are being written.
const unfinished = "unfinished-"

// errNoRequest says that a file of a spool is not of ours.
var errNoRequest = errors.New("it is no request")

// spooled is the first line of a file; behind it is the body.
type spooled struct {
	Path, ContentType string
	Gzip              bool
	Profiles          int
	Made              time.Time
}

// maxHead bounds the first line.
const maxHead = 4096

func (s *Spool) read(f fs.DirEntry) (*entry, error) {
	_, err := strconv.ParseInt(strings.TrimSuffix(f.Name(), spoolEnding), 10, 64)
	if err != nil || !strings.HasSuffix(f.Name(), spoolEnding) || !f.Type().IsRegular() {
		return nil, errNoRequest
	}
	r, size, err := s.load(f.Name())
	if err != nil {
		return nil, err
	}
	return &entry{f.Name(), size, r.Profiles, r.Made}, nil
}

// load reads one request.
func (s *Spool) load(name string) (*Request, int64, error) {
	f, err := os.Open(filepath.Join(s.dir, name))
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, s.limits.Bytes+maxHead+1))
	if err != nil {
		return nil, 0, err
	}
	head, body, ok := bytes.Cut(all, []byte("\n"))
	var h spooled
	if !ok || len(head) > maxHead || json.Unmarshal(head, &h) != nil || h.Profiles < 0 ||
		int64(len(all)) > s.limits.Bytes+maxHead {
		return nil, 0, errNoRequest
	}
	return &Request{Path: h.Path, ContentType: h.ContentType, Gzip: h.Gzip, Body: body, Profiles: h.Profiles,
		Made: h.Made}, int64(len(all)), nil
}

// Put keeps r, whole or not at all, and drops what is too much then. Where r cannot be kept it is what was dropped.
func (s *Spool) Put(r *Request) []Dropped {
	head, err := json.Marshal(spooled{r.Path, r.ContentType, r.Gzip, r.Profiles, r.Made})
	if err != nil {
		return []Dropped{{r.Profiles, NotEncoded, err}}
	}
	whole := slices.Concat(head, []byte("\n"), r.Body)
	if int64(len(whole)) > s.limits.Bytes {
		return []Dropped{{Profiles: r.Profiles, Why: TooLarge}}
	}
	dropped := s.makeRoom(int64(len(whole)))
	if s.bytes+int64(len(whole)) > s.limits.Bytes { // the one that is being sent takes the room
		return append(dropped, Dropped{Profiles: r.Profiles, Why: Full})
	}
	name := s.freeName(r.Made)
	if err := s.write(name, whole); err != nil {
		return append(dropped, Dropped{r.Profiles, Unwritten, err})
	}
	s.entries = append(s.entries, entry{name, int64(len(whole)), r.Profiles, r.Made})
	s.bytes += int64(len(whole))
	return dropped
}

// freeName names what was made at a time, behind all that is there: a clock that is set back changes no order.
func (s *Spool) freeName(made time.Time) string {
	at := made.UnixNano()
	if n := len(s.entries); n > 0 {
		last, _ := strconv.ParseInt(strings.TrimSuffix(s.entries[n-1].name, spoolEnding), 10, 64)
		at = max(at, last+1)
	}
	return fmt.Sprintf("%020d%s", at, spoolEnding)
}

func (s *Spool) write(name string, whole []byte) error {
	f, err := os.CreateTemp(s.dir, unfinished)
	if err != nil {
		return err
	}
	_, err = f.Write(whole)
	if errClose := f.Close(); err == nil {
		err = errClose
	}
	if err == nil {
		err = os.Rename(f.Name(), filepath.Join(s.dir, name))
	}
	if err != nil {
		os.Remove(f.Name())
	}
	return err
}

// makeRoom drops the oldest until so many bytes fit, but not the one that is lent.
func (s *Spool) makeRoom(size int64) (dropped []Dropped) {
	first := 0
	if s.lent {
		first = 1
	}
	for len(s.entries) > first && s.bytes+size > s.limits.Bytes {
		dropped = append(dropped, Dropped{Profiles: s.entries[first].profiles, Why: Full})
		s.forget(first)
	}
	return dropped
}

// Expire drops what is too old at a time.
func (s *Spool) Expire(now time.Time) (dropped []Dropped) {
	for len(s.entries) > 0 && now.Sub(s.entries[0].made) > s.limits.Age {
		dropped = append(dropped, Dropped{Profiles: s.entries[0].profiles, Why: TooOld})
		s.forget(0)
	}
	return dropped
}

// forget removes an entry.
func (s *Spool) forget(i int) {
	os.Remove(filepath.Join(s.dir, s.entries[i].name))
	s.bytes -= s.entries[i].size
	s.entries = slices.Delete(s.entries, i, i+1)
}

// Lend returns the oldest request, nil if there is none; it stays in the spool until it is given back. What cannot be
// read any more is dropped.
func (s *Spool) Lend() (r *Request, dropped []Dropped) {
	for len(s.entries) > 0 {
		r, _, err := s.load(s.entries[0].name)
		if err == nil {
			s.lent = true
			return r, dropped
		}
		dropped = append(dropped, Dropped{s.entries[0].profiles, Unread, err})
		s.forget(0)
	}
	return nil, dropped
}

// GiveBack ends what Lend began. A request that is settled, as a store has it or will never take it, is removed.
func (s *Spool) GiveBack(settled bool) {
	if s.lent && settled {
		s.forget(0)
	}
	s.lent = false
}

// Waiting returns how many profiles are in the spool, in how many bytes.
func (s *Spool) Waiting() (profiles int, size int64) {
	for _, e := range s.entries {
		profiles += e.profiles
	}
	return profiles, s.bytes
}
