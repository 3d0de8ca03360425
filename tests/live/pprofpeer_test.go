//go:build linux

package live

import (
	"bufio"
	"cmp"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// rawLocation and rawMapping are lines of pprof -raw.
type rawLocation struct {
	address uint64
	mapping int    // 0 for none
	name    string // and file, of the innermost function
}

type rawMapping struct {
	start, offset uint64
	path          string
}

type rawProfile struct {
	samples   [][]int // ids of locations, innermost first
	locations map[int]rawLocation
	mappings  map[int]rawMapping
}

var (
	rawSampleLine   = regexp.MustCompile(`^[\s0-9]+: ([\d ]+)$`)
	rawLocationLine = regexp.MustCompile(`^\s+(\d+): 0x([0-9a-f]+) (?:M=(\d+) )?(.*)`)
	rawMappingLine  = regexp.MustCompile(`^(\d+): 0x([0-9a-f]+)/0x[0-9a-f]+/0x([0-9a-f]+) (\S*)`)
)

// readRaw reads what Go's own pprof shows of a file.
func readRaw(t *testing.T, path string) rawProfile {
	t.Helper()
	p := rawProfile{locations: map[int]rawLocation{}, mappings: map[int]rawMapping{}}
	part := ""
	for line := range strings.Lines(goPprof(t, path, "-raw")) {
		line = strings.TrimSuffix(line, "\n")
		if line == "Samples:" || line == "Locations" || line == "Mappings" {
			part = line
			continue
		}
		switch part {
		case "Samples:":
			if m := rawSampleLine.FindStringSubmatch(line); m != nil {
				var ids []int
				for id := range strings.FieldsSeq(m[1]) {
					ids = append(ids, int(number(t, id)))
				}
				p.samples = append(p.samples, ids)
			}
		case "Locations":
			if m := rawLocationLine.FindStringSubmatch(line); m != nil {
				l := rawLocation{address: hexadecimal(t, m[2]), name: m[4]}
				if m[3] != "" {
					l.mapping = int(number(t, m[3]))
				}
				p.locations[int(number(t, m[1]))] = l
			}
		case "Mappings":
			if m := rawMappingLine.FindStringSubmatch(line); m != nil {
				p.mappings[int(number(t, m[1]))] = rawMapping{hexadecimal(t, m[2]), hexadecimal(t, m[3]), m[4]}
			}
		}
	}
	return p
}

func hexadecimal(t *testing.T, s string) uint64 {
	t.Helper()
	v, err := strconv.ParseUint(s, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// instruction is a line of objdump -d.
type instruction struct {
	at, next uint64
	text     string
}

var objdumpLine = regexp.MustCompile(`^ *([0-9a-f]+):\t(.*)$`)

// disassemble returns the instructions of an object in their order.
func disassemble(t *testing.T, path string) []instruction {
	t.Helper()
	o := execute(t, bound, installed(t, "objdump"), "-dw", "--no-show-raw-insn", path)
	if o.status != 0 {
		t.Fatalf("objdump %s: status %d, %s", path, o.status, o.stderr)
	}
	var list []instruction
	for lines := bufio.NewScanner(strings.NewReader(o.stdout)); lines.Scan(); {
		if m := objdumpLine.FindStringSubmatch(lines.Text()); m != nil {
			list = append(list, instruction{at: hexadecimal(t, m[1]), text: strings.TrimSpace(m[2])})
		}
	}
	slices.SortFunc(list, func(a, b instruction) int { return cmp.Compare(a.at, b.at) })
	for i := range list {
		list[i].next = math.MaxUint64
		if i+1 < len(list) {
			list[i].next = list[i+1].at
		}
	}
	return list
}

// around returns the instruction that holds address at, and the one before it.
func around(list []instruction, at uint64) (before, here instruction) {
	i, found := slices.BinarySearchFunc(list, at, func(in instruction, at uint64) int { return cmp.Compare(in.at, at) })
	if !found {
		i--
	}
	if i < 0 || i >= len(list) {
		return
	}
	if i > 0 {
		before = list[i-1]
	}
	return before, list[i]
}

// How a call and a system call begin in objdump's text.
var callText, syscallText = map[string]*regexp.Regexp{
	"amd64": regexp.MustCompile(`^((bnd|notrack|rex\.W|data16|addr32) )*call`),
	"arm64": regexp.MustCompile(`^bla?r?[a-z]*\s`),
}, map[string]*regexp.Regexp{
	"amd64": regexp.MustCompile(`^(syscall|int +\$0x80|sysenter)`),
	"arm64": regexp.MustCompile(`^svc`),
}

// TestPprofAddresses: in a disassembly, the address of each frame that called lies in a call, that of an innermost
// one at the begin of an instruction, and that of one that waits behind a system call, or, as a thread can be kept
// waiting outside of any call (a page that has to be read, job control), at the begin of an instruction too.
func TestPprofAddresses(t *testing.T) {
	t.Parallel()
	calls, enters := callText[runtime.GOARCH], syscallText[runtime.GOARCH]
	if calls == nil {
		t.Skipf("how a call looks on %s is not reported here", runtime.GOARCH)
	}
	works := duty(t, "100", "3", "wall", "50", "30", "20")
	waits := runTarget(t, "threads", "4", "10")
	out := filepath.Join(room(t), "out.pb.gz")
	pids := fmt.Sprintf("%d,%d", works.pid, waits.pid)
	recorded, ended := make(chan struct{}), make(chan struct{})
	go func() { // keeps the one that works waiting outside of any call
		defer close(ended)
		for over := false; !over; {
			_ = syscall.Kill(works.pid, syscall.SIGSTOP)
			time.Sleep(50 * time.Millisecond)
			_ = syscall.Kill(works.pid, syscall.SIGCONT)
			select {
			case <-recorded:
				over = true
			case <-time.After(150 * time.Millisecond):
			}
		}
	}()
	t.Cleanup(func() { close(recorded); <-ended })
	if o := show(t, "record", "-q", "-F", "499", "-p", pids, "-d", "2s", "-o", out); o.status != 0 {
		t.Fatal(o.stderr)
	}
	p := readRaw(t, out)
	code := map[int][]instruction{}
	loads := map[int]uint64{} // address as linked of offset 0
	for id, m := range p.mappings {
		if info, err := os.Stat(m.path); err == nil && info.Mode().IsRegular() {
			code[id], loads[id] = disassemble(t, m.path), linkedAt(t, m.path, m.offset)-m.offset
		}
	}
	seen, checked := map[string]bool{}, map[string]int{}
	for _, sample := range p.samples {
		for i, id := range sample {
			role := "caller"
			switch {
			case i == 0:
				role = "innermost"
			case strings.HasPrefix(p.locations[sample[i-1]].name, "(blocked)"):
				role = "blocked"
			case strings.HasPrefix(p.mappings[p.locations[sample[i-1]].mapping].path, "[kernel"):
				role = "waits"
			}
			l := p.locations[id]
			m := p.mappings[l.mapping]
			if key := fmt.Sprint(id, role); seen[key] || code[l.mapping] == nil {
				continue
			} else {
				seen[key] = true
			}
			checked[role+" "+filepath.Base(m.path)]++
			at := l.address - m.start + m.offset + loads[l.mapping]
			before, here := around(code[l.mapping], at)
			right := here.at == at
			switch role {
			case "caller":
				right = here.at <= at && at < here.next && calls.MatchString(here.text)
			case "waits":
				right = here.at == at && enters.MatchString(before.text)
			}
			if !right {
				t.Errorf("%s at %#x of %s: objdump has %#x %q, and before it %q", role, at, m.path, here.at, here.text,
					before.text)
			}
		}
	}
	t.Log(checked)
	for _, want := range []struct {
		what  string
		least int
	}{{"caller duty", 3}, {"caller threads", 3}, {"innermost duty", 1}, {"blocked duty", 1}} {
		if checked[want.what] < want.least {
			t.Errorf("%d addresses of %s were checked, want at least %d: %v", checked[want.what], want.what,
				want.least, checked)
		}
	}
}

// linkedAt gives at which address as linked the byte at an offset of an object lies.
func linkedAt(t *testing.T, path string, offset uint64) uint64 {
	t.Helper()
	o := execute(t, bound, installed(t, "readelf"), "-lW", path)
	for line := range strings.Lines(o.stdout) {
		f := strings.Fields(line)
		if len(f) < 6 || f[0] != "LOAD" {
			continue
		}
		from, vaddr, size := hexadecimal(t, f[1][2:]), hexadecimal(t, f[2][2:]), hexadecimal(t, f[4][2:])
		if from <= offset && offset < from+size {
			return vaddr + offset - from
		}
	}
	t.Fatalf("no segment of %s holds offset %#x", path, offset)
	return 0
}

// TestPprofBesideGo: what we and Go's own profiler see of one run of a Go program agrees. At 100 Hz of CPU time
// the latter has some 300 samples, so that a share of a third is off by 0.03 (one standard deviation). 0.12 is
// allowed, and five deviations where fewer of its signals came.
func TestPprofBesideGo(t *testing.T) {
	// With it a thread that waited for its CPU gets a signal of the scheduler beside that of the profiler, which
	// then finds it in the runtime.
	t.Setenv("GODEBUG", "asyncpreemptoff=1")
	dir := room(t)
	ours, theirs := filepath.Join(dir, "ours.pb.gz"), filepath.Join(dir, "theirs.pb.gz")
	o := show(t, "record", "-q", "--mode", "cpu", "-F", "499", "--max-overhead", "0", "-f", "pprof", "-o", ours, "--",
		program(t, "work-go"), "3", theirs)
	if o.status != 0 || o.stdout != "D\n" {
		t.Fatalf("status %d, %q, %s", o.status, o.stdout, o.stderr)
	}
	const most = 5
	got, want := goShares(t, ours), goShares(t, theirs)
	gotTop, wantTop := hottest(got, most), hottest(want, most)
	common := 0
	for _, name := range wantTop {
		if slices.Contains(gotTop, name) {
			common++
		}
	}
	// Both saw about the CPU time that was used. runtime/pprof's signals are lost at times.
	mine, other := totalOf(pprofTop(t, ours, "cpu")), totalOf(pprofTop(t, theirs, "cpu"))
	off := max(0.12, 5*math.Sqrt(0.22/(100*other)))
	t.Logf("we: %v; runtime/pprof: %v; in %.2f s of CPU time", gotTop, wantTop, other)
	if common < most-1 || want[wantTop[0]]-want[gotTop[0]] > off {
		t.Errorf("the hottest functions are %q, runtime/pprof has %q", gotTop, wantTop)
	}
	for name := range want {
		if math.Abs(got[name]-want[name]) > off {
			t.Errorf("%s has %.3f of the CPU time, runtime/pprof says %.3f", name, got[name], want[name])
		}
	}
	if mine < 0.7*other || mine > 1.5*other {
		t.Errorf("%.2f s of CPU time, runtime/pprof has %.2f s", mine, other)
	}
}

// goShares are self shares of CPU time. Parts of the runtime are one function: the signals of
// Go's own profiler come at other moments of it than our samples.
func goShares(t *testing.T, path string) map[string]float64 {
	t.Helper()
	top := pprofTop(t, path, "cpu")
	total, shares := totalOf(top), map[string]float64{}
	for name, v := range top {
		if strings.HasPrefix(name, "runtime.") {
			name = "runtime"
		}
		shares[name] += v.flat / total
	}
	return shares
}

func totalOf(top map[string]flatAndCum) float64 {
	sum := 0.0
	for _, v := range top {
		sum += v.flat
	}
	return sum
}

func hottest(shares map[string]float64, most int) []string {
	var names []string
	for name := range shares {
		names = append(names, name)
	}
	slices.SortFunc(names,
		func(a, b string) int { return cmp.Or(cmp.Compare(shares[b], shares[a]), cmp.Compare(a, b)) })
	return names[:min(most, len(names))]
}
