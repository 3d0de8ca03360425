//go:build linux

package main

import (
	"io"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// store is a Pyroscope that takes everything from those who know its secret.
type store struct {
	secret         string // "" asks for none
	taken, refused atomic.Int64
	mu             sync.Mutex
	busy           bool        // answers that it is, and when to come again
	asked          []time.Time // when requests came, with a monotonic clock
	server         *http.Server
}

// retryAfter is when a busy store wants to be asked again.
const retryAfter = 5 * time.Second

func (s *store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body) // what is sent is tested elsewhere
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked = append(s.asked, time.Now())
	switch {
	case s.secret != "" && r.Header.Get("Authorization") != "Bearer "+s.secret:
		s.refused.Add(1)
		w.WriteHeader(http.StatusUnauthorized)
	case s.busy:
		w.Header().Set("Retry-After", "5")
		w.WriteHeader(http.StatusServiceUnavailable)
	default:
		s.taken.Add(1)
		w.Header().Set("Content-Type", "application/proto")
	}
}

// setBusy says whether requests are answered so from now on, and forgets when they came.
func (s *store) setBusy(busy bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.busy, s.asked = busy, nil
}

// times says when requests came.
func (s *store) times() []time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]time.Time(nil), s.asked...)
}

// storePort is where a store of the checks is.
const storePort = "127.0.0.1:4040"

// listen begins to take requests.
func (s *store) listen() error {
	l, err := net.Listen("tcp", storePort)
	if err != nil {
		return err
	}
	s.server = &http.Server{Handler: s}
	go func() { _ = s.server.Serve(l) }() // ends by close
	return nil
}

func (s *store) close() { _ = s.server.Close() }
