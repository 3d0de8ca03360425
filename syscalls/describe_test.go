package syscalls

import (
	"slices"
	"strings"
	"testing"
)

// show writes a call as strace does.
func show(c Call) string {
	texts := make([]string, len(c.Args))
	for i, a := range c.Args {
		texts[i] = a.Text
	}
	return c.Name + "(" + strings.Join(texts, ", ") + ")"
}

func TestDescribe(t *testing.T) {
	const all = 0xffffffffffffffff
	type words = [Words]uint64
	tests := []struct {
		name, arch string
		nr         int64
		words      words
		want       string
		fds        []int
	}{
		{"event loop", "amd64", 232, words{5, 0x55d0c2a01000, 10128, 100, 0, 7},
			"epoll_wait(5, 0x55d0c2a01000, 10128, 100)", []int{5}},
		{"no time limit, as 64 bits", "amd64", 232, words{5, 0x7ffd0000, 64, all},
			"epoll_wait(5, 0x7ffd0000, 64, -1)", []int{5}},
		{"no time limit, as 32 bits", "amd64", 7, words{0x7ffd0000, 2, 0xffffffff}, "poll(0x7ffd0000, 2, -1)", nil},
		{"upper half of an int is noise", "amd64", 0, words{0xdead00000003, 0x1000, 512},
			"read(3, 0x1000, 512)", []int{3}},
		{"condition variable", "amd64", 202, words{0x55d0c1d51028, 393, 0, 0, 0, 0xffffffff},
			"futex(0x55d0c1d51028, FUTEX_WAIT_BITSET_PRIVATE|FUTEX_CLOCK_REALTIME, 0, NULL, NULL, 4294967295)", nil},
		{"mutex", "amd64", 202, words{0x1000, 128, 2, 0, 0, 0}, "futex(0x1000, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0)",
			nil},
		{"shared futex", "amd64", 202, words{0x1000, 0, 2, 0, 0, 0}, "futex(0x1000, FUTEX_WAIT, 2, NULL, NULL, 0)",
			nil},
		{"futex operation that is none", "amd64", 202, words{0x1000, 0x77777777, 2, 0, 0, 0},
			"futex(0x1000, 0x77777777, 2, NULL, NULL, 0)", nil},
		{"sleep", "amd64", 230, words{0, 0, 0x7ffd10, 0x7ffd10},
			"clock_nanosleep(CLOCK_REALTIME, 0, 0x7ffd10, 0x7ffd10)", nil},
		{"clock of a process", "amd64", 230, words{0xfffffffffffffffa, 1, 0x10, 0},
			"clock_nanosleep(-6, 0x1, 0x10, NULL)", nil},
		{"any child", "amd64", 61, words{all, 0x7ffd10, 0, 0}, "wait4(-1, 0x7ffd10, 0, NULL)", nil},
		{"child with options", "amd64", 61, words{all, 0, 0x40000003, 0},
			"wait4(-1, NULL, WNOHANG|WSTOPPED|__WALL, NULL)", nil},
		{"waitid", "amd64", 247, words{1, 77, 0x7ffd10, 0x1000004, 0},
			"waitid(P_PID, 77, 0x7ffd10, WEXITED|WNOWAIT, NULL)", nil},
		{"file lock", "amd64", 72, words{4, 7, 0x7ffd10}, "fcntl(4, F_SETLKW, 0x7ffd10)", []int{4}},
		{"open file description lock", "amd64", 72, words{4, 38, 0x7ffd10},
			"fcntl(4, F_OFD_SETLKW, 0x7ffd10)", []int{4}},
		{"fcntl command that is none", "amd64", 72, words{4, 1029, 0}, "fcntl(4, 1029, 0)", []int{4}},
		{"flock", "amd64", 73, words{4, 6}, "flock(4, LOCK_EX|LOCK_NB)", []int{4}},
		{"two descriptors", "amd64", 275, words{3, 0, 4, 0, 65536, 1}, "splice(3, NULL, 4, NULL, 65536, 0x1)",
			[]int{3, 4}},
		{"working directory", "amd64", 257, words{0xffffff9c, 0x1000, 0x80000, 0},
			"openat(AT_FDCWD, 0x1000, 0x80000, 0)", nil},
		{"create", "amd64", 85, words{0x1000, 0o644}, "creat(0x1000, 0644)", nil},
		{"no descriptor", "amd64", 9, words{0, 4096, 3, 0x22, 0xffffffff, 0},
			"mmap(NULL, 4096, 0x3, 0x22, -1, 0)", nil},
		{"signal", "amd64", 62, words{77, 15}, "kill(77, SIGTERM)", nil},
		{"real-time signal", "amd64", 62, words{77, 34}, "kill(77, 34)", nil},
		{"offset below 0", "amd64", 8, words{3, all - 9, 2}, "lseek(3, -10, SEEK_END)", []int{3}},
		{"no arguments", "amd64", 34, words{1, 2, 3}, "pause()", nil},
		{"restarted call", "amd64", 219, words{1, 0, 0x7ffd10}, "restart_syscall(0x1, 0, 0x7ffd10, 0, 0, 0)", nil},
		{"number that is none", "amd64", 5000, words{1, 2}, "(0x1, 0x2, 0, 0, 0, 0)", nil},
		{"blocked outside of a call", "amd64", -1, words{1, 2}, "()", nil},
		{"architecture not known", "vax", 3, words{1}, "(0x1, 0, 0, 0, 0, 0)", nil},

		{"offset in two words", "386", 180, words{3, 0x1000, 512, 0x10, 0x1},
			"pread64(3, 0x1000, 512, 4294967312)", []int{3}},
		{"offset in an even pair", "arm", 180, words{3, 0x1000, 512, 0xdead, 0x10, 0x1},
			"pread64(3, 0x1000, 512, 4294967312)", []int{3}},
		{"offset aligned after one word", "arm", 225, words{3, 0xdead, 0x10, 0x1, 512},
			"readahead(3, 4294967312, 512)", []int{3}},
		{"signed word of 32 bits", "386", 19, words{3, 0xfffffff6, 2}, "lseek(3, -10, SEEK_END)", []int{3}},
		{"arguments in memory", "386", 90, words{0xffd10}, "mmap(0xffd10)", nil},
		{"old select", "386", 82, words{0xffd10}, "select(0xffd10)", nil},
		{"socketcall", "386", 102, words{12, 0xffd10}, "socketcall(SYS_RECVFROM, 0xffd10)", nil},
		{"ipc with a version", "386", 117, words{0x10004, 1, 2, 0, 0xffd10, 0},
			"ipc(SEMTIMEDOP, 1, 0x2, 0, 0xffd10, 0)", nil},
		{"futex with 64-bit time", "386", 422, words{0x1000, 137, 5, 0xffd10, 0, 0xffffffff},
			"futex_time64(0x1000, FUTEX_WAIT_BITSET_PRIVATE, 5, 0xffd10, NULL, 4294967295)", nil},
		{"arm's own call", "arm", 0xf0005, words{0x1000}, "set_tls(0x1000)", nil},
		{"generic table", "arm64", 22, words{5, 0x1000, 64, all, 0, 8}, "epoll_pwait(5, 0x1000, 64, -1, NULL, 8)",
			[]int{5}},
		{"flags first", "riscv64", 220, words{0x3d0f00, 0x1000, 0x2000, 0x3000, 0x4000},
			"clone(0x3d0f00, 0x1000, 0x2000, 0x3000, 0x4000)", nil},
		{"stack first", "s390x", 120, words{0x1000, 0x3d0f00, 0, 0, 0}, "clone(0x1000, 0x3d0f00, NULL, NULL, NULL)",
			nil},
		{"select of s390x", "s390x", 142, words{4, 0x1000, 0, 0, 0}, "select(4, 0x1000, NULL, NULL, NULL)", nil},
		{"ppc64le", "ppc64le", 3, words{0, 0x1000, 1}, "read(0, 0x1000, 1)", []int{0}},
		{"loong64", "loong64", 260, words{all, 0, 0, 0}, "wait4(-1, NULL, 0, NULL)", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := show(Describe(tt.arch, tt.nr, tt.words)); got != tt.want {
				t.Errorf("Describe(%s, %d, %#x) = %s, want %s", tt.arch, tt.nr, tt.words, got, tt.want)
			}
			if got := FDArgs(tt.arch, tt.nr, tt.words); !slices.Equal(got, tt.fds) {
				t.Errorf("FDArgs(%s, %d, %#x) = %v, want %v", tt.arch, tt.nr, tt.words, got, tt.fds)
			}
		})
	}
}

