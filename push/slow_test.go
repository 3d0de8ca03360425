package push

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/wire"
)

// machineful is an interval of so many processes, each a series of its own.
func machineful(processes int) (all []Recorded) {
	for i := range processes {
		r := recorded(drawn(20, 10))
		r.Attributes = append(r.Attributes, otlp.Attribute{Key: "container.id", Value: fmt.Sprint(i)})
		all = append(all, r)
	}
	return all
}

// TestFarStore: a store that takes 200 ms for each request gets what 100 processes did in 15 seconds within less than
// those, by each way: one request after the other would take 20.
func TestFarStore(t *testing.T) {
	for _, scheme := range []string{"otlp+http", "otlp+grpc", "pyroscope", "parca"} {
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			s := newServer(t, false, func(int, http.ResponseWriter) { time.Sleep(200 * time.Millisecond) })
			o := opened(t, s.settings(t, scheme))
			ctx, cancel := context.WithTimeout(t.Context(), 18*time.Second)
			defer cancel()
			go o.Run(ctx)
			now := time.Now()
			o.Put(machineful(100), now.Add(-15*time.Second), now)
			for ctx.Err() == nil && o.Balance().Waiting > 0 {
				time.Sleep(10 * time.Millisecond)
			}
			if b := o.Balance(); b.Sent != 200 || b.Lost() != 0 {
				t.Errorf("after %v: %v", time.Since(now).Round(time.Millisecond), b)
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			t.Logf("%d requests in %v", len(s.bodies), time.Since(now).Round(time.Millisecond))
			if strings.HasPrefix(scheme, "otlp") && len(s.bodies) > 4 {
				t.Errorf("%d requests of small profiles", len(s.bodies))
			}
		})
	}
}

// TestOrder: however long a store takes for each request, and however often it fails, what it gets of a series comes in
// its order, and different ones at the same time.
func TestOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		under, most := 0, 0
		took := map[uint32][]int64{}
		send := func(ctx context.Context, r *Request) error {
			mu.Lock()
			under++
			most = max(most, under)
			mu.Unlock()
			time.Sleep(rand.N(time.Second))
			mu.Lock()
			defer mu.Unlock()
			under--
			if rand.IntN(10) == 0 {
				return &Refusal{Why: "busy", Again: true}
			}
			for _, series := range r.Series {
				took[series] = append(took[series], r.Made.UnixNano())
			}
			return nil
		}
		spool, _, _, err := OpenSpool(nil, collector, roomy)
		if err != nil {
			t.Fatal(err)
		}
		p := NewPump(send, underWay, spool, &Accounts{}, 0)
		ctx, cancel := context.WithCancel(t.Context())
		go p.Run(ctx)
		const intervals, processes = 20, 20
		for range intervals {
			var all []*Request
			for i := range processes {
				r := request("x", 0)
				r.Made, r.Series = time.Now(), []uint32{uint32(i), uint32(i+1) % processes}
				all = append(all, r)
			}
			p.Put(all...)
			time.Sleep(15 * time.Second)
		}
		time.Sleep(time.Hour)
		cancel()
		synctest.Wait()
		for series, made := range took {
			if !slices.IsSorted(made) || len(made) != 2*intervals {
				t.Errorf("series %d: %d profiles, in their order: %v", series, len(made), slices.IsSorted(made))
			}
		}
		if b := p.Balance(); b.Sent != 2*intervals*processes || most != underWay {
			t.Errorf("%v, at most %d requests at a time", b, most)
		}
	})
}

// TestOneIsRefused: a profile that a collector does not take is dropped alone, not with those of the other processes of
// its request; one that does not know who we are is asked once.
func TestOneIsRefused(t *testing.T) {
	refuse := http.StatusBadRequest
	took := map[string]int{}
	var s *server
	s = newServer(t, false, func(n int, w http.ResponseWriter) {
		s.mu.Lock()
		defer s.mu.Unlock()
		plain := unzip(t, s.bodies[n-1])
		names := map[string]bool{}
		for _, resource := range wire.All(plain, 1) {
			for _, a := range wire.All(wire.All(resource, 1)[0], 1) {
				if string(wire.All(a, 1)[0]) == "container.id" {
					names[string(field(wire.All(a, 2)[0], 1).Bytes)] = true
				}
			}
		}
		if names["33"] || refuse != http.StatusBadRequest {
			w.WriteHeader(refuse)
			return
		}
		for name := range names {
			took[name]++
		}
	})
	o := opened(t, s.settings(t, "otlp+http"))
	now := time.Now()
	o.Put(machineful(100), now.Add(-15*time.Second), now)
	if !o.Flush(t.Context()) {
		t.Error(o.Trouble())
	}
	if b := o.Balance(); b.Sent != 198 || b.Dropped[InPart] != 2 || b.Lost() != 0 || len(took) != 99 {
		t.Errorf("%v: %d processes came", b, len(took))
	}
	for name, times := range took {
		if times != 1 {
			t.Errorf("process %s came %d times", name, times)
		}
	}
	before := len(s.bodies)
	refuse = http.StatusUnauthorized
	o.Put(machineful(100), now, now.Add(15*time.Second))
	o.Flush(t.Context())
	if b := o.Balance(); b.Dropped[Refused] != 200 || len(s.bodies) != before+1 {
		t.Errorf("%v after %d more requests", b, len(s.bodies)-before)
	}
}
