package syscalls

import (
	"bufio"
	"os"
	"strconv"
	"strings"
	"testing"
)

var arches = []string{"amd64", "386", "arm64", "arm", "riscv64", "s390x", "ppc64le", "loong64"}

// The numbers of the kernel's own headers, where they are installed; an older header lacks
// the newest calls, which is fine.
func TestNumbersMatchHeaders(t *testing.T) {
	tests := []struct{ arch, file string }{
		{"amd64", "/usr/include/x86_64-linux-gnu/asm/unistd_64.h"},
		{"386", "/usr/include/x86_64-linux-gnu/asm/unistd_32.h"},
		{"arm64", "/usr/include/asm-generic/unistd.h"},
		{"riscv64", "/usr/include/asm-generic/unistd.h"},
	}
	for _, tt := range tests {
		t.Run(tt.arch, func(t *testing.T) {
			f, err := os.Open(tt.file)
			if err != nil {
				t.Skipf("kernel headers: %v", err)
			}
			defer f.Close()
			checked := 0
			for lines := bufio.NewScanner(f); lines.Scan(); {
				fields := strings.Fields(lines.Text())
				if len(fields) != 3 || fields[0] != "#define" || !strings.HasPrefix(fields[1], "__NR_") {
					continue
				}
				nr, err := strconv.ParseInt(fields[2], 0, 64)
				want := strings.TrimPrefix(fields[1], "__NR_")
				if err != nil || strings.Contains(tt.file, "generic") && only32Bits(tt.arch, want) {
					continue
				}
				checked++
				if got, ok := Name(tt.arch, nr); !ok || got != want {
					t.Errorf("Name(%s, %d) = %q, %v, want %q", tt.arch, nr, got, ok, want)
				}
			}
			if checked < 250 {
				t.Errorf("checked %d numbers of %s, want at least 250", checked, tt.file)
			}
		})
	}
}

// only32Bits says that a call of the generic header is not one of arch: it is of 32-bit
// architectures alone, or one that is compiled in on demand.
func only32Bits(arch, name string) bool {
	switch name {
	case "syscalls", "arch_specific_syscall", "sync_file_range2", "clock_gettime64", "clock_settime64",
		"clock_adjtime64",
		"timer_gettime64", "timer_settime64", "timerfd_gettime64", "timerfd_settime64":
		return true
	case "renameat": // __ARCH_WANT_RENAMEAT
		return arch == "riscv64"
	}
	return strings.HasSuffix(name, "_time64")
}

func TestNameUnknown(t *testing.T) {
	tests := []struct {
		name, arch string
		nr         int64
	}{
		{"blocked outside of a call", "amd64", -1},
		{"above the table", "amd64", 100000},
		{"gap in the table", "amd64", 400},
		{"largest number", "arm", 1<<63 - 1},
		{"smallest number", "386", -1 << 63},
		{"arm's base itself", "arm", armPrivate},
		{"architecture not known", "vax", 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, ok := Name(tt.arch, tt.nr); ok {
				t.Errorf("Name(%s, %d) = %q, want none", tt.arch, tt.nr, got)
			}
		})
	}
}

// Every call that a kernel still implements has a prototype.
func TestEveryCallHasPrototype(t *testing.T) {
	// Numbers that kernels only reserve (syscalls(2), unimplemented(2)), and restart_syscall,
	// which is shown with all words on purpose.
	none := map[string]bool{"restart_syscall": true}
	for _, n := range strings.Fields(
		`afs_syscall break create_module epoll_ctl_old epoll_wait_old ftime get_kernel_syms getpmsg gtty
		idle lock mpx multiplexer nfsservctl prof profil putpmsg query_module security stty timerfd tuxcall ulimit
		vserver`) {
		none[n] = true
	}
	for _, arch := range arches {
		for _, name := range append(append([]string{}, numbers(arch)...), armPrivateNames[:]...) {
			if _, ok := prototype(arch, name); name != "" && !ok && !none[name] {
				t.Errorf("%s: %s has no prototype", arch, name)
			}
		}
	}
}

// A prototype is well formed: known types, named arguments, no more words than there are.
func TestPrototypesAreWellFormed(t *testing.T) {
	known := map[string]bool{}
	for _, w := range strings.Fields("fd dirfd ptr int uint long size hex word mode off mask") {
		known[w] = true
	}
	for _, arch := range arches {
		l := layoutOf(arch)
		for _, name := range numbers(arch) {
			spec, ok := prototype(arch, name)
			if !ok || spec == "" {
				continue
			}
			fields := strings.Split(spec, ", ")
			for _, f := range fields {
				word, arg, _ := strings.Cut(f, " ")
				if arg == "" || strings.Contains(arg, " ") || !known[word] && constantText(word) == nil {
					t.Errorf("%s: %s: argument %q", arch, name, f)
				}
			}
			if got := len(arguments(spec, l, [Words]uint64{})); got != len(fields) {
				t.Errorf("%s: %s: %d of %d arguments fit into %d words", arch, name, got, len(fields), Words)
			}
		}
	}
}
