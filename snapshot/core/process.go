package core

import (
	"bytes"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// processInfo is what NT_PRPSINFO says.
type processInfo struct {
	pid  int
	name string // of the thread group leader, at most 15 bytes; gdb writes that of the program
	args string // the first 79 bytes of the arguments, with blanks between
}

// decodeProcess reads a NT_PRPSINFO note, the zero value if it has no known length.
// Source: struct elf_prpsinfo in linux/include/linux/elfcore.h; ids of users have two bytes on 386 and arm.
func decodeProcess(a *regs.Arch, b []byte) processInfo {
	var pid, name int
	switch {
	case a.WordSize == 8 && len(b) >= 136:
		pid, name = 24, 40
	case a.WordSize == 4 && len(b) == 124:
		pid, name = 12, 28
	case a.WordSize == 4 && len(b) == 128:
		pid, name = 16, 32
	default:
		return processInfo{}
	}
	return processInfo{pid: int(int32(a.Order.Uint32(b[pid:]))), name: cString(b[name : name+16]),
		args: strings.TrimRight(cString(b[name+16:name+16+80]), " ")}
}

// cString is b up to the first NUL.
func cString(b []byte) string {
	s, _, _ := bytes.Cut(b, []byte{0})
	return string(s)
}

// Entries of the auxiliary vector. Source: getauxval(3), linux/include/uapi/linux/auxvec.h.
const (
	atNull   = 0
	atPhdr   = 3  // AT_PHDR
	atEntry  = 9  // AT_ENTRY
	atRandom = 25 // AT_RANDOM
	atExecFn = 31 // AT_EXECFN
	atVDSO   = 33 // AT_SYSINFO_EHDR
)

const maxAuxv = 8 << 10 // bytes; the kernel's has some 400

// auxv is the auxiliary vector.
type auxv struct {
	raw   []byte
	value map[uint64]mem.Addr
}

func decodeAuxv(a *regs.Arch, b []byte) auxv {
	v := auxv{raw: b, value: map[uint64]mem.Addr{}}
	for w := a.WordSize; len(b) >= 2*w; b = b[2*w:] {
		key := word(a, b)
		if key == atNull {
			break
		}
		if _, twice := v.value[key]; !twice {
			v.value[key] = mem.Addr(word(a, b[w:]))
		}
	}
	return v
}

const (
	maxArgs    = 4096     // arguments that are shown
	maxArgText = 64 << 10 // bytes of all
	stackSpan  = 1 << 20  // bytes below the strings in which the vectors are looked for
)

// commandLine reads the arguments where the kernel put them for the program: below the auxiliary vector on the initial
// stack. It is nil unless all is as the kernel makes it, and begins with what known says.
// Source: create_elf_tables in linux/fs/binfmt_elf.c: argc, argv, NULL, envp, NULL, auxv.
func (c *Core) commandLine(known string) []string {
	a, w := c.arch, mem.Addr(c.arch.WordSize)
	top := c.auxv.value[atRandom]
	if len(c.auxv.raw) < 4*int(w) || top < stackSpan {
		return nil
	}
	s := c.find(top)
	if s == nil {
		return nil
	}
	from := max(s.start, top-stackSpan)
	b := make([]byte, top-from)
	n, _ := c.ReadMem(b, from)
	at := bytes.LastIndex(b[:n], c.auxv.raw[:min(len(c.auxv.raw), 16*int(w))])
	if at < 0 {
		return nil
	}
	argv := arguments(a, b[:at])
	left := maxArgText
	var out []string
	for _, p := range argv {
		text, ok := c.text(p, left)
		if !ok {
			return nil
		}
		left -= len(text)
		out = append(out, text)
	}
	if len(out) == 0 || !strings.HasPrefix(strings.Join(out, " "), known) {
		return nil
	}
	return out
}

// arguments returns argv, where b ends as the auxiliary vector begins; nil if it is not there.
func arguments(a *regs.Arch, b []byte) []mem.Addr {
	at := func(i int) uint64 { return word(a, b[i*a.WordSize:]) }
	b = b[len(b)%a.WordSize:]
	i := len(b)/a.WordSize - 1 // NULL behind envp
	if i < 0 || at(i) != 0 {
		return nil
	}
	for i--; i >= 0 && at(i) != 0; i-- { // envp
	}
	for n := 0; n <= maxArgs && i > n; n++ { // below the NULL behind argv: as many words as argc says
		if argc := i - n - 1; at(argc) == uint64(n) {
			out := make([]mem.Addr, n)
			for k := range out {
				out[k] = mem.Addr(at(argc + 1 + k))
			}
			return out
		}
	}
	return nil
}

// text reads a string of at most limit bytes that ends with NUL.
func (c *Core) text(a mem.Addr, limit int) (string, bool) {
	var out []byte
	for len(out) < limit {
		var b [256]byte
		n, _ := c.ReadMem(b[:], a+mem.Addr(len(out)))
		if n == 0 {
			return "", false
		}
		if i := bytes.IndexByte(b[:n], 0); i >= 0 {
			return string(append(out, b[:i]...)), len(out)+i < limit
		}
		out = append(out, b[:n]...)
	}
	return "", false
}
