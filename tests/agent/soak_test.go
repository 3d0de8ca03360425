//go:build linux

package agent

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

var (
	soak   = flag.Duration("soak", 0, "record servers under load for so long, and compare the agent with perf")
	beside = flag.Int("rounds", 8, "rounds of -soak without anything, with the agent and with perf")
)

// usage is what a process takes.
type usage struct {
	cpu         time.Duration
	memory      int64 // bytes
	descriptors int
	threads     int
}

func usageOf(t testing.TB, pid int) usage {
	t.Helper()
	dir := fmt.Sprintf("/proc/%d/", pid)
	count := func(name string) int {
		list, err := os.ReadDir(dir + name)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	memory, err := os.ReadFile(dir + "statm")
	if err != nil {
		t.Fatal(err)
	}
	// Pages of files that it has mapped, which are the kernel's to drop, are not its own: resident less shared.
	numbers := strings.Fields(string(memory))
	resident, _ := strconv.ParseInt(numbers[1], 10, 64)
	shared, _ := strconv.ParseInt(numbers[2], 10, 64)
	pages := resident - shared
	fields, err := os.ReadFile(dir + "stat")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(fields), ") ") // state is field 3; times are 14 and 15, in hundredths of a second
	times := strings.Fields(rest)
	user, _ := strconv.Atoi(times[11])
	system, _ := strconv.Atoi(times[12])
	return usage{time.Duration(user+system) * 10 * time.Millisecond, pages * int64(os.Getpagesize()), count("fd"),
		count("task")}
}

// TestSoak records five servers under load while processes of their names come and go: what the agent takes must not
// grow. Then the same work is done in turn without anything beside it, with the agent and with perf, and what it costs
// the servers is compared.
//
//	go test ./tests/agent -run Soak -soak 1h -timeout 2h -v
func TestSoak(t *testing.T) {
	if *soak == 0 {
		t.Skip("takes long: runs with -soak 1h")
	}
	servers := startServers(t)
	store, spool := newStore(t, takes), filepath.Join(folder(t), "spool")
	args := []string{"--interval", "15s"}
	for _, s := range servers {
		args = append(args, "--name", s.process)
	}
	a := startAgent(t, store, spool, nil, append(args, "--name", "comes-and-goes")...)
	stop := make(chan struct{})
	gone := make(chan int)
	go comeAndGo(t, stop, gone)
	for _, s := range servers {
		go s.load(stop)
	}
	watch(t, a, *soak)
	for _, s := range servers {
		y := store.count(t, s.process)
		t.Logf("%s: %d profiles, %v of wall time", s.process, len(y.wall), y.sum.Round(time.Second))
		if len(y.wall) == 0 {
			t.Errorf("no profile of %s came", s.process)
		}
	}
	t.Logf("%+v", a.balance(t))
	a.end(t)
	compareCosts(t, servers, store, args)
	close(stop)
	t.Logf("%d processes came and went", <-gone)
	for _, s := range servers {
		if err := s.failed(); err != nil {
			t.Errorf("%s: %v", s.process, err)
		}
	}
}

// watch looks at what the agent takes until it has run for so long. The second half may take no more than the first.
func watch(t *testing.T, a *agent, long time.Duration) {
	t.Helper()
	pid := a.cmd.Process.Pid
	time.Sleep(min(30*time.Second, long/4)) // names are read
	begin := time.Now()
	first := usageOf(t, pid)
	var halves [2][]usage
	last := first
	for i := 0; time.Since(begin) < long; i++ {
		time.Sleep(min(10*time.Second, long/20))
		now := usageOf(t, pid)
		half := 0
		if time.Since(begin) > long/2 {
			half = 1
		}
		step := now
		step.cpu -= last.cpu
		halves[half] = append(halves[half], step)
		last = now
		if i%30 == 0 {
			t.Logf("after %v: %.2f%% CPU, %d MB, %d descriptors, %d threads", time.Since(begin).Round(time.Second),
				100*float64(now.cpu-first.cpu)/float64(time.Since(begin)), now.memory>>20, now.descriptors, now.threads)
		}
	}
	for _, what := range []struct {
		name  string
		of    func(usage) int64
		slack int64
	}{
		{"CPU", func(u usage) int64 { return int64(u.cpu) }, int64(20 * time.Millisecond)},
		{"memory", func(u usage) int64 { return u.memory }, 8 << 20},
		{"descriptors", func(u usage) int64 { return int64(u.descriptors) }, 8},
		{"threads", func(u usage) int64 { return int64(u.threads) }, 4},
	} {
		before, after := middle(halves[0], what.of), middle(halves[1], what.of)
		t.Logf("%s: median %d in the first half, %d in the second", what.name, before, after)
		if after > before+before/5+what.slack {
			t.Errorf("%s grows: median %d in the first half, %d in the second", what.name, before, after)
		}
	}
	share := float64(last.cpu-first.cpu) / float64(time.Since(begin))
	t.Logf("%.2f%% of a CPU over %v", 100*share, time.Since(begin).Round(time.Second))
	if share > 0.015 {
		t.Errorf("it takes %.2f%% of a CPU, of a budget of 1%%", 100*share)
	}
}

