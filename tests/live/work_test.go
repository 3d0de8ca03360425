//go:build linux

package live

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/tests/harness"
)

// recorded is what a recording shows of each process: folded text with threads in front.
type recorded struct {
	processes map[string]float64            // samples, by name and id
	functions map[string]map[string]bool    // by name of the process: all frames
	whole     map[string]map[string]float64 // by name of the process: "whole" and "cut" samples
}

// readRecorded reads a recording in our JSON.
func readRecorded(t *testing.T, path string) recorded {
	t.Helper()
	p, err := flame.ReadJSON(strings.NewReader(readFile(t, path)))
	if err != nil {
		t.Fatal(err)
	}
	r := recorded{map[string]float64{}, map[string]map[string]bool{}, map[string]map[string]float64{}}
	for i, s := range p.Samples {
		task, samples := &p.Tasks[s.Task], float64(p.Value(i)[p.TypeIndex("samples")])
		r.processes[task.Process+"-"+strconv.Itoa(task.PID)] += samples
		if r.functions[task.Process] == nil {
			r.functions[task.Process], r.whole[task.Process] = map[string]bool{}, map[string]float64{}
		}
		outermost := ""
		for _, f := range p.Tree.Append(nil, s.Stack) { // innermost first
			outermost = p.Name(f)
			r.functions[task.Process][outermost] = true
		}
		if !strings.HasPrefix(outermost, "(") { // (stack cut: …) and what else is no stack
			outermost = "whole"
		}
		r.whole[task.Process][outermost] += samples
	}
	return r
}

// count is how many processes have that name.
func (r *recorded) count(name string) int {
	n := 0
	for process := range r.processes {
		if process[:strings.LastIndexByte(process, '-')] == name {
			n++
		}
	}
	return n
}

// checkWhole fails if less than a share of all samples have whole stacks.
func (r *recorded) checkWhole(t *testing.T, share float64) {
	t.Helper()
	whole, all := 0.0, 0.0
	for _, counts := range r.whole {
		for kind, n := range counts {
			all += n
			if kind == "whole" {
				whole += n
			}
		}
	}
	t.Logf("%.0f of %.0f samples have whole stacks: %v", whole, all, r.whole)
	if whole < share*all || all == 0 {
		t.Errorf("%.0f of %.0f samples have whole stacks, want a share of %.2f: %v", whole, all, share, r.whole)
	}
}

// checkEnded fails if a process of the recording is still there.
func (r *recorded) checkEnded(t *testing.T) {
	t.Helper()
	for process := range r.processes {
		pid := int(number(t, process[strings.LastIndexByte(process, '-')+1:]))
		if state := stateOf(pid); state != 0 {
			t.Errorf("process %s is still there, in state %c", process, state)
		}
	}
}

// templates is a C++ source that keeps a compiler busy for some seconds.
const templates = `#include <algorithm>
#include <functional>
#include <map>
#include <regex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>
template <int N> struct Fib { static constexpr long value = Fib<N - 1>::value + Fib<N - 2>::value; };
template <> struct Fib<0> { static constexpr long value = 0; };
template <> struct Fib<1> { static constexpr long value = 1; };
template <int N> struct Chain {
	std::map<std::tuple<std::string, int>, std::vector<std::function<long(long)>>> table;
	long run(long x) {
		table[{std::to_string(N), N}].push_back([x](long y) { return x + y * N; });
		long sum = Fib<N>::value;
		for (auto &entry : table)
			for (auto &f : entry.second)
				sum += f(sum);
		std::vector<std::pair<long, std::string>> v{{sum, "a"}, {N, "b"}};
		std::sort(v.begin(), v.end());
		return v[0].first + Chain<N - 1>().run(sum);
	}
};
template <> struct Chain<0> { long run(long x) { return x; } };
int main(int argc, char **argv) {
	std::regex r("(a|b)*c[0-9]+");
	return std::regex_match(argv[0], r) + (int)Chain<25>().run(argc);
}
`

