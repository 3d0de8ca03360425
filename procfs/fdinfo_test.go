package procfs

import (
	"fmt"
	"math"
	"reflect"
	"strings"
	"testing"
	"time"
)

// TestParseFDInfo reads what Linux 6.18 wrote for a descriptor of each kind.
func TestParseFDInfo(t *testing.T) {
	const plain = "pos:\t0\nflags:\t02000002\nmnt_id:\t17\nino:\t1038\n"
	base := func(change func(*FDInfo)) FDInfo {
		f := FDInfo{Flags: 0o2000002, MountID: 17, Inode: 1038, TTY: -1, Fuse: -1}
		change(&f)
		return f
	}
	for _, row := range []struct {
		name, more string
		want       FDInfo
	}{
		{"plain file", "", base(func(*FDInfo) {})},
		{"eventfd", "eventfd-count:                1f\neventfd-id: 7\neventfd-semaphore: 0\n",
			base(func(f *FDInfo) { f.Eventfd = &Eventfd{7, 31} })},
		{"eventfd of an older kernel", "eventfd-count:                3\n",
			base(func(f *FDInfo) { f.Eventfd = &Eventfd{-1, 3} })},
		{"timerfd", "clockid: 1\nticks: 0\nsettime flags: 00\nit_value: (4, 999962214)\nit_interval: (2, 5)\n",
			base(func(f *FDInfo) { f.Timer = &Timer{4999962214, 2*time.Second + 5} })},
		{"epoll", "tfd:        5 events:       19 data:                5  pos:0 ino:40e sdev:10\n" +
			"tfd:        3 events: 80000019 data: ffffffffffffffff  pos:0 ino:dac10d sdev:fe00001\n",
			base(func(f *FDInfo) {
				f.Epoll = []EpollTarget{{5, 0x19, 0x40e, 0x10}, {3, 0x80000019, 0xdac10d, MakeDevice(254, 1)}}
			})},
		{"epoll of an older kernel", "tfd:        5 events:       19 data:                5\n",
			base(func(f *FDInfo) { f.Epoll = []EpollTarget{{5, 0x19, 0, 0}} })},
		{"inotify", "inotify wd:1 ino:3c4a3 sdev:fe00000 mask:2 ignored_mask:0 fhandle-bytes:8 f_handle:a3c4\n",
			base(func(f *FDInfo) { f.Inotify = []InotifyWatch{{0x3c4a3, MakeDevice(254, 0), 2}} })},
		{"pidfd", "Pid:\t16794\nNSpid:\t16794\n", base(func(f *FDInfo) { f.PID, f.HasPID = 16794, true })},
		{"pidfd of an ended process", "Pid:\t-1\nNSpid:\t-1\n", base(func(f *FDInfo) { f.PID, f.HasPID = -1, true })},
		{"signalfd", "sigmask:\t0000000200000200\n", base(func(f *FDInfo) { f.Signals = 0x200000200 })},
		{"ptmx", "tty-index:\t3\n", base(func(f *FDInfo) { f.TTY = 3 })},
		{"fuse", "fuse_connection:\t39\n", base(func(f *FDInfo) { f.Fuse = 39 })},
		{"io_uring", "SqMask:\t0x3\nPollList:\n  op=22, task_works=0\n  op=6, task_works=1\nCqOverflowList:\n",
			base(func(f *FDInfo) { f.Ring = &Ring{[]int{22, 6}} })},
		{"locks", "lock:\t1: FLOCK  ADVISORY  WRITE 18438 fe:00:9978238 0 EOF\n" +
			"lock:\t2: OFDLCK ADVISORY  READ -1 fe:00:9978238 10 19\n", base(func(f *FDInfo) {
			f.Locks = []FileLock{
				{1, false, "FLOCK", true, 18438, MakeDevice(254, 0), 9978238, 0, math.MaxUint64},
				{2, false, "OFDLCK", false, -1, MakeDevice(254, 0), 9978238, 10, 19}}
		})},
		{"operations without a ring", "  op=22, task_works=0\n", base(func(*FDInfo) {})},
		{"rubbish", "tfd: x\ninotify\nit_value: (1\nlock:\nPid\n:\n", base(func(*FDInfo) {})},
	} {
		if got := ParseFDInfo([]byte(plain + row.more)); !reflect.DeepEqual(got, row.want) {
			t.Errorf("%s: got %+v, want %+v", row.name, got, row.want)
		}
	}
}

// TestParseFDInfoBound: a set of a million targets is not kept whole, and says so.
func TestParseFDInfoBound(t *testing.T) {
	var b strings.Builder
	for i := range maxTargets + 5 {
		fmt.Fprintf(&b, "tfd:        %d events:       19 data:                5  pos:0 ino:40e sdev:10\n", i)
	}
	if got := ParseFDInfo([]byte(b.String())); len(got.Epoll) != maxTargets || !got.Cut {
		t.Errorf("got %d targets, cut %v", len(got.Epoll), got.Cut)
	}
}

func TestParseFileLocks(t *testing.T) {
	const text = "1: POSIX  ADVISORY  WRITE 18438 fe:00:9978364 0 EOF\n" +
		"1: -> POSIX  ADVISORY  READ 18440 fe:00:9978364 100 109\n" +
		"1:     -> POSIX  ADVISORY  WRITE 18441 fe:00:9978364 105 105\n" + // waits for the one that waits
		"2: OFDLCK ADVISORY  READ -1 103:00005:12 5 9\n" + "3: LEASE  ACTIVE    READ 7 00:1c:3 0 EOF\nrubbish\n"
	file := MakeDevice(254, 0)
	want := []FileLock{{1, false, "POSIX", true, 18438, file, 9978364, 0, math.MaxUint64},
		{1, true, "POSIX", false, 18440, file, 9978364, 100, 109},
		{1, true, "POSIX", true, 18441, file, 9978364, 105, 105},
		{2, false, "OFDLCK", false, -1, MakeDevice(0x103, 5), 12, 5, 9},
		{3, false, "LEASE", false, 7, MakeDevice(0, 0x1c), 3, 0, math.MaxUint64}}
	got := ParseFileLocks([]byte(text))
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	if l := &want[1]; !l.Overlaps(109, 200) || l.Overlaps(110, 200) || l.Overlaps(0, 99) {
		t.Error("bytes 100 to 109: overlap is wrong")
	}
}

func TestParseInetSocket(t *testing.T) {
	const line = "   1: 0100007F:1F90 0100007F:A2C4 01 00000005:0000000A 00:00000000 00000000  0  0 4242 1 0 20"
	got, ok := ParseInetSocket("tcp", line)
	if !ok || got.Inode != 4242 || got.Local.String() != "127.0.0.1:8080" || got.Remote.String() != "127.0.0.1:41668" ||
		got.State != "ESTABLISHED" || got.Unsent != 5 || got.Unread != 10 {
		t.Errorf("got %+v, %v", got, ok)
	}
}

func TestPipeInode(t *testing.T) {
	for name, want := range map[string]uint64{"pipe:[14336269]": 14336269, "pipe:[1": 0, "socket:[7]": 0,
		"pipe:[]": 0} {
		if got, ok := PipeInode(name); got != want || ok != (want != 0) {
			t.Errorf("%q: got %d, %v", name, got, ok)
		}
	}
}
