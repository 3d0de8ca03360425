package push

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Spool keeps requests until a store takes them, in a folder or in memory: the oldest are dropped where they are too
// many or too old. What the folder does not take, as its disk is full, is kept in memory. One goroutine uses it at a
// time, and one process uses the folder.
type Spool struct {
	folder  *os.Root // nil: all is kept in memory
	limits  Limits
	entries []entry // oldest first
	bytes   int64
	inMem   int64  // of bytes, those in memory alone
	lent    string // the name of the entry that is being sent and is not dropped meanwhile, "" for none
}

// Limits bound what is kept.
type Limits struct {
	Bytes int64
	Age   time.Duration
}

// maxInMemory bounds what is kept in memory alone.
const maxInMemory = 16 << 20

// entry is one request that is kept.
type entry struct {
	name     string
	size     int64 // on the disk
	profiles int
	made     time.Time
	tries    int
	held     *Request // of one in memory alone
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

// Reasons lists all reasons.
func Reasons() []Reason {
	return []Reason{Full, TooLarge, TooOld, Unwritten, Unread, Refused, InPart, NotEncoded}
}

// spoolEnding ends the names of files in a spool; before it is when the request was made, in nanoseconds.
const spoolEnding = ".push"

// OpenSpool opens the spool in a folder, which may hold what another run left, or one in memory where folder is nil.
// What is no request for t is left alone, and reported.
//
// Precondition: nobody else writes to folder, see outfile.OpenFolder. It stays the caller's.
func OpenSpool(folder *os.Root, t *Target, limits Limits) (s *Spool, odd []error, err error) {
	s = &Spool{folder: folder, limits: limits}
	if folder == nil {
		s.limits.Bytes = min(limits.Bytes, maxInMemory)
		return s, nil, nil
	}
	dir, err := folder.Open(".")
	if err != nil {
		return nil, nil, fmt.Errorf("open spool: %w", err)
	}
	defer dir.Close()
	files, err := dir.ReadDir(-1)
	if err != nil {
		return nil, nil, fmt.Errorf("read spool: %w", err)
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), unfinished) && f.Type().IsRegular() {
			folder.Remove(f.Name()) // its writer ended: a request is complete or not there
			continue
		}
		e, err := s.read(f, t)
		if err != nil {
			odd = append(odd, fmt.Errorf("read spool: leave %q alone: %w", f.Name(), err))
			continue
		}
		s.entries = append(s.entries, *e)
		s.bytes += e.size
	}
	slices.SortFunc(s.entries, func(a, b entry) int { return strings.Compare(a.name, b.name) })
	return s, odd, nil
}

// Errors of files in a spool.
var (
	errNoRequest   = errors.New("it is no request")
	errForAnother  = errors.New("it is for another kind of store")
	errOtherFormat = errors.New("another version of fpstack wrote it")
)

