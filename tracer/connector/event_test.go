//go:build linux

package connector

import (
	"encoding/binary"
	"os/exec"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// kernelEvent lays out a message as the kernel makes it. Its struct proc_event has always the size of the largest kind.
func kernelEvent(what, ack uint32, data ...uint32) []byte {
	n := binary.NativeEndian
	const event = 40
	b := n.AppendUint32(nil, eventAt+event)
	b = n.AppendUint32(b, unix.NLMSG_DONE)
	b = n.AppendUint32(b, 0)
	b = n.AppendUint32(b, 0)
	for _, v := range []uint32{cnIdxProc, cnValProc, 4711, ack, event, what, 1, 0, 0} {
		b = n.AppendUint32(b, v)
	}
	for _, v := range data {
		b = n.AppendUint32(b, v)
	}
	return append(b, make([]byte, eventAt+event-len(b))...)
}

func TestParseEvent(t *testing.T) {
	fork := kernelEvent(eventFork, 0, 11, 10, 20, 20)
	change := func(at int, v byte) []byte {
		b := append([]byte(nil), fork...)
		b[at] = v
		return b
	}
	for _, tt := range []struct {
		name string
		b    []byte
		want Event
		ok   bool
	}{
		{"a process begins", fork, Event{PID: 20, TID: 20, Parent: 10}, true},
		{"a thread begins", kernelEvent(eventFork, 0, 1, 1, 21, 20), Event{PID: 20, TID: 21}, true},
		{"a child of what the namespace does not hold", kernelEvent(eventFork, 0, 0, 0, 20, 20),
			Event{PID: 20, TID: 20}, true},
		{"a process ends", kernelEvent(eventExit, 0, 20, 20, 256, 17), Event{Ended: true, PID: 20, TID: 20}, true},
		{"a thread ends", kernelEvent(eventExit, 0, 21, 20), Event{Ended: true, PID: 20, TID: 21}, true},
		{"an exec", kernelEvent(2, 0, 20, 20), Event{}, false},
		{"an answer", kernelEvent(eventAnswer, 8, 0), Event{}, false},
		{"no id", kernelEvent(eventFork, 0, 1, 1, 0, 0), Event{}, false},
		{"an id below zero", kernelEvent(eventExit, 0, 0xffffffff, 20), Event{PID: 20, TID: -1, Ended: true}, false},
		{"nothing", nil, Event{}, false},
		{"cut in the header", fork[:15], Event{}, false},
		{"cut in the data", fork[:len(fork)-1], Event{}, false},
		{"another connector", change(16, 9), Event{}, false},
		{"another value", change(20, 9), Event{}, false},
		{"longer than it is", change(0, byte(len(fork)+1)), Event{}, false},
		{"content longer than it is", change(32, 41), Event{}, false},
		{"content that is none", change(32, 0), Event{}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := ParseEvent(tt.b)
			if ok != tt.ok || ok && got != tt.want {
				t.Errorf("got %+v, %v, want %+v, %v", got, ok, tt.want, tt.ok)
			}
		})
	}
}

func TestParseAnswer(t *testing.T) {
	for _, tt := range []struct {
		name    string
		b       []byte
		refusal unix.Errno
		ok      bool
	}{
		{"granted", kernelEvent(eventAnswer, 8, 0), 0, true},
		{"refused", kernelEvent(eventAnswer, 8, uint32(unix.EPERM)), unix.EPERM, true},
		{"to somebody else", kernelEvent(eventAnswer, 9, 0), 0, false},
		{"no answer", kernelEvent(eventAnswer, 0, 0), 0, false},
		{"an event", kernelEvent(eventFork, 8, 0), 0, false},
	} {
		if refusal, ok := parseAnswer(tt.b, 7); refusal != tt.refusal || ok != tt.ok {
			t.Errorf("%s: got %v, %v, want %v, %v", tt.name, refusal, ok, tt.refusal, tt.ok)
		}
	}
}

// The layout is that of linux/include/uapi/linux/cn_proc.h: 16 + 20 + 8 bytes with a filter, 16 + 20 + 4 without.
func TestAppendRequest(t *testing.T) {
	b := appendRequest(nil, 7, listenToEvents, eventFork|eventExit)
	n := binary.NativeEndian
	if len(b) != 44 || n.Uint32(b) != 44 || n.Uint16(b[32:]) != 8 || n.Uint32(b[36:]) != 1 ||
		n.Uint32(b[40:]) != 0x80000001 {
		t.Errorf("got % x", b)
	}
	if b := appendRequest(nil, 7, ignoreEvents); len(b) != 40 || n.Uint16(b[32:]) != 4 {
		t.Errorf("without a filter: got % x", b)
	}
}

