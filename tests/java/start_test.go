//go:build linux && (amd64 || arm64)

package java

import (
	"bufio"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
)

var (
	full    = flag.Bool("full", false, "all versions and modes, and more samples of each")
	samples = flag.Int("samples", 0, "samples of each version and mode; 0 for the usual number")
	alone   = flag.Bool("alone", false, "stop the thread that is sampled alone, which is sooner done")
)

// fetched is where scripts/build-java puts what it makes.
const fetched = "../../testdata/bin/java"

// jvms lists how each version is started that is there: the one that a test needs is 17.
func jvms() map[string][]string {
	all := map[string][]string{}
	triple, versions := "x86_64-linux-gnu", []string{"8", "11", "21", "26", "27", "28"}
	if runtime.GOARCH == "arm64" {
		triple, versions = "aarch64-linux-gnu", []string{"8", "11", "17", "21", "25"}
	}
	for _, path := range []string{"/usr/lib/jvm/java-17-openjdk-amd64", "/usr/lib/jvm/temurin-25-jdk-amd64"} {
		if java := filepath.Join(path, "bin/java"); exists(java) {
			version := strings.FieldsFunc(filepath.Base(path), func(r rune) bool { return r == '-' })[1]
			all[version] = []string{java}
		}
	}
	for _, version := range versions {
		root, _ := filepath.Abs(filepath.Join(fetched, version))
		home := filepath.Join(root, "usr/lib/jvm/java-"+version+"-openjdk-"+runtime.GOARCH)
		for _, bin := range []string{filepath.Join(home, "jre/bin"), filepath.Join(home, "bin")} {
			java, loader := filepath.Join(bin, "java"), filepath.Join(bin, "ld.so")
			if !exists(java) {
				continue
			}
			if all[version] = []string{java}; exists(loader) { // it wants another C library than this machine has
				all[version] = []string{loader, "--library-path", filepath.Join(root, "usr/lib", triple), java}
			}
			break
		}
	}
	return all
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// versions lists the versions that are tried: 17 and 25 in each run, with -full all that are there, and so on arm64.
func versions(t testing.TB) []string {
	t.Helper()
	var out []string
	for v := range jvms() {
		if *full || v == "17" || v == "25" || runtime.GOARCH == "arm64" {
			out = append(out, v)
		}
	}
	if !slices.Contains(out, "17") {
		t.Skip("no JVM is there: scripts/setup installs openjdk-17-jdk-headless")
	}
	slices.Sort(out)
	if *full {
		return out
	}
	return harness.Last(out)
}

// program is a process of Java.
type program struct {
	*walked.Process
	pid int
	in  io.Writer
	// said are the lines that it wrote before it was ready.
	said []string
}

// start starts a class of testdata/java, and returns when it has said that it is ready. arguments are those of the JVM,
// the class, and its own.
func start(t testing.TB, version string, arguments ...string) *program {
	t.Helper()
	classes, err := filepath.Abs(filepath.Join(fetched, "classes"))
	if err != nil {
		t.Fatal(err)
	}
	if !exists(filepath.Join(classes, "Ring.class")) {
		t.Skip("testdata/bin/java/classes is not there: scripts/build-java makes it")
	}
	line := append(slices.Clone(jvms()[version]), "-Xmx200m", "-cp", classes)
	line = append(line, arguments...)
	cmd := exec.Command(line[0], line[1:]...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	cmd.Env = append(os.Environ(), "LC_ALL=C.UTF-8")
	var complaints strings.Builder
	cmd.Stderr = &complaints
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	p := &program{pid: cmd.Process.Pid, in: in}
	for lines := bufio.NewScanner(out); ; {
		if !lines.Scan() {
			t.Fatalf("%s %q ended: %s", version, arguments, complaints.String())
		}
		if lines.Text() == "ready" {
			break
		}
		p.said = append(p.said, lines.Text())
	}
	p.Process = walked.Open(t, p.pid, walked.Options{Names: resolve.Options{NoInlines: true}})
	return p
}

// javaFrames are the frames of Java of a stack, innermost first, without those of the JVM's own.
func javaFrames(s *profile.Stack) []profile.Frame {
	var out []profile.Frame
	for _, f := range s.Frames {
		if f.Kind == profile.Java && !f.Stub {
			out = append(out, f)
		}
	}
	return out
}

// functions are the names of frames, innermost first.
func functions(frames []profile.Frame) []string {
	out := make([]string, len(frames))
	for i := range frames {
		out[i] = frames[i].Func
	}
	return out
}

// stackOf is the stack of the thread in whose outermost frames of Java that method is, and which thread it is.
func (p *program) stackOf(shot *snapshot.Snapshot, method string) (profile.Stack, int) {
	for i := range shot.Threads {
		s := p.Stack(shot, i)
		if names := functions(javaFrames(&s)); slices.Contains(names, method) {
			return s, i
		}
	}
	return profile.Stack{}, -1
}

// threadIn is the id of the thread that is in a method, once it is.
func (p *program) threadIn(t testing.TB, method string) int {
	t.Helper()
	for i := range 100 {
		shot := p.Stop(t)
		if _, k := p.stackOf(shot, method); k >= 0 {
			return shot.Threads[k].TID
		}
		walked.Pause(i)
	}
	t.Fatalf("no thread is in %s", method)
	return 0
}

// show is a stack as text, for messages.
func show(s *profile.Stack) string {
	var b strings.Builder
	for _, f := range s.Frames {
		fmt.Fprintf(&b, "  %#x %s %s:%d %s %s %s %s\n", f.Addr, f.Func, f.File, f.Line, f.Kind, f.Tier, f.Origin,
			f.Note)
	}
	return b.String() + "  " + s.Stop + " " + s.Detail
}
