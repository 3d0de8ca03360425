//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// sleeper starts a process to sample and returns its id as an argument.
func sleeper(t testing.TB) string {
	t.Helper()
	return strconv.Itoa(runTarget(t, "threads", "4", "10").pid)
}

// unusedPID gives the id of no process.
func unusedPID(t testing.TB) string {
	t.Helper()
	for pid := 1<<22 - 1; pid > 1; pid-- {
		if syscall.Kill(pid, 0) == syscall.ESRCH {
			return strconv.Itoa(pid)
		}
	}
	t.Skip("every process id is in use")
	return ""
}

// TestUsage: a command line that is off gives status 64, a reason and nothing else.
func TestUsage(t *testing.T) {
	for _, tt := range []struct {
		name string
		args []string
		want string // in the first line of standard error
	}{
		{"nothing given", nil, "no process given"},
		{"unknown flag", []string{"--frobnicate"}, "--frobnicate"},
		{"flag without value", []string{"-p"}, "-p"},
		{"pid 0", []string{"-p", "0"}, `"0"`},
		{"pid negative", []string{"-p", "-5"}, `"-5"`},
		{"pid is a word", []string{"-p", "init"}, `"init"`},
		{"pid is empty", []string{"-p", ""}, `""`},
		{"pid beyond the limit of the kernel", []string{"-p", "4194305"}, `"4194305"`},
		{"pid beyond 64 bits", []string{"-p", "99999999999999999999"}, `"99999999999999999999"`},
		{"empty word between commas", []string{"-p", "1,,2"}, `""`},
		{"tid is a word", []string{"-p", "1", "-t", "x"}, `"x"`},
		{"unknown format", []string{"-p", "1", "-f", "xml"}, "xml"},
		{"negative number of frames", []string{"-p", "1", "--max-frames", "-1"}, "--max-frames -1"},
		{"negative skip", []string{"-p", "1", "--skip-frames", "-1"}, "--skip-frames -1"},
		{"unknown way to walk", []string{"-p", "1", "--unwind", "magic"}, "magic"},
		{"unknown colour", []string{"-p", "1", "--color", "mauve"}, "mauve"},
		{"pause of nothing", []string{"-p", "1", "--max-pause", "0s"}, "--max-pause"},
		{"pause that is no time", []string{"-p", "1", "--max-pause", "soon"}, "max-pause"},
		{"escape in a word", []string{"-p", "\x1b[31m"}, `\x1b[31m`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, tt.args...)
			checkUsage(t, o, tt.want)
		})
	}
}

// TestNothingToShow: nothing could be shown gives status 2, one line that says why, and
// where something can be done about it a second one.
func TestNothingToShow(t *testing.T) {
	for _, tt := range []struct {
		name   string
		start  func(t *testing.T) string
		want   string
		remedy string
	}{
		{"no such process", func(t *testing.T) string { return unusedPID(t) }, "no such process", ""},
		{"zombie", startZombie, "has ended and was not reaped by its parent", "has to wait for it"},
		{"kernel thread", kernelThread, "is a kernel thread", "/proc/"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, "-p", tt.start(t))
			checkRefusal(t, o, tt.want, tt.remedy)
		})
	}
	for word, shown := range map[string]string{"frobnicate": `"frobnicate"`, "\x1b[31m": `"\x1b[31m"`} {
		checkRefusal(t, show(t, word), "no process is named "+shown, "in full")
	}
}

// checkRefusal checks the two lines that fpstack writes when it can show nothing.
func checkRefusal(t *testing.T, o outcome, want, remedy string) {
	t.Helper()
	lines := strings.Split(strings.TrimSuffix(o.stderr, "\n"), "\n")
	wantLines := 1
	if remedy != "" {
		wantLines = 2
	}
	if o.status != 2 || o.stdout != "" || len(lines) != wantLines {
		t.Fatalf("status %d, output %q, standard error %q; want 2, nothing and %d lines", o.status, o.stdout,
			o.stderr, wantLines)
	}
	if !strings.HasPrefix(lines[0], "fpstack: ") || !strings.Contains(lines[0], want) {
		t.Errorf("standard error %q, want %q", lines[0], want)
	}
	if remedy != "" && !strings.Contains(lines[1], remedy) {
		t.Errorf("remedy %q, want %q", lines[1], remedy)
	}
}

// startZombie gives a process that has ended, for which we, its parent, do not wait before the test ends.
func startZombie(t *testing.T) string {
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Wait() })
	await(t, "the child is a zombie", func() bool { return stateOf(cmd.Process.Pid) == 'Z' })
	return strconv.Itoa(cmd.Process.Pid)
}