// TestRecordCompiler: g++ and what it starts, recorded, makes the same file.
func TestRecordCompiler(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	compiler, dir := installed(t, "g++"), room(t)
	if err := os.WriteFile(filepath.Join(dir, "x.cc"), []byte(templates), 0o644); err != nil {
		t.Fatal(err)
	}
	const build = `cd "$1" && shift && exec "$@" -O1 -c x.cc -o x.o`
	object := filepath.Join(dir, "x.o")
	plain := execute(t, bound, "sh", "-c", build, "sh", dir, compiler)
	want := readFile(t, object)
	os.Remove(object)
	out := filepath.Join(dir, "out.json")
	o := execute(t, bound, "sh", "-c", build, "sh", dir, fpstack, "record", "-q", "-F", "199", "--max-overhead", "0",
		"-o", out, "--", compiler)
	checkEnd(t, o, nil)
	if plain.status != 0 || o.status != 0 || o.stdout != plain.stdout || o.stderr != plain.stderr {
		t.Errorf("status %d, %q, %q; without us %d, %q, %q", o.status, o.stdout, o.stderr, plain.status, plain.stdout,
			plain.stderr)
	}
	if got := readFile(t, object); got != want || len(got) < 1000 {
		t.Errorf("the object file has %d bytes, and without us other %d", len(got), len(want))
	}
	r := readRecorded(t, out)
	for _, name := range []string{"g++", "cc1plus", "as"} {
		if r.count(name) == 0 {
			t.Errorf("%s is not in the recording: %v", name, r.processes)
		}
	}
	r.checkWhole(t, 0.95)
	r.checkEnded(t)
}

// TestRecordGoTest: go test and the test program that it builds and runs. That takes some milliseconds
// once, hence 3,000 times: the file of a program that is deleted within 50 ms may be gone before it is read.
func TestRecordGoTest(t *testing.T) {
	out := filepath.Join(room(t), "out.json")
	o := show(t, "record", "-q", "-F", "999", "--max-overhead", "0", "-o", out, "--", installed(t, "go"), "test",
		"-count=3000", "../../regs")
	if o.status != 0 || !strings.HasPrefix(o.stdout, "ok ") {
		t.Fatalf("status %d, %q, %s", o.status, o.stdout, o.stderr)
	}
	r := readRecorded(t, out)
	named := r.functions["regs.test"]
	if !named["testing.tRunner"] && !named["testing.(*M).Run"] && !named["runtime.main"] {
		t.Errorf("no function of the test program is named: %v of %v", slices.Sorted(maps.Keys(named)), r.processes)
	}
	if !r.functions["go"]["runtime.main"] && !r.functions["go"]["runtime.mstart"] {
		t.Errorf("no function of go is named: %v", slices.Sorted(maps.Keys(r.functions["go"])))
	}
	r.checkWhole(t, 0.6) // a thread of Go that parks below runtime.morestack has a cut stack as long as it sleeps
	r.checkEnded(t)
	if o := show(t, "record", "-q", "-o", out, "--", installed(t, "go"), "test", "./no-such-room"); o.status != 1 {
		t.Errorf("a go test that fails: status %d, want 1", o.status)
	}
}

// TestRecordRedis: a server under load loses no request, and is free afterwards.
func TestRecordRedis(t *testing.T) {
	t.Parallel()
	benchmark := installed(t, "redis-benchmark")
	dir := room(t)
	socket, out := filepath.Join(dir, "s"), filepath.Join(dir, "out.json")
	p := launch(t, exec.Command(installed(t, "redis-server"), "--port", "0", "--unixsocket", socket, "--save", "",
		"--daemonize", "no", "--dir", dir))
	await(t, "redis-server answers", func() bool { return answers(socket, "PING\r\n", "+PONG") })
	term := onTerminal(t, exec.Command(fpstack, "record", "-p", strconv.Itoa(p.pid), "-d", "1h", "-o", out))
	term.sampled(t)
	o := execute(t, bound, benchmark, "-s", socket, "-q", "-n", "40000", "-c", "20", "-t", "set,get,lpush,lpop")
	term.cmd.Process.Signal(syscall.SIGINT)
	if status := term.ended(t); status != 0 {
		t.Errorf("status %d, %q", status, term.seen())
	}
	finished := regexp.MustCompile(`(?m)(SET|GET|LPUSH|LPOP): [\d.]+ requests per second`).FindAllString(o.stdout, -1)
	if o.status != 0 || len(finished) != 4 || strings.Contains(o.stdout+o.stderr, "rror") {
		t.Errorf("redis-benchmark: status %d, finished %q\n%s\n%s", o.status, finished, o.stdout, o.stderr)
	}
	if !answers(socket, "PING\r\n", "+PONG") {
		t.Error("redis-server does not answer any more")
	}
	checkFree(t, p.pid)
	r := readRecorded(t, out)
	named := 0
	for f := range r.functions["redis-server"] {
		switch {
		case f == "?" || strings.HasPrefix(f, "0x"):
			t.Errorf("a frame has neither a name nor a place in a module: %q", f)
		case strings.HasPrefix(f, "ae") || strings.HasPrefix(f, "redis-"):
			named++
		}
	}
	if !r.functions["redis-server"]["epoll_wait"] || named < 5 {
		t.Errorf("functions of the event loop: %d, all: %v", named,
			slices.Sorted(maps.Keys(r.functions["redis-server"])))
	}
	r.checkWhole(t, 0.95)
}

