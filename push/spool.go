package push

import (
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"strconv"
	"strings"
	"time"
)

// Spool keeps requests until a store takes them, in a folder or in memory: the oldest are dropped where they are too
// many or too old. What the folder does not take, as its disk is full, is kept in memory. One goroutine
// uses it at a time, but for store; one process uses the folder.
type Spool struct {
	folder   *os.Root // nil: all is kept in memory
	limits   Limits
	entries  []*entry // oldest first
	bytes    int64    // of entries, and of files that cannot be removed
	inMem    int64    // of bytes, those in memory alone
	profiles int      // in entries
	last     int64    // the number in the name that was given last
}

// Limits bound what is kept.
type Limits struct {
	Bytes int64
	Age   time.Duration
}

// MaxInMemory bounds what is kept in memory alone.
const MaxInMemory = 16 << 20

// entry is one request that is kept.
type entry struct {
	name     string
	size     int64 // on the disk
	profiles int
	made     time.Time
	series   []uint32
	held     *Request // of one in memory alone
	head     []byte   // of a file that is not written yet
	strange  bool     // it is not to be sent by us, and takes room
	synced   bool     // its file survives a crash

	lent  bool // it is being sent, and is not dropped meanwhile
	tries int
	due   time.Time // when it may be tried again, while others are taken
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

// reserve makes room for r, and drops what is too much then. Where there is no room for r it is among what was dropped,
// and the entry nil.
func (s *Spool) reserve(r *Request) (*entry, []Dropped) {
	head, err := json.Marshal(spooled{spoolFormat, r.Path, r.ContentType, r.Gzip, r.Profiles, r.Series, r.Made,
		len(r.Body), crc32.ChecksumIEEE(r.Body)})
	if err != nil {
		return nil, []Dropped{{r.Profiles, NotEncoded, err}}
	}
	size := blocks(len(head) + 1 + len(r.Body))
	if size > s.limits.Bytes || len(r.Body) > maxRequest || len(head) > maxHead {
		return nil, []Dropped{{Profiles: r.Profiles, Why: TooLarge}}
	}
	dropped := s.makeRoom(size)
	if s.bytes+size > s.limits.Bytes { // those that are being sent take the room
		return nil, append(dropped, Dropped{Profiles: r.Profiles, Why: Full})
	}
	e := &entry{name: s.freeName(r.Made), size: size, profiles: r.Profiles, made: r.Made, series: r.Series,
		head: head}
	if s.folder == nil {
		e.held = r
	}
	return e, dropped
}

// keep adds e, which store has written or failed to write, with what is dropped then.
func (s *Spool) keep(e *entry, r *Request, failed error) []Dropped {
	e.head = nil
	if failed != nil {
		if s.inMem+e.size > MaxInMemory {
			return []Dropped{{r.Profiles, Unwritten, failed}}
		}
		e.held = r
	}
	s.add(e)
	return nil
}

func (s *Spool) add(e *entry) {
	s.entries = append(s.entries, e)
	s.bytes += e.size
	s.profiles += e.sendable()
	if e.held != nil {
		s.inMem += e.size
	}
}

// sendable is how many profiles of e wait to be sent.
func (e *entry) sendable() int {
	if e.strange {
		return 0
	}
	return e.profiles
}

// nameDigits is how many digits a name has, so that names sort as times do.
const nameDigits = 20

// freeName names what was made at a time, behind all that was there: a clock that is set back changes no order.
func (s *Spool) freeName(made time.Time) string {
	s.last = max(made.UnixNano(), 0, s.last+1)
	return fmt.Sprintf("%0*d%s", nameDigits, s.last, spoolEnding)
}

// numberIn is the number in a name.
func numberIn(name string) (int64, error) {
	digits, ok := strings.CutSuffix(name, spoolEnding)
	if !ok || len(digits) != nameDigits {
		return 0, errNoRequest
	}
	return strconv.ParseInt(digits, 10, 64)
}

// makeRoom drops the oldest until so many bytes fit, but not those that are lent.
func (s *Spool) makeRoom(size int64) (dropped []Dropped) {
	for i := 0; i < len(s.entries) && s.bytes+size > s.limits.Bytes; {
		if s.entries[i].lent {
			i++
			continue
		}
		dropped = append(dropped, s.lose(i, Full)...)
	}
	return dropped
}

// Expire drops what is too old at a time, but not what is lent.
func (s *Spool) Expire(now time.Time) (dropped []Dropped) {
	for i := 0; i < len(s.entries); {
		if e := s.entries[i]; e.lent || now.Sub(e.made) <= s.limits.Age {
			i++
			continue
		}
		dropped = append(dropped, s.lose(i, TooOld)...)
	}
	return dropped
}

// lose removes an entry, and returns what is dropped by that.
func (s *Spool) lose(i int, why Reason) (dropped []Dropped) {
	if n := s.entries[i].sendable(); n > 0 {
		dropped = []Dropped{{Profiles: n, Why: why}}
	}
	s.forget(i)
	return dropped
}

// forget removes an entry. A file that cannot be removed takes its room still.
func (s *Spool) forget(i int) {
	e := s.entries[i]
	s.profiles -= e.sendable()
	switch {
	case e.held != nil:
		s.inMem -= e.size
		s.bytes -= e.size
	case s.removed(e.name):
		s.bytes -= e.size
	}
	copy(s.entries[1:i+1], s.entries[:i]) // those before it are few
	s.entries[0] = nil
	s.entries = s.entries[1:]
}

func (s *Spool) removed(name string) bool {
	err := s.folder.Remove(name)
	return err == nil || errors.Is(err, fs.ErrNotExist)
}

// Waiting returns how many profiles are kept, in how many bytes of disk or memory.
func (s *Spool) Waiting() (profiles int, size int64) { return s.profiles, s.bytes }
