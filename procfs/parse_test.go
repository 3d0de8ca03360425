package procfs

import (
	"encoding/binary"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestParseStat(t *testing.T) {
	const tail = " 1 4121 4121 34816 -1 4194560 117 9 0 0 31 4 12 5 20 0 1 0 7133 2580480 197\n"
	for _, row := range []struct {
		name, text string
		want       Stat
	}{
		{"plain", "4121 (sleep) S" + tail,
			Stat{4121, "sleep", 'S', 1, 4121, 4121, -1, 4194560, 35, 17, 7133, 34816, 4, 9}},
		{"name that imitates the end", "4121 (a) R 1) S" + tail, Stat{4121, "a) R 1", 'S', 1, 4121, 4121, -1, 4194560,
			35, 17, 7133, 34816, 4, 9}},
		{"name with a newline and a parenthesis", "4121 (a\n() T" + tail, Stat{4121, "a\n(", 'T', 1, 4121, 4121, -1,
			4194560, 35, 17, 7133, 34816, 4, 9}},
		{"empty name", "4121 () Z" + tail, Stat{4121, "", 'Z', 1, 4121, 4121, -1, 4194560, 35, 17, 7133, 34816, 4, 9}},
		{"cut behind the flags", "4121 (sleep) S 1 4121 4121 34816 -1 4194560", Stat{4121, "sleep", 'S', 1, 4121,
			4121, -1, 4194560, 0, 0, 0, 34816, 0, 0}},
	} {
		got, err := ParseStat([]byte(row.text))
		if err != nil || got != row.want {
			t.Errorf("%s: got %+v, %v, want %+v", row.name, got, err, row.want)
		}
	}
	for _, text := range []string{"", "4121", "4121 (a", "4121 )(", "4121 (a) S", "4121 (a) SS 1 1 1 0 -1 0",
		"x (a) S 1 1 1 0 -1 0"} {
		if got, err := ParseStat([]byte(text)); err == nil {
			t.Errorf("%q: got %+v, want an error", text, got)
		}
	}
}

func TestStackStart(t *testing.T) {
	const head = "4121 (a) R 1) S 1 4121 4121 34816 -1 4194560 117 0 0 0 31 4 12 5 20 0 1 0 7133 2580480 197 "
	for _, row := range []struct {
		text string
		want uint64
		ok   bool
	}{
		{head + "18446744073709551615 94 95 140728629414112 0 0 0\n", 140728629414112, true},
		{head + "18446744073709551615 1 1 0 0 0 0\n", 0, false}, // to who may not trace it
		{head + "18446744073709551615 94 95\n", 0, false},
		{head + "1 2 3 x 0\n", 0, false},
		{"", 0, false},
	} {
		if got, ok := StackStart([]byte(row.text)); got != row.want && ok || ok != row.ok {
			t.Errorf("%q: got %d, %v, want %d, %v", row.text, got, ok, row.want, row.ok)
		}
	}
}

func TestKernelWorker(t *testing.T) {
	for _, row := range []struct {
		stat Stat
		want bool
	}{
		{Stat{Comm: "iou-wrk-4121", Flags: 0x400010}, true},
		{Stat{Comm: "iou-sqp-4121", Flags: 0x404050}, true},
		{Stat{Comm: "main", Flags: 0x404010}, true},          // just born
		{Stat{Comm: "iou-wrk-4121", Flags: 0x400000}, false}, // a thread that calls itself so
		{Stat{Comm: "qemu", Flags: 0x400010}, false},         // PF_VCPU of an older kernel
	} {
		if got := row.stat.KernelWorker(); got != row.want {
			t.Errorf("%+v: got %v", row.stat, got)
		}
	}
}

func TestParseStatus(t *testing.T) {
	const text = "Name:\ta b\nState:\tS (sleeping)\nTgid:\t4121\nPid:\t4122\nPPid:\t4100\nTracerPid:\t77\n" +
		"NSpid:\t4122\t300\t7\n" +
		"Uid:\t0\t1\t2\t3\nGid:\t4\t5\t6\t7\nCoreDumping:\t1\nCapPrm:\t000001ffffffffff\nCapEff:\t0000000000080000\n" +
		"Seccomp:\t2\nVmSize:\t 1 kB\nVmSwap:\t       4 kB\nKthread:\t0\n"
	want := Status{Name: "a b", State: 'S', PID: 4122, TGID: 4121, Inner: 7, Parent: 4100, TracerPid: 77,
		UIDs: [4]int{0, 1, 2, 3}, GIDs: [4]int{4, 5, 6, 7},
		CapPrm: 0x1ffffffffff, CapEff: 0x80000, Seccomp: 2, CoreDumping: true,
		Memory: true, Swapped: true, Kthread: 0}
	if got, err := ParseStatus([]byte(text)); err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if got, err := ParseStatus([]byte("Tgid:\t1\nVmSwap:\t       0 kB\n")); err != nil || got.Swapped {
		t.Errorf("nothing is swapped out: got %+v, %v", got, err)
	}
	got, err := ParseStatus([]byte("Tgid:\t1\n"))
	if err != nil || got.Seccomp != -1 || got.Kthread != -1 || got.PID != -1 || got.State != 0 || got.Parent != -1 ||
		got.TracerPid != -1 || got.UIDs[0] != -1 {
		t.Errorf("what is missing is not -1: %+v, %v", got, err)
	}
	for _, bad := range []string{"", "Name:\tx\n", "Tgid:\tx\n", "Tgid:\t1\nUid:\t-1\n", "Tgid:\t1\nCapEff:\tzz\n"} {
		if _, err := ParseStatus([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseSyscall(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       *Syscall
	}{
		{"running", "running\n", nil},
		{"outside of a call", "-1 0x7ffc0000 0x401136\n", &Syscall{Number: -1, SP: 0x7ffc0000, PC: 0x401136}},
		{"in read", "0 0x3 0x7ffd 0x400 0x0 0x0 0xffffffffffffffff 0x7ffc0000 0x7f3a\n",
			&Syscall{Args: [6]uint64{3, 0x7ffd, 0x400, 0, 0, 1<<64 - 1}, SP: 0x7ffc0000, PC: 0x7f3a}},
	} {
		got, asleep, err := ParseSyscall([]byte(row.text))
		if err != nil || asleep != (row.want != nil) || asleep && got != *row.want {
			t.Errorf("%s: got %+v, %v, %v, want %+v", row.name, got, asleep, err, row.want)
		}
	}
	for _, bad := range []string{"", "0\n", "5 0x1 0x2\n", "-1 7ffc 0x1\n", "0 1 2 3 4 5 6 7 8 9\n", "x 0x1 0x2\n"} {
		if _, _, err := ParseSyscall([]byte(bad)); err == nil {
			t.Errorf("%q: no error", bad)
		}
	}
}

func TestParseKernelStack(t *testing.T) {
	got := ParseKernelStack([]byte("[<0>] do_wait+0x5f/0xe0\n[<ffffffff81000000>] kernel_wait4+0xaf\n\n"))
	if want := []string{"do_wait+0x5f/0xe0", "kernel_wait4+0xaf"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ParseKernelStack([]byte(strings.Repeat("[<0>] f\n", 1000))); len(got) != maxKernelFrames {
		t.Errorf("got %d frames", len(got))
	}
	if got := ParseWchan([]byte("0")); got != "" {
		t.Errorf("hidden wchan: got %q", got)
	}
}

func TestParseInet(t *testing.T) {
	if binary.NativeEndian.Uint16([]byte{1, 0}) != 1 {
		t.Skip("the lines are those of a little-endian machine")
	}
	for _, row := range []struct{ table, line, local, remote, state string }{
		{"tcp", "   0: 0100007F:1F90 00000000:0000 0A 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 " +
			"100 0 0 10 0", "127.0.0.1:8080", "0.0.0.0:0", "LISTEN"},
		{"tcp", "   1: 0100007F:1F90 0200007F:A001 01 00000000:00000000 00:00000000 00000000     0        0 4242 1 0 " +
			"20 4 30 10 -1", "127.0.0.1:8080", "127.0.0.2:40961", "ESTABLISHED"},
		{"udp6", "  9: B80D0120000000000000000001000000:0035 00000000000000000000000000000000:0000 07 " +
			"00000000:00000000 00:00000000 00000000  0  0 4242 2 0 0", "[2001:db8::1]:53", "[::]:0", ""},
	} {
		got, ok := ParseInetSocket(row.table, row.line)
		if !ok || got.Inode != 4242 || got.Local.String() != row.local || got.Remote.String() != row.remote ||
			got.State != row.state {
			t.Errorf("got %+v, %v, want %+v", got, ok, row)
		}
	}
	if _, ok := ParseInetSocket("tcp", "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when "+
		"retrnsmt   uid  timeout inode"); ok {
		t.Error("the titles count as a socket")
	}
}

func FuzzProc(f *testing.F) {
	for _, name := range []string{"stat", "status", "syscall", "stack", "net/tcp", "net/tcp6", "net/unix", "mountinfo",
		"../locks", "fdinfo/0"} {
		if b, err := os.ReadFile("/proc/self/" + name); err == nil {
			f.Add(b)
		}
	}
	f.Add([]byte("1 (a) b) S 1 1 1 0 -1 0"))
	f.Add([]byte("0 0x3 0x7ffd 0x400 0x0 0x0 0xffffffffffffffff 0x7ffc0000 0x7f3a\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if st, err := ParseStat(b); err == nil && st.State == 0 {
			t.Error("stat without an error and without a state")
		}
		ParseFDInfo(b)
		ParseFileLocks(b)
		ParseMounts(b)
		if st, err := ParseStatus(b); err == nil && st.TGID < 0 {
			t.Error("status without an error and without a process")
		}
		if _, asleep, err := ParseSyscall(b); asleep && err != nil {
			t.Error("syscall with a result and an error")
		}
		if len(ParseKernelStack(b)) > maxKernelFrames {
			t.Error("kernel stack without a bound")
		}
		ParseWchan(b)
		for line := range strings.Lines(string(b)) {
			ParseInetSocket("tcp", line)
		}
	})
}

func TestParseLastID(t *testing.T) {
	for _, row := range []struct {
		text string
		want int
	}{
		{"0.31 0.22 0.18 2/497 18320\n", 18320}, {"0.00 0.00 0.00 1/1 1", 1},
		{"", 0}, {"0.31 0.22 0.18 2/497\n", 0}, {"0.31 0.22 0.18 2/497 x\n", 0}, {"18320\n", 0},
	} {
		got, err := ParseLastID([]byte(row.text))
		if got != row.want || (err == nil) != (row.want > 0) {
			t.Errorf("%q: got %d, %v, want %d", row.text, got, err, row.want)
		}
	}
}

func FuzzParseLastID(f *testing.F) {
	f.Add([]byte("0.31 0.22 0.18 2/497 18320\n"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if id, err := ParseLastID(b); err == nil && id < 0 || err != nil && id != 0 {
			t.Errorf("%q: %d, %v", b, id, err)
		}
	})
}

func FuzzChildren(f *testing.F) {
	f.Add([]byte("12 13 4194304 "))
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, pid := range AppendNumbers(nil, b) {
			if pid < 0 {
				t.Errorf("%q: %d", b, pid)
			}
		}
	})
}

func TestParseSchedstat(t *testing.T) {
	for _, row := range []struct {
		name, text string
		want       Schedstat
		bad        bool
	}{
		{"ran", "1234567 89 12\n", Schedstat{CPU: 1234567, Waited: 89, Switches: 12}, false},
		{"never ran", "0 0 0\n", Schedstat{}, false},
		{"two numbers", "1 2\n", Schedstat{}, true},
		{"empty", "", Schedstat{}, true},
		{"negative", "-1 2 3\n", Schedstat{}, true},
		{"words", "a b c\n", Schedstat{}, true},
		{"more digits than 64 bits have", "99999999999999999999 2 3\n", Schedstat{}, true},
	} {
		got, err := ParseSchedstat([]byte(row.text))
		if got != row.want || (err != nil) != row.bad {
			t.Errorf("%s: got %+v, %v, want %+v, error %v", row.name, got, err, row.want, row.bad)
		}
	}
}

func FuzzParseSchedstat(f *testing.F) {
	f.Add([]byte("1234567 89 12\n"))
	f.Add([]byte("0 0 0"))
	f.Fuzz(func(t *testing.T, b []byte) {
		if c, err := ParseSchedstat(b); err != nil && c != (Schedstat{}) {
			t.Errorf("%q: %+v and %v", b, c, err)
		}
	})
}
