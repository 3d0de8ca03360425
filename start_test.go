//go:build linux

package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// What a start may cost. Each run pays it, also one that shows a single sleeping process, which takes five times
// as long as the start of an empty Go program. Bytes and allocations are nearly the same on every machine: on a busy
// one up to 20,000 bytes more were seen.
const (
	// largestProgram is in bytes, without symbols: a runtime that is read takes 100,000 to 300,000, what no thread
	// holds 200,000, the instructions of another machine 150,000, cores with three forms of compression 450,000,
	// profile stores with their transport 400,000, HTTP/2 for gRPC 550,000, YAML 400,000.
	largestProgram = 20_700_000
	startBytes     = 510_000 // of the heap, by all packages together before main; YAML takes 26,000
	startAllocs    = 3_600
	packageBytes   = 40_000 // by one package
)

// costly are the packages that may take more than packageBytes, and why.
var costly = map[string]string{
	"github.com/google/pprof/profile": "its regular expressions; the format's own library",
	"github.com/gdamore/encoding":     "character sets; tcell, which top draws with, imports it",
}

// initLine is what GODEBUG=inittrace=1 tells of a package. Source: package runtime, "Environment Variables".
var initLine = regexp.MustCompile(`^init (\S+) @.* (\d+) bytes, (\d+) allocs$`)

// TestStart holds what every run of fpstack has to load and to do before main.
func TestStart(t *testing.T) {
	program := filepath.Join(t.TempDir(), "fpstack")
	build := exec.Command("scripts/build", program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build fpstack: %v\n%s", err, out)
	}
	st, err := os.Stat(program)
	if err != nil {
		t.Fatal(err)
	}
	if st.Size() > largestProgram {
		t.Errorf("the program has %d bytes, at most %d are wanted", st.Size(), largestProgram)
	}
	run := exec.Command(program, "version")
	run.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var trace strings.Builder
	run.Stderr = &trace
	if err := run.Run(); err != nil {
		t.Fatalf("run fpstack: %v\n%s", err, trace.String())
	}
	checkInits(t, trace.String())
}

// TestSmallAddressSpace: whatever the limit on the address space, what is shown is not a trace of Go's runtime, which
// reserves a gigabyte before main, but what is wrong and the remedy.
func TestSmallAddressSpace(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("the entry of the program is the runtime's on " + runtime.GOARCH)
	}
	program := filepath.Join(t.TempDir(), "fpstack")
	build := exec.Command("scripts/build", program)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build fpstack: %v\n%s", err, out)
	}
	run := func(megabytes int, args ...string) (status int, out string) {
		c := exec.Command("sh", append([]string{"-c", `ulimit -v "$1" && shift && exec "$0" "$@"`, program,
			strconv.Itoa(megabytes << 10)}, args...)...)
		b, err := c.CombinedOutput()
		if err != nil && c.ProcessState == nil {
			t.Fatal(err)
		}
		return c.ProcessState.ExitCode(), string(b)
	}
	// The program alone takes 53; from 1,400 on there is enough.
	for megabytes := 60; megabytes < 1400; megabytes += 10 {
		status, out := run(megabytes, "-p", strconv.Itoa(os.Getppid()))
		if status != 2 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "address space is limited to") ||
			!strings.Contains(out, "ulimit -v unlimited") {
			t.Errorf("%d MB: status %d, %.200q", megabytes, status, out)
		}
		if status, out := run(megabytes, "version"); megabytes >= 850 && status != 0 {
			t.Errorf("%d MB: version has status %d, %.200q", megabytes, status, out)
		}
	}
	c := exec.Command("sh", "-c", `ulimit -v 1228800; exec "$0" run -- sh -c 'ulimit -v'`, program)
	if out, _ := c.CombinedOutput(); !strings.Contains(string(out), "limited to 1200 MB") {
		t.Errorf("the limit that is named is not that of the user: %q", out)
	}
}

// checkInits holds the bounds of what packages do before main.
func checkInits(t *testing.T, trace string) {
	t.Helper()
	bytes, allocs, packages := 0, 0, 0
	for line := range strings.Lines(trace) {
		m := initLine.FindStringSubmatch(strings.TrimSpace(line))
		if m == nil {
			continue
		}
		packages++
		b, _ := strconv.Atoi(m[2])
		n, _ := strconv.Atoi(m[3])
		bytes, allocs = bytes+b, allocs+n
		if b > packageBytes && costly[m[1]] == "" {
			t.Errorf("package %s takes %d bytes in %d allocations before main, at most %d are wanted", m[1], b, n,
				packageBytes)
		}
	}
	t.Logf("%d packages take %d bytes in %d allocations before main", packages, bytes, allocs)
	if packages < 20 {
		t.Fatalf("the trace has %d packages: %q", packages, trace)
	}
	if bytes > startBytes || allocs > startAllocs {
		t.Errorf("before main %d bytes are taken in %d allocations, at most %d in %d are wanted", bytes, allocs,
			startBytes, startAllocs)
	}
}