// spooled is the first line of a file; behind it is the body.
type spooled struct {
	Format            int // spoolFormat
	Path, ContentType string
	Gzip              bool
	Profiles          int
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

func (s *Spool) read(f fs.DirEntry, t *Target) (*entry, error) {
	digits, ok := strings.CutSuffix(f.Name(), spoolEnding)
	_, err := strconv.ParseInt(digits, 10, 64)
	if err != nil || !ok || len(digits) != nameDigits || !f.Type().IsRegular() {
		return nil, errNoRequest
	}
	r, size, err := s.load(f.Name())
	if err != nil {
		return nil, err
	}
	path, contentType := t.Form()
	if r.Path != path || r.ContentType != contentType {
		return nil, errForAnother
	}
	return &entry{name: f.Name(), size: size, profiles: r.Profiles, made: r.Made}, nil
}

// load reads one request.
func (s *Spool) load(name string) (*Request, int64, error) {
	f, err := s.folder.Open(name)
	if err != nil {
		return nil, 0, err
	}
	defer f.Close()
	all, err := io.ReadAll(io.LimitReader(f, maxRequest+maxHead+1))
	if err != nil {
		return nil, 0, err
	}
	head, body, ok := bytes.Cut(all, []byte("\n"))
	var h spooled
	switch {
	case !ok || len(head) > maxHead || json.Unmarshal(head, &h) != nil:
		return nil, 0, errNoRequest
	case h.Format != spoolFormat:
		return nil, 0, errOtherFormat
	case h.Profiles < 0 || h.Profiles > maxProfiles || h.Size != len(body) || h.CRC != crc32.ChecksumIEEE(body):
		return nil, 0, errNoRequest
	}
	return &Request{Path: h.Path, ContentType: h.ContentType, Gzip: h.Gzip, Body: body, Profiles: h.Profiles,
		Made: h.Made}, blocks(len(all)), nil
}

// maxProfiles bounds how many profiles a request of a file may claim.
const maxProfiles = 1 << 20

// Put keeps r, whole or not at all, and drops what is too much then. Where r cannot be kept it is what was dropped.
func (s *Spool) Put(r *Request) []Dropped {
	head, err := json.Marshal(spooled{spoolFormat, r.Path, r.ContentType, r.Gzip, r.Profiles, r.Made, len(r.Body),
		crc32.ChecksumIEEE(r.Body)})
	if err != nil {
		return []Dropped{{r.Profiles, NotEncoded, err}}
	}
	size := blocks(len(head) + 1 + len(r.Body))
	if size > s.limits.Bytes || len(r.Body) > maxRequest {
		return []Dropped{{Profiles: r.Profiles, Why: TooLarge}}
	}
	dropped := s.makeRoom(size)
	if s.bytes+size > s.limits.Bytes { // the one that is being sent takes the room
		return append(dropped, Dropped{Profiles: r.Profiles, Why: Full})
	}
	e := entry{name: s.freeName(r.Made), size: size, profiles: r.Profiles, made: r.Made}
	if s.folder == nil {
		e.held = r
	} else if err := writeNew(s.folder, e.name, head, []byte("\n"), r.Body); err != nil {
		if s.inMem+size > maxInMemory {
			return append(dropped, Dropped{r.Profiles, Unwritten, err})
		}
		e.held = r
	}
	s.add(e)
	return dropped
}

func (s *Spool) add(e entry) {
	s.entries = append(s.entries, e)
	s.bytes += e.size
	if e.held != nil {
		s.inMem += e.size
	}
}

// nameDigits is how many digits a name has, so that names sort as times do.
const nameDigits = 20

// freeName names what was made at a time, behind all that is there: a clock that is set back changes no order.
func (s *Spool) freeName(made time.Time) string {
	at := max(made.UnixNano(), 0)
	if n := len(s.entries); n > 0 {
		last, _ := strconv.ParseInt(strings.TrimSuffix(s.entries[n-1].name, spoolEnding), 10, 64)
		at = max(at, last+1)
	}
	return fmt.Sprintf("%0*d%s", nameDigits, at, spoolEnding)
}

// makeRoom drops the oldest until so many bytes fit, but not the one that is lent.
func (s *Spool) makeRoom(size int64) (dropped []Dropped) {
	for i := 0; i < len(s.entries) && s.bytes+size > s.limits.Bytes; {
		if s.entries[i].name == s.lent {
			i++
			continue
		}
		dropped = append(dropped, Dropped{Profiles: s.entries[i].profiles, Why: Full})
		s.forget(i)
	}
	return dropped
}

// Expire drops what is too old at a time, but not what is lent.
func (s *Spool) Expire(now time.Time) (dropped []Dropped) {
	for i := 0; i < len(s.entries); {
		if e := &s.entries[i]; e.name == s.lent || now.Sub(e.made) <= s.limits.Age {
			i++
			continue
		}
		dropped = append(dropped, Dropped{Profiles: s.entries[i].profiles, Why: TooOld})
		s.forget(i)
	}
	return dropped
}

// forget removes an entry.
func (s *Spool) forget(i int) {
	e := &s.entries[i]
	if e.held == nil {
		s.folder.Remove(e.name)
	} else {
		s.inMem -= e.size
	}
	s.bytes -= e.size
	s.entries = slices.Delete(s.entries, i, i+1)
}

// turn is how often one request is tried before another has its turn: one that a store never answers must not hold
// those behind it until it is too old.
const turn = 4

// Lend returns the oldest request, of those that were tried least, and how often this one was tried; nil if there is
// none. It stays in the spool until it is given back. What cannot be read any more is dropped.
func (s *Spool) Lend() (r *Request, tries int, dropped []Dropped) {
	for len(s.entries) > 0 {
		next := 0
		for i := range s.entries {
			if s.entries[i].tries/turn < s.entries[next].tries/turn {
				next = i
			}
		}
		e := &s.entries[next]
		r, err := e.held, error(nil)
		if r == nil {
			r, _, err = s.load(e.name)
		}
		if err == nil {
			s.lent = e.name
			return r, e.tries, dropped
		}
		dropped = append(dropped, Dropped{e.profiles, Unread, err})
		s.forget(next)
	}
	return nil, 0, dropped
}

// GiveBack ends what Lend began. A request that is settled, as a store has it or will never take it, is removed.
func (s *Spool) GiveBack(settled bool) {
	i := slices.IndexFunc(s.entries, func(e entry) bool { return e.name == s.lent })
	s.lent = ""
	switch {
	case i < 0:
	case settled:
		s.forget(i)
	default:
		s.entries[i].tries++
	}
}

// Waiting returns how many profiles are kept, in how many bytes of disk or memory.
func (s *Spool) Waiting() (profiles int, size int64) {
	for _, e := range s.entries {
		profiles += e.profiles
	}
	return profiles, s.bytes
}