// kernelThread finds one: its flags have PF_KTHREAD (linux/sched.h).
func kernelThread(t *testing.T) string {
	for _, pid := range numbers("/proc") {
		if f := statOf(pid); len(f) > 6 {
			if flags, err := strconv.ParseUint(f[6], 10, 64); err == nil && flags&0x00200000 != 0 {
				return strconv.Itoa(pid)
			}
		}
	}
	t.Skip("no kernel thread is in sight: a container?")
	return ""
}

// tracerOf gives the tracer of a process, "0" if it has none.
func tracerOf(pid string) string {
	b, _ := os.ReadFile("/proc/" + pid + "/status")
	_, rest, _ := strings.Cut(string(b), "TracerPid:\t")
	tracer, _, _ := strings.Cut(rest, "\n")
	return tracer
}

func startStrace(t *testing.T) string {
	return traced(t, installed(t, "strace"), "-o", "/dev/null", "-p")
}

func startGDB(t *testing.T) string {
	return traced(t, installed(t, "gdb"), "-nx", "-q", "-batch", "-ex", "shell sleep 600", "-p")
}

// traced gives a process that another program traces.
func traced(t *testing.T, tracer string, args ...string) string {
	pid := sleeper(t)
	launch(t, exec.Command(tracer, append(args, pid)...))
	await(t, tracer+" traces the process", func() bool { return tracerOf(pid) != "0" })
	return pid
}

// TestSelf: fpstack cannot be given itself, since its id is not known before; but a
// shell may replace itself by it.
func TestSelf(t *testing.T) {
	o := execute(t, bound, "sh", "-c", `exec "$0" -p $$`, fpstack)
	checkEnd(t, o, nil)
	checkRefusal(t, o, "a process cannot stop itself", "second fpstack")
}

// TestNotPermitted: somebody without permission hears why, and what to do.
func TestNotPermitted(t *testing.T) {
	asRoot(t)
	pid := sleeper(t)
	// What is advised depends on where fpstack runs: TestRemediesFitThePlace.
	o := execute(t, bound, "env", "-u", "KUBERNETES_SERVICE_HOST", "-u", "container", "GITHUB_ACTIONS=true",
		installed(t, "setpriv"), "--reuid", "65534", "--regid", "65534", "--clear-groups", fpstack, "-p", pid)
	checkEnd(t, o, nil)
	checkRefusal(t, o, "process "+pid+" \"threads\": permission denied",
		"The process has uid 0 and we have uid 65534. Run ")
}

// TestSeveral: what cannot be shown does not keep the others back.
func TestSeveral(t *testing.T) {
	a, b, none := sleeper(t), sleeper(t), unusedPID(t)
	for _, tt := range []struct {
		name  string
		pids  []string
		want  int
		shown []string
	}{
		{"two that are there", []string{"-p", a, "-p", b}, 0, []string{a, b}},
		{"comma separated, one not there", []string{"-p", a + "," + none + "," + b}, 1, []string{a, b}},
		{"first not there", []string{"-p", none + "," + a}, 1, []string{a}},
		{"none there", []string{"-p", none + "," + none}, 2, nil},
		{"one twice", []string{"-p", a + "," + a}, 0, []string{a, a}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, tt.pids...)
			if o.status != tt.want {
				t.Errorf("status %d, want %d\n%s", o.status, tt.want, o.stderr)
			}
			var got []string
			for line := range strings.Lines(o.stdout) {
				if f := strings.Fields(line); len(f) > 1 && f[0] == "process" {
					got = append(got, f[1])
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(tt.shown) {
				t.Errorf("shown %v, want %v", got, tt.shown)
			}
			if ds := decode(t, show(t, append(tt.pids, "-f", "json")...).stdout); len(ds) != len(tt.shown) {
				t.Errorf("%d JSON documents, want %d", len(ds), len(tt.shown))
			}
		})
	}
}

// TestOtherCommands: the commands that need no process.
func TestOtherCommands(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want []string
	}{
		{[]string{"version"}, []string{"fpstack ", "linux/"}},
		{[]string{"--help"}, []string{"fpstack hang 4121", "-o, --output", "fpstack help --all"}},
		{[]string{"help", "--all"}, []string{"-p, --pid", "--max-frames", "--unwind"}},
		{[]string{"dump", "--help"}, []string{"fpstack dump 4121 --source", "--save"}},
		{[]string{"help", "dump", "--all"}, []string{"--pid", "--no-group"}},
		{[]string{"man"}, []string{`.TH "FPSTACK"`, "--max"}},
		{[]string{"completion", "zsh"}, []string{"#compdef fpstack"}},
		{[]string{"completion", "fish"}, []string{"complete -c fpstack"}},
	} {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			o := show(t, tt.args...)
			if o.status != 0 || o.stderr != "" {
				t.Errorf("status %d, standard error %q", o.status, o.stderr)
			}
			for _, want := range tt.want {
				if !strings.Contains(strings.ReplaceAll(o.stdout, `\-`, "-"), want) {
					t.Errorf("%q is not in the output", want)
				}
			}
		})
	}
}
