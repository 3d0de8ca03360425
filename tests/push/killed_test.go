//go:build linux

package push

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/wire"
)

// helper is the process that is killed: it puts one profile after the other, and sends them meanwhile. Each has a value
// of its own. It writes "made VALUE ID" before a profile is put and "put VALUE" when that is done. Mode "flush" only
// sends what is there.
func helper(mode string) int {
	err := run(mode == "flush")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

func run(flush bool) error {
	folder, err := outfile.OpenFolder(os.Getenv("PUSH_SPOOL"))
	if err != nil {
		return err
	}
	if err := folder.Lock(); err != nil {
		return err
	}
	target, err := push.ParseTarget(os.Getenv("PUSH_STORE"))
	if err != nil {
		return err
	}
	out, odd, err := push.Open(push.Settings{Target: target, Spool: folder.Root,
		Limits: push.Limits{Bytes: 64 << 20, Age: time.Hour}})
	if err != nil || len(odd) > 0 {
		return fmt.Errorf("open: %w, odd %v", err, odd)
	}
	if flush {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		gone := out.Persist(ctx)
		fmt.Println("balance", gone, out.Balance().Lost(), out.Balance())
		return nil
	}
	go out.Run(context.Background())
	for n := 1; ; n++ {
		value := int64(os.Getpid())<<20 + int64(n)
		r := one(value)
		fmt.Printf("made %d %x\n", value, r.IDs[1]) // that of wall
		out.Put([]push.Recorded{r}, time.Now().Add(-time.Second), time.Now())
		fmt.Printf("put %d\n", value)
		time.Sleep(time.Millisecond)
	}
}

// one is what a process did, with a value of its own.
func one(value int64) push.Recorded {
	f := &pprof.Function{ID: 1, Name: "work"}
	l := &pprof.Location{ID: 1, Line: []pprof.Line{{Function: f}}}
	wall := &pprof.ValueType{Type: "wall", Unit: "nanoseconds"}
	return push.Recorded{Attributes: []otlp.Attribute{{Key: "service.name", Value: "x"}}, IDs: push.NewIDs(),
		Of: &pprof.Profile{SampleType: []*pprof.ValueType{wall}, PeriodType: wall, Period: 1,
			Function: []*pprof.Function{f}, Location: []*pprof.Location{l},
			Sample: []*pprof.Sample{{Location: []*pprof.Location{l}, Value: []int64{value}}}}}
}

// got is what a store took: the ids of each value.
type got struct {
	mu   sync.Mutex
	ids  map[string]map[int64]bool
	calm atomic.Bool // takes everything
}

// serve is a Pyroscope that takes some, takes some and breaks off before it says so, and refuses some for now.
func (g *got) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the sender was killed
	}
	chance := rand.IntN(10)
	if g.calm.Load() {
		chance = 9
	}
	if chance < 2 {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	g.mu.Lock()
	for id, value := range series(body) {
		if g.ids[id] == nil {
			g.ids[id] = map[int64]bool{}
		}
		g.ids[id][value] = true
	}
	g.mu.Unlock()
	if chance < 4 {
		panic(http.ErrAbortHandler)
	}
}

// series reads a PushRequest: the value of each id.
func series(body []byte) map[string]int64 {
	found := map[string]int64{}
	each(body, 1, func(series []byte) {
		each(series, 2, func(sample []byte) {
			var id string
			var value int64
			each(sample, 2, func(b []byte) { id = string(b) })
			each(sample, 1, func(b []byte) {
				if p, err := pprof.Parse(bytes.NewReader(b)); err == nil {
					value = p.Sample[0].Value[0]
				}
			})
			found[id] = value
		})
	})
	return found
}

// each calls f with each field of a message that has a number.
func each(message []byte, number int, f func([]byte)) {
	for len(message) > 0 {
		field, rest, err := wire.Next(message)
		if err != nil {
			return
		}
		if field.ID == number {
			f(field.Bytes)
		}
		message = rest
	}
}

// kills is how often a process is killed; FPSTACK_SOAK=1 asks for more.
func kills() int {
	if os.Getenv("FPSTACK_SOAK") == "1" {
		return 200
	}
	return 40
}

// TestKilled: a process is killed at random, and another goes on with its spool, again and again. In the end the store
// has all that was put, each under one id alone, and the accounts of the last add up.
func TestKilled(t *testing.T) {
	g := &got{ids: map[string]map[int64]bool{}}
	s := httptest.NewServer(http.HandlerFunc(g.serve))
	defer s.Close()
	spool := filepath.Join(t.TempDir(), "spool")
	env := append(os.Environ(), "PUSH_SPOOL="+spool, "PUSH_STORE=pyroscope"+strings.TrimPrefix(s.URL, "http"))
	made, put := map[int64]string{}, map[int64]bool{}
	for range kills() {
		text := kill(t, append(env, "PUSH_HELPER=put"))
		for line := range strings.Lines(text) {
			words := strings.Fields(line)
			if !strings.HasSuffix(line, "\n") || len(words) < 2 { // it was killed in the middle of a line
				continue
			}
			value, err := strconv.ParseInt(words[1], 10, 64)
			if err != nil {
				t.Fatalf("the helper wrote %q", line)
			}
			switch words[0] {
			case "made":
				made[value] = words[2]
			case "put":
				put[value] = true
			}
		}
	}
	g.calm.Store(true)
	last := exec.Command(os.Args[0])
	last.Env = append(env, "PUSH_HELPER=flush")
	out, err := last.CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "balance true 0 ") {
		t.Fatalf("the last one: %v: %s", err, out)
	}
	had := map[int64]string{}
	for id, values := range g.ids {
		for value := range values {
			if other, ok := had[value]; ok || len(values) > 1 {
				t.Errorf("%d was sent as %s and as %s, which has %v", value, other, id, maps.Clone(values))
			}
			had[value] = id
			if made[value] != id {
				t.Errorf("%d was sent as %s, and made as %q", value, id, made[value])
			}
		}
	}
	for value := range put {
		if had[value] == "" {
			t.Errorf("%d was put and not sent", value)
		}
	}
	if len(put) < kills() {
		t.Errorf("%d profiles were put in %d runs: this tries nothing", len(put), kills())
	}
	if files, err := os.ReadDir(spool); err != nil || len(files) > 0 {
		t.Errorf("files %v, %v", files, err)
	}
	t.Logf("%d put, %d made, %d sent, in %d runs; %s", len(put), len(made), len(had), kills(), out)
}

// kill runs the helper for some milliseconds after it began to put, kills it, and returns what it wrote.
func kill(t *testing.T, env []string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env, cmd.Stderr = env, os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	out := bufio.NewReader(pipe)
	first, err := out.ReadString('\n')
	if err != nil {
		t.Fatalf("the helper wrote nothing: %v", err)
	}
	time.AfterFunc(time.Duration(rand.IntN(15_000))*time.Microsecond, func() { cmd.Process.Kill() })
	rest, err := io.ReadAll(out)
	if err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	return first + string(rest)
}
