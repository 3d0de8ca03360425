package syscalls

import "strings"

// Words is how many argument words a system call has at most.
const Words = 6

// Kind says what sort of value an argument is.
type Kind uint8

// The kinds of arguments.
const (
	Unknown  Kind = iota // nothing is known of the word
	FD                   // file descriptor, 32 bits
	Pointer              // address in the target
	Int                  // signed number
	Size                 // unsigned number
	Flags                // set of bits, or a value that is none of the others
	Offset               // 64 bits, two words where a word has 32
	Constant             // one of a list of names
)

// Arg is one argument of a call.
type Arg struct {
	Name  string // of the kernel's prototype or the man page; "" if it is not known
	Value uint64 // the bits that count: an int's upper half is cleared
	Kind  Kind
	Text  string // as a person reads it: "5", "0x55d0c2a01000", "FUTEX_WAIT_PRIVATE", "-1"
}

// Call is one system call with its arguments.
type Call struct {
	Name string // "" if the number is not known
	Args []Arg
}

// Describe returns the call that number nr means on arch with its arguments taken from words,
// the six that /proc/TID/syscall shows. A call that is not known, restart_syscall (whose
// registers still hold what the first call was given) and a number that is free come with
// all six words. Number -1 has no arguments.
func Describe(arch string, nr int64, words [Words]uint64) Call {
	name, known := Name(arch, nr)
	if nr == -1 {
		return Call{}
	}
	spec, ok := "", false
	if known {
		spec, ok = prototype(arch, name)
	}
	if !ok {
		return Call{Name: name, Args: rawArgs(words)}
	}
	return Call{Name: name, Args: arguments(spec, layoutOf(arch), words)}
}

// FDArgs returns the descriptors among the arguments of a call, in the order of the
// arguments: those that are worth a look in /proc/PID/fd. What an argument points to
// (the set of poll) is not among them.
func FDArgs(arch string, nr int64, words [Words]uint64) []int {
	var fds []int
	for _, a := range Describe(arch, nr, words).Args {
		if a.Kind == FD && int32(a.Value) >= 0 {
			fds = append(fds, int(int32(a.Value)))
		}
	}
	return fds
}

// rawArgs shows all words of a call of which nothing is known.
func rawArgs(words [Words]uint64) []Arg {
	args := make([]Arg, 0, Words)
	for _, w := range words {
		args = append(args, Arg{Value: w, Text: hexText(w)})
	}
	return args
}

// layout says how an architecture lays arguments into words.
type layout struct {
	wordSize int  // bytes of a word
	aligned  bool // an argument of two words begins at an even one
}

func layoutOf(arch string) layout {
	switch arch {
	case "386":
		return layout{wordSize: 4}
	case "arm":
		// Source: Procedure Call Standard for the Arm Architecture, section 6.5, rule C.3.
		return layout{wordSize: 4, aligned: true}
	}
	return layout{wordSize: 8}
}

// arguments reads the arguments that spec, a list as "fd fd, ptr buf, size count", finds in
// words. Arguments beyond the last word are left out.
func arguments(spec string, l layout, words [Words]uint64) []Arg {
	if spec == "" {
		return nil
	}
	args := make([]Arg, 0, Words)
	next := 0
	for field := range strings.SplitSeq(spec, ", ") {
		word, name, _ := strings.Cut(field, " ")
		t := typeOf(word)
		if t.wide && l.wordSize == 4 && l.aligned {
			next += next & 1
		}
		if next >= Words {
			break
		}
		v := words[next]
		next++
		switch {
		case l.wordSize == 8:
		case t.wide && next < Words:
			v = v&0xffffffff | words[next]<<32
			next++
		default:
			v &= 0xffffffff
		}
		args = append(args, t.arg(name, v, l))
	}
	return args
}