// Value holds only the bits that count.
func TestValueOfInt(t *testing.T) {
	c := Describe("amd64", 232, [Words]uint64{0xdead00000005, 0x1000, 64, 0xffffffffffffffff})
	if got, want := c.Args[0], (Arg{Name: "epfd", Value: 5, Kind: FD, Text: "5"}); got != want {
		t.Errorf("descriptor = %+v, want %+v", got, want)
	}
	if got, want := c.Args[3], (Arg{Name: "timeout", Value: 0xffffffff, Kind: Int, Text: "-1"}); got != want {
		t.Errorf("timeout = %+v, want %+v", got, want)
	}
}

func FuzzDescribe(f *testing.F) {
	f.Add(uint8(0), int64(202), uint64(1), uint64(393), uint64(1<<63))
	f.Add(uint8(3), int64(0xf0007), uint64(0xffffffff), uint64(0), uint64(7))
	f.Fuzz(func(t *testing.T, arch uint8, nr int64, a, b, c uint64) {
		name := arches[int(arch)%len(arches)]
		words := [Words]uint64{a, b, c, b, a, c}
		call := Describe(name, nr, words)
		if len(call.Args) > Words {
			t.Errorf("%s has %d arguments", call.Name, len(call.Args))
		}
		for _, arg := range call.Args {
			if arg.Text == "" {
				t.Errorf("%s: argument %q has no text", call.Name, arg.Name)
			}
		}
		for _, fd := range FDArgs(name, nr, words) {
			if fd < 0 {
				t.Errorf("%s: descriptor %d", call.Name, fd)
			}
		}
	})
}

func BenchmarkDescribe(b *testing.B) {
	words := [Words]uint64{0x55d0c1d51028, 393, 0, 0, 0, 0xffffffff}
	b.ReportAllocs()
	for b.Loop() {
		Describe("amd64", 202, words)
	}
}
