//go:build linux

package live

import (
	"encoding/binary"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// momentThread is what a dump says of what a thread does.
type momentThread struct {
	TID     int
	Name    string
	State   string
	Syscall *struct {
		Number int64
		Name   string
	}
	Wait  *struct{ Text string }
	Stack struct {
		Frames []struct{ Address, Function string }
	}
}

const busyJVM = `
import java.util.concurrent.*;
import java.util.concurrent.locks.LockSupport;
public class Busy {
	static volatile long sink;
	static final Object lock = new Object();
	static void compute() { for (int i = 0; i < 60000; i++) sink += i; }
	public static void main(String[] a) throws Exception {
		SynchronousQueue<Integer> q = new SynchronousQueue<>();
		Thread[] all = {
			new Thread(() -> { for (;;) { compute(); LockSupport.parkNanos(50000); } }, "parks"),
			new Thread(() -> { for (;;) { compute(); try { q.put(1); } catch (InterruptedException e) { } } }, "puts"),
			new Thread(() -> { for (;;) { compute(); try { q.take(); } catch (InterruptedException e) { } } }, "takes"),
			new Thread(() -> { for (;;) synchronized (lock) { compute(); } }, "locks"),
			new Thread(() -> { for (;;) synchronized (lock) { sink += new byte[4096].length; } }, "allocates"),
		};
		for (Thread t : all) t.start();
		Thread.sleep(500);
		System.out.println("R");
	}
}
`

const busyNode = `
const crypto = require('crypto'), fs = require('fs');
let sink = 0;
function compute() { for (let i = 0; i < 60000; i++) sink += i; }
function tick() { compute(); setTimeout(tick, 0); }
function hash() { crypto.pbkdf2('a', 'b', 200, 16, 'sha1', hash); }
function read() { fs.readFile('/proc/self/status', read); }
tick(); hash(); read();
setTimeout(() => console.log('R'), 300);
`

// TestMomentOfServers dumps programs whose threads fall asleep and wake all the time. What is said above a stack is of
// the moment of that stack: a thread is said to sleep in a system call only where its innermost frame stands behind
// the instruction that makes one, and in that call if the code says which it makes.
func TestMomentOfServers(t *testing.T) {
	if runtime.GOARCH != "amd64" {
		t.Skip("it reads code of amd64")
	}
	t.Run("JVM", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "Busy.java")
		if err := os.WriteFile(file, []byte(busyJVM), 0o644); err != nil {
			t.Fatal(err)
		}
		checkMoments(t, launch(t, exec.Command(installed(t, "java"), "-Xmx64m", file)).ready(t).pid)
	})
	t.Run("node", func(t *testing.T) {
		checkMoments(t, launch(t, exec.Command(installed(t, "node"), "-e", busyNode)).ready(t).pid)
	})
	t.Run("Postgres", func(t *testing.T) {
		pids := startPostgres(t)
		server := pids[len(pids)-1]
		data, err := os.Readlink(fmt.Sprintf("/proc/%d/cwd", server))
		if err != nil {
			t.Fatal(err)
		}
		query := filepath.Join(t.TempDir(), "query")
		if err := os.WriteFile(query, []byte("select count(*) from generate_series(1, 30);\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		launch(t, exec.Command(filepath.Join(postgresPrograms(t), "pgbench"), "-h", filepath.Dir(data), "-U",
			"postgres", "-n", "-T", "300", "-f", query, "postgres"))
		backend, since := 0, time.Now()
		await(t, "a client is served for a second", func() bool { // the first connection only asks
			for _, pid := range childrenOf(server) {
				b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
				if !strings.Contains(string(b), "[local]") {
					continue
				}
				if pid != backend {
					backend, since = pid, time.Now()
				}
				return time.Since(since) > time.Second
			}
			return false
		})
		checkMoments(t, backend)
	})
}

// checkMoments dumps process pid sixty times.
func checkMoments(t *testing.T, pid int) {
	t.Helper()
	memory, err := os.Open(fmt.Sprintf("/proc/%d/mem", pid))
	if err != nil {
		t.Fatal(err)
	}
	defer memory.Close()
	const most = 60
	dumps := 0
	sleeping, others, named := 0, 0, 0
	for least := harness.Times(most); dumps < least || dumps < most && (sleeping == 0 || others == 0); dumps++ {
		o := show(t, "-p", strconv.Itoa(pid), "-f", "json")
		var d struct{ Threads []momentThread }
		if err := json.Unmarshal([]byte(o.stdout), &d); err != nil || len(d.Threads) == 0 {
			t.Fatalf("%v: status %d\n%s", err, o.status, o.stderr)
		}
		for i := range d.Threads {
			th := &d.Threads[i]
			if th.State != "S" && th.State != "D" && th.Syscall == nil && th.Wait == nil {
				others++
				continue
			}
			sleeping++
			number, is := callBefore(t, memory, th)
			switch {
			case !is:
				t.Errorf("thread %d %q is in no call: %+v", th.TID, th.Name, th)
			case number >= 0 && th.Syscall != nil && th.Syscall.Number != 219: // restart_syscall
				named++
				if number != th.Syscall.Number {
					t.Errorf("thread %d %q makes call %d: %+v", th.TID, th.Name, number, th)
				}
			}
		}
	}
	t.Logf("%d dumps: %d times a thread in a call, %d of them with a number in the code; %d times in none", dumps,
		sleeping, named, others)
	if sleeping == 0 || others == 0 {
		t.Errorf("threads were met %d times in a call, and %d times in none", sleeping, others)
	}
}

// callBefore reports whether the innermost frame of a thread stands behind an instruction that makes a system call,
// and which, if it is the one that is moved to eax not far before; else -1.
func callBefore(t *testing.T, memory *os.File, th *momentThread) (number int64, is bool) {
	t.Helper()
	if len(th.Stack.Frames) == 0 {
		return 0, false
	}
	pc, err := strconv.ParseInt(th.Stack.Frames[0].Address, 0, 64)
	if err != nil {
		t.Fatalf("address of %+v: %v", th, err)
	}
	var code [16]byte
	if _, err := memory.ReadAt(code[:], pc-int64(len(code))); err != nil {
		t.Fatalf("read code before %#x: %v", pc, err)
	}
	if code[14] != 0x0f || code[15] != 0x05 { // syscall
		return 0, false
	}
	if code[9] == 0xb8 { // mov $N, %eax, and the call at once
		return int64(binary.LittleEndian.Uint32(code[10:])), true
	}
	return -1, true
}
