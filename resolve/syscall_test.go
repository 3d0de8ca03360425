package resolve_test

import (
	"reflect"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// calls is a snapshot of threads that read descriptor 7, wait on epoll descriptor 5, sleep,
// and run.
func calls() *snapshot.Snapshot {
	s := &snapshot.Snapshot{Process: snapshot.Process{PID: 10, Comm: "x"}, Host: regs.AMD64,
		FDs: map[int]string{7: "pipe:[9]"}, Late: 1, Exited: 2}
	for i, c := range []*snapshot.Syscall{
		{Number: 0, Args: [6]uint64{7, 0x1000, 64}},
		{Number: 232, Args: [6]uint64{5, 0x2000, 8, 0xffffffff}},
		{Number: 230, Args: [6]uint64{0, 0, 0x3000, 0x3010}},
		nil,
	} {
		s.Threads = append(s.Threads, snapshot.Thread{TID: 10 + i, State: 'S', Syscall: c})
	}
	return s
}

func TestDescriptors(t *testing.T) {
	if got, want := resolve.Descriptors(calls()), []int{7, 5}; !reflect.DeepEqual(got, want) {
		t.Errorf("Descriptors: got %v, want %v", got, want)
	}
}

// A thread that comes back from a call as it is stopped is in it, with its descriptor.
func TestCallThatEnds(t *testing.T) {
	back := regs.New(regs.AMD64)
	back.Set(regs.AMD64.Syscall, 232)
	back.Set(regs.AMD64.Args[0], 7)
	back.Set(regs.AMD64.Result, 1)
	s := calls()
	s.Threads = []snapshot.Thread{{TID: 1, State: 'R', Arch: regs.AMD64, Registers: &back}}
	if got, want := resolve.Descriptors(s), []int{7}; !reflect.DeepEqual(got, want) {
		t.Errorf("Descriptors: got %v, want %v", got, want)
	}
	d := resolve.New(module.NewSet(maps.NewTable(nil), module.Image{}), resolve.Options{}).
		Dump(s, resolve.Walked{Threads: make([]unwind.Stack, 1)})
	call := d.Threads[0].Syscall
	if call == nil || call.Name != "epoll_wait" || call.Args[0].FD != "pipe:[9]" || d.Threads[0].State != "R" {
		t.Errorf("the thread: state %s, call %+v", d.Threads[0].State, call)
	}
}

// A 386 thread has other numbers: 3 is read there.
func TestDescriptorsOf32BitThread(t *testing.T) {
	s := calls()
	s.Threads = []snapshot.Thread{{TID: 1, Arch: regs.I386,
		Syscall: &snapshot.Syscall{Number: 3, Args: [6]uint64{4, 0, 1}}}}
	if got, want := resolve.Descriptors(s), []int{4}; !reflect.DeepEqual(got, want) {
		t.Errorf("Descriptors: got %v, want %v", got, want)
	}
}

func TestDumpDescribesCalls(t *testing.T) {
	s := calls()
	names := resolve.New(module.NewSet(maps.NewTable(nil), module.Image{}), resolve.Options{})
	d := names.Dump(s, resolve.Walked{Threads: make([]unwind.Stack, len(s.Threads))})
	if d.Late != 1 || d.Exited != 2 || d.Process.Arch != "amd64" {
		t.Errorf("Dump: got late %d, exited %d, arch %q, want 1, 2, amd64", d.Late, d.Exited, d.Process.Arch)
	}
	read := d.Threads[0].Syscall
	want := profile.Arg{Name: "fd", Value: 7, Text: "7", FD: "pipe:[9]"}
	if read.Name != "read" || read.Args[0] != want {
		t.Errorf("read: got %s(%+v, …), want read(%+v, …)", read.Name, read.Args[0], want)
	}
	if wait := d.Threads[1].Syscall; wait.Args[3].Text != "-1" || wait.Args[0].FD != "" {
		t.Errorf("epoll_wait: got timeout %q and descriptor %q, want -1 and none", wait.Args[3].Text, wait.Args[0].FD)
	}
	if d.Threads[3].Syscall != nil {
		t.Errorf("running thread: got call %+v, want none", d.Threads[3].Syscall)
	}
}

func TestWait(t *testing.T) {
	for _, tt := range []struct {
		name string
		arch *regs.Arch
		nr   int64
		want string
	}{
		{"call of amd64", regs.AMD64, 232, "epoll_wait"},
		{"the same number on 386", regs.I386, 3, "read"},
		{"no call", regs.AMD64, -1, "(blocked)"},
		{"number of no call", regs.AMD64, 99999, "system call 99999"},
		{"architecture unknown", nil, 0, "system call 0"},
	} {
		if got := resolve.Wait(tt.arch, &snapshot.Syscall{Number: tt.nr}); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

// Only what the kernel goes on with by restart_syscall is believed, of threads that are in it.
func TestRestarted(t *testing.T) {
	for _, tc := range []struct {
		name         string
		call, proved int64
		ok           bool
		want         int64
	}{
		{"clock_nanosleep", 219, 230, true, 230},
		{"poll", 219, 7, true, 7},
		{"futex", 219, 202, true, 202},
		{"a call that is never restarted so", 219, 0, true, 219},
		{"not proved", 219, 230, false, 219},
		{"no number of a call", 219, 1 << 40, true, 219},
		{"another call", 0, 230, true, 0},
		{"blocked outside of a call", -1, 230, true, -1},
	} {
		call := &snapshot.Syscall{Number: tc.call, Args: [6]uint64{1, 2, 3}}
		s := &snapshot.Snapshot{Host: regs.AMD64, Threads: []snapshot.Thread{{Syscall: call}, {}}}
		resolve.Restarted(s, func(*snapshot.Thread) (int64, bool) { return tc.proved, tc.ok })
		if got := s.Threads[0].Syscall; got.Number != tc.want || got.Args != call.Args || call.Number != tc.call {
			t.Errorf("%s: got %+v (was %+v), want number %d", tc.name, *got, *call, tc.want)
		}
	}
}
