package procfs

import (
	"bytes"

	"github.com/fpstack/fpstack/mem"
)

// Syscall is a system call in progress. It has the fields of a snapshot's, and is converted to it.
type Syscall struct {
	Number int64 // -1: blocked outside of any call (page fault)
	Args   [6]uint64
	SP, PC mem.Addr
}

// ParseSyscall reads the text of /proc/TID/syscall. It is not asleep for a thread
// that runs: the kernel shows nothing of it then.
//
// A call that was restarted after a stop shows as restart_syscall (219 on amd64).
// Source: proc_pid_syscall(5).
func ParseSyscall(b []byte) (c Syscall, asleep bool, err error) {
	b = bytes.TrimSpace(b)
	if string(b) == "running" {
		return c, false, nil
	}
	text := b
	word, b := cutWord(b)
	n, ok := signed(word)
	var words [8]uint64
	count := 0
	for ; ok && len(b) > 0 && count < len(words); count++ {
		word, b = cutWord(b)
		words[count], ok = hexadecimal(word)
	}
	if !ok || len(b) > 0 || count != 8 && count != 2 || (count == 2) != (n == -1) {
		return c, false, malformed("syscall", string(text))
	}
	c = Syscall{Number: n, SP: mem.Addr(words[count-2]), PC: mem.Addr(words[count-1])}
	copy(c.Args[:], words[:count-2])
	return c, true, nil
}

// cutWord cuts b behind its first word, which ends at a space.
func cutWord(b []byte) (word, rest []byte) {
	i := bytes.IndexByte(b, ' ')
	if i < 0 {
		return b, nil
	}
	return b[:i], bytes.TrimLeft(b[i:], " ")
}

// signed reads a decimal of at most nine digits.
func signed(b []byte) (int64, bool) {
	digits, negative := bytes.CutPrefix(b, []byte("-"))
	n, rest, ok := decimal(digits)
	if !ok || len(rest) > 0 || len(digits) > 9 {
		return 0, false
	}
	if negative {
		return -int64(n), true
	}
	return int64(n), true
}

// hexadecimal reads a number like 0x7fff of at most 64 bits.
func hexadecimal(b []byte) (n uint64, ok bool) {
	if len(b) < 3 || len(b) > 18 || b[0] != '0' || b[1] != 'x' {
		return 0, false
	}
	for _, c := range b[2:] {
		switch {
		case c >= '0' && c <= '9':
			n = n<<4 | uint64(c-'0')
		case c >= 'a' && c <= 'f':
			n = n<<4 | uint64(c-'a'+10)
		default:
			return 0, false
		}
	}
	return n, true
}
