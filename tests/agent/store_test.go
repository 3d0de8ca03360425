//go:build linux

package agent

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/push/pyroscope"
	"github.com/fpstack/fpstack/push/wire"
)

// piece is a profile that a store was sent.
type piece struct {
	id, service, kind string
	from, to          int64 // nanoseconds since 1970
	sum               int64
	hash              [sha256.Size]byte
	times             int // how often it came
	taken             bool
	functions         map[string]bool // names of those in it, the first few
}

// answer is what a store does with the n-th request.
type answer func(n int) int

// What a store answers, besides a status: it cuts the connection before or after it has taken what it was sent.
const (
	cutBefore = -1
	cutAfter  = -2
)

func takes(int) int { return http.StatusOK }

// store is a Pyroscope that keeps what it is sent in mind, and fails as it is told to.
type store struct {
	address string
	mu      sync.Mutex
	answer  answer
	n       int
	pieces  map[string]*piece // by id
	odd     []string          // what should not be
	server  *http.Server
	takes   time.Duration // how long an answer takes
}

func newStore(t testing.TB, a answer) *store {
	t.Helper()
	s := &store{answer: a, pieces: map[string]*piece{}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	s.serve(l)
	t.Cleanup(func() { s.away() })
	return s
}

func (s *store) serve(l net.Listener) {
	s.server = &http.Server{Handler: s}
	go s.server.Serve(l)
}

// away ends the server: connections are refused.
func (s *store) away() { s.server.Close() }

// back begins again where it was.
func (s *store) back(t testing.TB) {
	t.Helper()
	l, err := net.Listen("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	s.serve(l)
}

// set changes what it answers from now on.
func (s *store) set(a answer) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.answer, s.n = a, 0
}

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil || r.URL.Path != pyroscope.Path {
		return // a client that was killed in the middle
	}
	time.Sleep(s.takes)
	s.mu.Lock()
	defer s.mu.Unlock()
	status := s.answer(s.n)
	s.n++
	if err := s.take(body, status == http.StatusOK || status == cutAfter); err != nil {
		s.odd = append(s.odd, err.Error())
	}
	if status < 0 {
		panic(http.ErrAbortHandler)
	}
	if status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	w.WriteHeader(status)
}

// take keeps a PushRequest in mind: series=1{labels=1{name=1, value=2}, samples=2{raw_profile=1, ID=2}}.
func (s *store) take(message []byte, taken bool) error {
	return each(message, func(f wire.Field) error {
		p, err := readPiece(f.Bytes)
		if err != nil {
			return err
		}
		known := s.pieces[p.id]
		if known == nil {
			known = p
			s.pieces[p.id] = p
		} else if known.hash != p.hash {
			return fmt.Errorf("profile %s came again with something else in it", p.id)
		}
		known.times++
		known.taken = known.taken || taken
		return nil
	})
}

func readPiece(series []byte) (*piece, error) {
	p := &piece{}
	labels := map[string]string{}
	err := each(series, func(f wire.Field) error {
		var parts [3][]byte
		if err := each(f.Bytes, func(g wire.Field) error { parts[g.ID%3] = g.Bytes; return nil }); err != nil {
			return err
		}
		if f.ID == 1 {
			labels[string(parts[1])] = string(parts[2])
			return nil
		}
		p.id, p.hash = string(parts[2]), sha256.Sum256(parts[1])
		profile, err := pprof.Parse(bytes.NewReader(parts[1]))
		if err != nil {
			return err
		}
		p.from, p.to = profile.TimeNanos, profile.TimeNanos+profile.DurationNanos
		for _, sample := range profile.Sample {
			p.sum += sample.Value[0]
		}
		p.functions = map[string]bool{}
		for _, f := range profile.Function[:min(len(profile.Function), 8)] {
			p.functions[f.Name] = true
		}
		return profile.CheckValid()
	})
	p.service, p.kind = labels["service_name"], labels["__name__"]
	return p, err
}

func each(message []byte, do func(wire.Field) error) error {
	for len(message) > 0 {
		f, rest, err := wire.Next(message)
		if err == nil {
			err = do(f)
		}
		if err != nil {
			return err
		}
		message = rest
	}
	return nil
}

// longest is how long an interval of a second may be.
const longest = 3 * time.Second

// tally is what a store has of one service.
type tally struct {
	wall    []*piece // in the order of their times
	sum     time.Duration
	covered time.Duration
	again   int // came more than once, by the same id
	untaken int // came, and were not taken
}

// count sums up what came of one service.
func (s *store) count(t testing.TB, service string) (y tally) {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, odd := range s.odd {
		t.Error(odd)
	}
	for _, p := range s.pieces {
		if p.service != service {
			continue
		}
		if p.times > 1 {
			y.again++
		}
		if !p.taken {
			y.untaken++
		}
		if p.kind == "wall" {
			y.wall = append(y.wall, p)
			y.sum += time.Duration(p.sum)
			y.covered += time.Duration(p.to - p.from)
		}
	}
	slices.SortFunc(y.wall, func(a, b *piece) int { return cmp.Compare(a.from, b.from) })
	return y
}

// checkOnce fails if a time is in two profiles of a service that is one process.
func (y *tally) checkOnce(t testing.TB) {
	t.Helper()
	for i, p := range y.wall {
		if p.to-p.from < 0 || p.to-p.from > int64(longest) {
			t.Errorf("%s: an interval of %v", p.service, time.Duration(p.to-p.from))
		}
		// Wall clocks are slewed.
		if i > 0 && p.from < y.wall[i-1].to-int64(10*time.Millisecond) {
			t.Errorf("%s: from %d to %d is in two profiles, %s and %s", p.service, p.from, y.wall[i-1].to,
				y.wall[i-1].id, p.id)
		}
	}
}
