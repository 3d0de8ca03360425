//go:build linux

package agent

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

var passers = flag.Int("passers", 0, "record so many programs one after the other, each another file with another "+
	"debug file: what the agent keeps must not grow")

// passerSource computes and sleeps until it is killed.
const passerSource = `
static long call(long n, const void *a) {
	long r;
	__asm__ volatile("syscall" : "=a"(r) : "a"(n), "D"(a), "S"(0) : "rcx", "r11", "memory");
	return r;
}
__attribute__((noinline)) void passes_by(void) {
	for (volatile int i = 0; i < 3000000; i++)
		;
}
void _start(void) {
	const long pause[2] = {0, 50000000};
	for (;;) {
		passes_by();
		call(35, pause); // nanosleep
	}
}
`

// passerID is the build id that the copies have another one for.
const passerID = "00112233445566778899aabbccddeeff00112233"

// passer is a program whose names are in a file beside it.
type passer struct{ program, debug []byte }

func buildPasser(t *testing.T) *passer {
	t.Helper()
	harness.Need(t, "objcopy", "strip")
	out := harness.Compile(t, "gcc", "passer.c", passerSource, "full", "-g", "-O1", "-static", "-nostdlib",
		"-Wl,--build-id=0x"+passerID)
	script := exec.Command("sh", "-ec", "objcopy --only-keep-debug full passer.debug; strip -o passer full; "+
		"objcopy --add-gnu-debuglink=passer.debug passer")
	script.Dir = filepath.Dir(out)
	if b, err := script.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, b)
	}
	read := func(name string) []byte {
		b, err := os.ReadFile(filepath.Join(script.Dir, name))
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	return &passer{read("passer"), read("passer.debug")}
}

// start starts the n-th copy, with a build id of its own, in dir.
func (p *passer) start(dir string, n int) (*exec.Cmd, error) {
	old, _ := hex.DecodeString(passerID)
	id := bytes.Clone(old)
	binary.BigEndian.PutUint64(id, uint64(n)+1)
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	for name, image := range map[string][]byte{"passer": p.program, "passer.debug": p.debug} {
		if err := os.WriteFile(filepath.Join(dir, name), bytes.ReplaceAll(image, old, id), 0o755); err != nil {
			return nil, err
		}
	}
	c := exec.Command(filepath.Join(dir, "passer"))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	return c, run.Start(c)
}

// TestPassers records programs that come and go, each another file with another build id and a debug file of its own,
// as a machine does in weeks: memory and mappings must not grow, and no descriptor may stay.
//
//	go test ./tests/agent -run Passers -passers 10000 -timeout 1h -v
func TestPassers(t *testing.T) {
	if *passers == 0 {
		t.Skip("takes long: runs with -passers 10000")
	}
	p, store := buildPasser(t), newStore(t, takes)
	a := startAgent(t, store, filepath.Join(folder(t), "spool"), nil, "--name", "passer", "--interval", "2s",
		"--max-overhead", "20%")
	const atOnce, life = 40, 2 * time.Second
	dir := folder(t)
	var beside sync.WaitGroup
	places := make(chan struct{}, atOnce)
	var halves [2][]kept
	begin := time.Now()
	for n := range *passers {
		places <- struct{}{}
		dir := filepath.Join(dir, fmt.Sprint(n))
		c, err := p.start(dir, n) // a file that is being written cannot be started: one after the other
		if err != nil {
			t.Fatal(err)
		}
		beside.Go(func() {
			time.Sleep(life)
			c.Process.Kill()
			c.Wait()
			os.RemoveAll(dir)
			<-places
		})
		if n%100 != 99 || n < *passers/10 {
			continue
		}
		now := keptBy(t, a.cmd.Process.Pid)
		half := 2 * n / *passers
		halves[half] = append(halves[half], now)
		if n%1000 == 999 {
			t.Logf("%d programs, %v: %+v; %s", n+1, time.Since(begin).Round(time.Second), now, store.named())
		}
	}
	beside.Wait()
	// Each that is followed takes some: they are counted when nobody is.
	await(t, "the descriptors of all are closed", func() bool {
		return keptBy(t, a.cmd.Process.Pid).descriptors <= 20
	})
	a.end(t)
	for _, what := range []struct {
		name  string
		of    func(kept) int64
		slack int64
	}{
		{"kB of memory", func(k kept) int64 { return int64(k.kilobytes) }, 8 << 10},
		{"mappings", func(k kept) int64 { return int64(k.mappings) }, 100},
		{"threads", func(k kept) int64 { return int64(k.threads) }, 4},
	} {
		before, after := middle(halves[0], what.of), middle(halves[1], what.of)
		t.Logf("%s: median %d in the first half, %d in the second", what.name, before, after)
		if after > before+before/5+what.slack {
			t.Errorf("%s grow: median %d in the first half, %d in the second", what.name, before, after)
		}
	}
}

// kept is what a process has.
type kept struct {
	kilobytes, descriptors, mappings, threads int
}

func keptBy(t testing.TB, pid int) kept {
	t.Helper()
	u := usageOf(t, pid)
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", pid))
	if err != nil {
		t.Fatal(err)
	}
	return kept{int(u.memory >> 10), u.descriptors, strings.Count(string(b), "\n"), u.threads}
}

// named words how many of the profiles that came have a function with its name.
func (s *store) named() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	all, with := 0, 0
	for _, p := range s.pieces {
		if p.service == "passer" && p.kind == "wall" {
			all++
			if p.functions["_start"] {
				with++
			}
		}
	}
	return fmt.Sprintf("%d profiles, %d with the name", all, with)
}
