//go:build linux

package live

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// peerLimit is how long a peer may take.
const peerLimit = 2 * time.Minute

// place is one physical frame: its address, as it is on the stack, and its name, "" if
// it is not known.
type place struct {
	address uint64
	name    string
}

// peer is another program that shows stacks.
type peer struct {
	name   string
	stacks func(t testing.TB, pid int) map[int][]place // by thread id
}

var peers = []peer{{"eu-stack", euStack}, {"gdb", gdb}}

var (
	threadLine = regexp.MustCompile(`^TID (\d+):`)
	frameLine  = regexp.MustCompile(`^#\d+\s+(0x[0-9a-f]+)(?: (\S.*))?`)
)

// euStack reads what eu-stack prints: "TID n:", then a line a frame. Nothing bounds the
// number of frames.
func euStack(t testing.TB, pid int) map[int][]place {
	t.Helper()
	o := execute(t, peerLimit, installed(t, "eu-stack"), "-r", "-n", "0", "-p", strconv.Itoa(pid))
	return readStacks(o.stdout)
}

func readStacks(text string) map[int][]place {
	stacks := map[int][]place{}
	tid := 0
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if m := threadLine.FindStringSubmatch(line); m != nil {
			tid, _ = strconv.Atoi(m[1])
			stacks[tid] = nil
		} else if m := frameLine.FindStringSubmatch(line); m != nil && tid != 0 {
			stacks[tid] = append(stacks[tid], place{value(m[1]), m[2]})
		}
	}
	return stacks
}

// gdbScript prints physical frames in the form of eu-stack, without those that have no place
// on the stack: inlined functions, and functions that gdb knows to have ended in a jump. What
// gdb prints for people leaves the address out where a frame begins a source line.
const gdbScript = `
import gdb
gdb.execute("set backtrace past-main on")
gdb.execute("set backtrace past-entry on")
gdb.execute("set backtrace limit unlimited")
for thread in gdb.selected_inferior().threads():
    thread.switch()
    print("TID %d:" % thread.ptid[1])
    f, i = gdb.newest_frame(), 0
    while f is not None:
        if f.type() not in (gdb.INLINE_FRAME, gdb.TAILCALL_FRAME):
            print("#%d 0x%x %s" % (i, f.pc(), f.name() or ""))
            i += 1
        try:
            f = f.older()
        except gdb.error:
            break
`

// gdb asks gdb through its Python interface.
func gdb(t testing.TB, pid int) map[int][]place {
	t.Helper()
	script := filepath.Join(room(t), "frames.py")
	if err := os.WriteFile(script, []byte(gdbScript), 0o644); err != nil {
		t.Fatal(err)
	}
	o := execute(t, peerLimit, installed(t, "gdb"), "-nx", "-q", "-batch", "-iex", "set auto-load off",
		"-p", strconv.Itoa(pid), "-x", script)
	if !strings.Contains(o.stdout, "TID ") {
		t.Skipf("gdb does not work here: it shows no thread (has it Python?): %s", o.stderr)
	}
	return readStacks(o.stdout)
}