func middle[T any](all []T, of func(T) int64) int64 {
	var list []int64
	for _, x := range all {
		list = append(list, of(x))
	}
	slices.Sort(list)
	if len(list) == 0 {
		return 0
	}
	return list[len(list)/2]
}

// comeAndGo starts short-lived processes that the agent is to record, until stop is closed, and says how many.
func comeAndGo(t *testing.T, stop <-chan struct{}, gone chan<- int) {
	path := filepath.Join(run.Scratch, "comes-and-goes")
	image, err := os.ReadFile(filepath.Join(run.Built, "threads"))
	if err == nil {
		err = os.WriteFile(path, image, 0o755)
	}
	if err != nil {
		t.Error(err)
	}
	n := 0
	for {
		select {
		case <-stop:
			gone <- n
			return
		default:
		}
		c := exec.Command(path, "4", "10")
		c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		in, err := c.StdinPipe()
		if err == nil {
			err = run.Start(c)
		}
		if err != nil {
			t.Error(err)
			gone <- n
			return
		}
		time.Sleep(time.Duration(100+n*7919%3000) * time.Millisecond)
		in.Close()
		c.Process.Kill()
		c.Wait()
		n++
	}
}

// costs are what a server takes for a request in one round, ns: CPU time and the median of how long it takes.
type costs struct{ cpu, latency int64 }

// roundLong is how long each part of a round is.
const roundLong = 10 * time.Second

// compareCosts does the same work in turn without anything beside it, with the agent and with perf.
func compareCosts(t *testing.T, servers []*server, store *store, args []string) {
	t.Helper()
	perf, err := exec.LookPath("perf")
	if err != nil {
		t.Skip("perf is not installed")
	}
	ways := []string{"alone", "agent", "perf"}
	seen := map[string]map[string][]costs{}
	own := map[string]time.Duration{}
	for round := range *beside {
		for k := range ways {
			way := ways[(k+round)%len(ways)]
			end := func() time.Duration { return 0 }
			switch way {
			case "agent":
				a := startAgent(t, store, filepath.Join(folder(t), "spool"), nil, args...)
				time.Sleep(20 * time.Second) // names are read once
				before := usageOf(t, a.cmd.Process.Pid).cpu
				end = func() time.Duration {
					used := usageOf(t, a.cmd.Process.Pid).cpu - before
					a.end(t)
					return used
				}
			case "perf":
				end = startPerf(t, perf, servers)
			}
			for _, s := range servers {
				s.begin()
			}
			time.Sleep(roundLong)
			for _, s := range servers {
				if seen[s.process] == nil {
					seen[s.process] = map[string][]costs{}
				}
				seen[s.process][way] = append(seen[s.process][way], s.end())
			}
			own[way] += end()
		}
	}
	t.Logf("CPU of their own: agent %.2f%%, perf record -F 19 -g %.2f%%, in %d rounds of %v",
		100*own["agent"].Seconds()/(float64(*beside)*roundLong.Seconds()),
		100*own["perf"].Seconds()/(float64(*beside)*roundLong.Seconds()), *beside, roundLong)
	for _, s := range servers {
		line := s.process + ":"
		for _, way := range ways {
			all := seen[s.process][way]
			line += fmt.Sprintf(" %s %.1f µs of CPU, %.0f µs a request;", way,
				float64(middle(all, func(c costs) int64 { return c.cpu }))/1000,
				float64(middle(all, func(c costs) int64 { return c.latency }))/1000)
		}
		t.Log(line)
	}
}

func startPerf(t *testing.T, perf string, servers []*server) (end func() time.Duration) {
	t.Helper()
	var pids []string
	for _, s := range servers {
		for _, pid := range tree(s.cmd.Process.Pid) {
			pids = append(pids, strconv.Itoa(pid))
		}
	}
	c := exec.Command(perf, "record", "-q", "-e", "cpu-clock", "-F", "19", "-g", "-o", filepath.Join(folder(t), "data"),
		"-p", strings.Join(pids, ","))
	c.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := run.Start(c); err != nil {
		t.Fatal(err)
	}
	time.Sleep(5 * time.Second)
	before := usageOf(t, c.Process.Pid).cpu
	return func() time.Duration {
		used := usageOf(t, c.Process.Pid).cpu - before
		c.Process.Signal(syscall.SIGINT)
		c.Wait()
		return used
	}
}