// TestRecordManyChildren: a shell script that starts 300 processes, each gone in milliseconds, does what it does
// without us.
func TestRecordManyChildren(t *testing.T) {
	const script = `i=0; while [ $i -lt 300 ]; do i=$((i+1)); ls -d / >/dev/null; set -- "$@" "$(echo $i | cat)"
		done; echo "$@"; echo end >&2; exit 7`
	out := filepath.Join(room(t), "out.json")
	plain := execute(t, bound, "sh", "-c", script)
	o := show(t, "record", "-q", "-F", "499", "-o", out, "--", "sh", "-c", script)
	if o.status != 7 || plain.status != 7 || o.stdout != plain.stdout || o.stderr != plain.stderr ||
		!strings.HasSuffix(plain.stdout, " 299 300\n") {
		t.Errorf("status %d, %q, %q; without us %d, %q, %q", o.status, o.stdout, o.stderr, plain.status, plain.stdout,
			plain.stderr)
	}
	r := readRecorded(t, out)
	children := len(r.processes) - 1
	t.Logf("%d children, %d of them ls, %d cat", children, r.count("ls"), r.count("cat"))
	if children < 10 || r.count("ls") < 3 {
		t.Errorf("%d children in the recording, %d of them ls: %v", children, r.count("ls"), r.processes)
	}
	r.checkEnded(t)
}

// nap is a line of the program sleeps.
type nap struct{ sleeps, eintr, median int }

var napLine = regexp.MustCompile(`(?m)^(\w+) sleeps (\d+) eintr (\d+) median_us (\d+)$`)

func naps(t *testing.T, text string) map[string]nap {
	t.Helper()
	all := map[string]nap{}
	for _, m := range napLine.FindAllStringSubmatch(text, -1) {
		all[m[1]] = nap{int(number(t, m[2])), int(number(t, m[3])), int(number(t, m[4]))}
	}
	if len(all) != 6 {
		t.Fatalf("%d kinds of sleep in %q, want 6", len(all), text)
	}
	return all
}

// TestRecordSleeps: threads that sleep 10 ms in six ways, sampled a thousand times a second, sleep as long as those
// of the same program beside it that nobody samples. docs/dev/sampling.md allows EINTR, in the calls that return it,
// where a stack cannot be had without a stop, once a thread, and where a thread that was seen running fell asleep
// before it stopped. These threads run for some 20 of 10,000 µs, so that of 5,000 samples ten find one running; one
// sleep in fifty may fail.
func TestRecordSleeps(t *testing.T) {
	path := program(t, "sleeps")
	beside := exec.Command(path, "5")
	var text bytes.Buffer
	beside.Stdout = &text
	beside.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := start(beside); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(room(t), "out.json")
	o := show(t, "record", "-q", "-F", "999", "--max-overhead", "0", "-o", out, "--", path, "5")
	if err := beside.Wait(); err != nil || o.status != 0 {
		t.Fatalf("status %d, %q, and without us %v", o.status, o.stderr, err)
	}
	with, without := naps(t, o.stdout), naps(t, text.String())
	for kind, want := range without {
		got := with[kind]
		restarts := kind == "nanosleep" || kind == "poll" || kind == "futex"
		if got.eintr > 1+got.sleeps/50 || restarts && got.eintr > 0 || want.eintr > 0 {
			t.Errorf("%s failed %d times with EINTR, and %d times without us", kind, got.eintr, want.eintr)
		}
		if off := got.median - want.median; off < -1000 || off > 1000 || got.sleeps < want.sleeps*9/10 {
			t.Errorf("%s: %d sleeps of %d µs at the median, without us %d of %d µs", kind, got.sleeps, got.median,
				want.sleeps, want.median)
		}
	}
	t.Log(fmt.Sprint("recorded: ", with, ", beside it: ", without))
	r := readRecorded(t, out)
	for _, f := range []string{"sleep_nanosleep", "sleep_epoll", "sleep_poll", "sleep_futex", "sleep_recv",
		"sleep_sigtimedwait"} {
		if !r.functions["sleeps"][f] {
			t.Errorf("%s is not in the recording", f)
		}
	}
	r.checkWhole(t, 0.95)
}