func FuzzParseEvent(f *testing.F) {
	f.Add(kernelEvent(eventFork, 0, 11, 10, 20, 20))
	f.Add(kernelEvent(eventExit, 0, 20, 20, 0, 17))
	f.Add(kernelEvent(eventAnswer, 8, 0)[:56])
	f.Fuzz(func(t *testing.T, b []byte) {
		e, ok := ParseEvent(b)
		if ok && (e.PID <= 0 || e.TID <= 0 || e.Parent < 0) {
			t.Errorf("%+v of % x", e, b)
		}
		parseAnswer(b, 7)
	})
}

func openEvents(t *testing.T) *Events {
	t.Helper()
	e, err := Open()
	if err != nil {
		t.Skipf("no process events here: %v", err)
	}
	t.Cleanup(func() { e.Close() })
	return e
}

// await reads until the event that is wanted, and leaves what comes after it.
func (e *Events) await(t *testing.T, what string, is func(Event) bool) {
	t.Helper()
	var into [1]Event
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
		n, err := e.Read(into[:])
		if err != nil {
			t.Fatal(err)
		}
		for _, event := range into[:n] {
			if is(event) {
				return
			}
		}
		if n == 0 {
			e.Wait(100 * time.Millisecond)
		}
	}
	t.Fatalf("%s was not reported", what)
}

func TestEventsOfProcessAndThread(t *testing.T) {
	e := openEvents(t)
	cmd := exec.Command("sleep", "0")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	child, own := cmd.Process.Pid, unix.Getpid()
	e.await(t, "the child's begin", func(v Event) bool { return v == Event{PID: child, TID: child, Parent: own} })
	e.await(t, "the child's end", func(v Event) bool { return v == Event{Ended: true, PID: child, TID: child} })

	tids := make(chan int)
	var begin func()
	begin = func() {
		runtime.LockOSThread() // so that the thread ends with the goroutine
		if unix.Gettid() == own {
			go begin() // the first thread does not end; another than this goes on
			select {}
		}
		tids <- unix.Gettid()
	}
	go begin()
	tid := <-tids
	e.await(t, "the thread's end", func(v Event) bool { return v == Event{Ended: true, PID: own, TID: tid} })
}

// TestEventsOverrun has more happen than the kernel keeps for us: it is reported, and what comes later is heard.
func TestEventsOverrun(t *testing.T) {
	e := openEvents(t)
	if err := unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, 1); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		if err := exec.Command("true").Run(); err != nil {
			t.Fatal(err)
		}
	}
	var into [256]Event
	missed := false
	for range 20 { // some wait behind those that were lost
		_, err := e.Read(into[:])
		missed = missed || err == ErrMissed
	}
	if !missed {
		t.Fatal("a lost event was not reported")
	}
	if err := unix.SetsockoptInt(e.fd, unix.SOL_SOCKET, unix.SO_RCVBUF, eventRoom); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("true")
	if err := cmd.Run(); err != nil {
		t.Fatal(err)
	}
	e.await(t, "what began later", func(v Event) bool { return v.PID == cmd.Process.Pid })
}

// What another process sends us is no event.
func TestEventsOfAnotherSender(t *testing.T) {
	e := openEvents(t)
	own, err := unix.Getsockname(e.fd)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := unix.Socket(unix.AF_NETLINK, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, unix.NETLINK_CONNECTOR)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	const drawn = 1 << 29 // no id of a process can be so high
	to := &unix.SockaddrNetlink{Family: unix.AF_NETLINK, Pid: own.(*unix.SockaddrNetlink).Pid}
	if err := unix.Sendto(fd, kernelEvent(eventFork, 0, 1, 1, drawn, drawn), 0, to); err != nil {
		t.Skipf("the kernel lets nobody else send: %v", err)
	}
	var into [256]Event
	n, err := e.Read(into[:])
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range into[:n] {
		if v.PID == drawn {
			t.Errorf("%+v was believed", v)
		}
	}
}
