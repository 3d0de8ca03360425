//go:build linux

package run

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// Where stacks cannot be had the command runs as always, what is known without them is shown, and why there is no more
// is said at the start and in the end.
func TestRefused(t *testing.T) {
	t.Parallel()
	harness.Need(t, "python3")
	// A seccomp filter that answers EPERM to ptrace and process_vm_readv, as a container runtime's does, and a change
	// of the user: root may do more.
	nobody := `import ctypes, os, sys
os.setgroups([]); os.setresgid(65534, 65534, 65534); os.setresuid(65534, 65534, 65534)
libc = ctypes.CDLL(None, use_errno=True)
`
	seccomp := `libc.prctl(38, 1, 0, 0, 0)
import struct
ptrace, readv = {"x86_64": (101, 310), "aarch64": (117, 270)}[os.uname().machine]
code = [(0x20, 0, 0, 0), (0x15, 2, 0, ptrace), (0x15, 1, 0, readv), (6, 0, 0, 0x7fff0000), (6, 0, 0, 0x50001)]
text = b"".join(struct.pack("HBBI", *c) for c in code)
buf = ctypes.create_string_buffer(text)
class Prog(ctypes.Structure): _fields_ = [("n", ctypes.c_ushort), ("p", ctypes.c_void_p)]
prog = Prog(len(code), ctypes.addressof(buf))
if libc.prctl(22, 2, ctypes.byref(prog), 0, 0): sys.exit("no seccomp")
`
	if os.Getuid() != 0 {
		t.Skip("it takes root to become somebody else")
	}
	word := mark()
	for _, tt := range []struct {
		name, before, script, early, late string
	}{
		{"an ordinary user", nobody, "sleep " + word, "", "clock_nanosleep"},
		{"ptrace is filtered", nobody + seccomp, "sleep " + word, "could not be shown if it hangs", "clock_nanosleep"},
		{"another user's program", "", "setpriv --reuid 65534 --clear-groups sleep " + word, "", "clock_nanosleep"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code := tt.before + "import os, sys\nos.execv(sys.argv[1], sys.argv[1:])"
			j := start(t, nil, "python3", "-c", code, fpstack, "run", "--deadline", "1.5", "--", "sh", "-c", tt.script)
			out, state := j.end(t)
			if state.ExitCode() != 124 {
				t.Errorf("status %d", state.ExitCode())
			}
			if !strings.Contains(out, tt.early) || !strings.Contains(out, tt.late) || strings.Contains(out, "panic") {
				t.Errorf("want %q and %q in\n%s", tt.early, tt.late, out)
			}
			if tt.early == "" && strings.Contains(out, "could not be shown if it hangs") {
				t.Errorf("a warning without a reason: %s", out)
			}
		})
	}
}

// In a user namespace without rights outside of it.
func TestUserNamespace(t *testing.T) {
	t.Parallel()
	word := mark()
	j := start(t, nil, "setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "unshare", "--user",
		"--map-root-user", fpstack, "run", "--deadline", "1", "--", "sleep", word)
	out, state := j.end(t)
	if strings.Contains(out, "unshare failed") {
		t.Skipf("no user namespaces here: %s", out)
	}
	if state.ExitCode() != 124 || !strings.Contains(out, "clock_nanosleep") {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
}

// A process that another tracer has is shown as far as it can be, and the tracer is named.
func TestOtherTracer(t *testing.T) {
	t.Parallel()
	harness.Need(t, "strace")
	word := mark()
	j := start(t, nil, fpstack, "run", "--deadline", "2", "--", "strace", "-o", "/dev/null", "-e", "trace=none",
		"sleep",
		word)
	out, state := j.end(t)
	if state.ExitCode() != 124 || !strings.Contains(out, "strace") {
		t.Errorf("status %d: %s", state.ExitCode(), out)
	}
}

// A command that may not be signalled by us (setuid, sudo) does not keep fpstack from ending.
func TestStatusOfOthers(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(fpstack, "run", "--", "setpriv", "--reuid", "65534", "--clear-groups", "sh", "-c", "kill -9 $$")
	err := cmd.Run()
	if err == nil {
		t.Fatal("it ended well")
	}
	if w := cmd.ProcessState.Sys().(syscall.WaitStatus); w.Signal() != syscall.SIGKILL {
		t.Errorf("it ended as %v", cmd.ProcessState)
	}
}
