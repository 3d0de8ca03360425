package syscalls

import "strconv"

// argType is how one word of a prototype (see prototype) is read and shown.
type argType struct {
	kind Kind
	half bool // only the low 32 bits count, as for any int of C
	wide bool // 64 bits on every architecture
	// text shows the value; signed values come sign-extended from what counts.
	text func(v uint64) string
}

// typeOf returns the type that a word of a prototype means:
//
//	fd      file descriptor          dirfd   the same, or AT_FDCWD
//	ptr     address                  int     signed 32 bits: also pid, uid, key
//	uint    unsigned 32 bits         long    signed word
//	size    unsigned word            hex     32 bits of flags
//	word    a word in hexadecimal    mode    permissions in octal
//	off     signed 64 bits           mask    64 bits of flags
//
// and the lists of names in constants.go. An unknown word is a word in hexadecimal.
func typeOf(word string) argType {
	switch word {
	case "fd":
		return argType{kind: FD, half: true, text: intText}
	case "dirfd":
		return argType{kind: FD, half: true, text: dirText}
	case "ptr":
		return argType{kind: Pointer, text: pointerText}
	case "int":
		return argType{kind: Int, half: true, text: intText}
	case "uint":
		return argType{kind: Size, half: true, text: sizeText}
	case "long":
		return argType{kind: Int, text: intText}
	case "size":
		return argType{kind: Size, text: sizeText}
	case "hex":
		return argType{kind: Flags, half: true, text: hexText}
	case "mode":
		return argType{kind: Flags, half: true, text: modeText}
	case "off":
		return argType{kind: Offset, wide: true, text: intText}
	case "mask":
		return argType{kind: Flags, wide: true, text: hexText}
	}
	if text := constantText(word); text != nil {
		return argType{kind: Constant, half: true, text: text}
	}
	return argType{kind: Flags, text: hexText}
}

// arg returns the argument called name with the value v, a whole word or two.
func (t argType) arg(name string, v uint64, l layout) Arg {
	shown := v
	switch {
	case t.half:
		v &= 0xffffffff
		shown = uint64(int64(int32(v)))
		if t.kind == Size || t.kind == Flags {
			shown = v
		}
	case t.kind == Int && l.wordSize == 4:
		shown = uint64(int64(int32(v)))
	}
	return Arg{Name: name, Value: v, Kind: t.kind, Text: t.text(shown)}
}

func intText(v uint64) string  { return strconv.FormatInt(int64(v), 10) }
func sizeText(v uint64) string { return strconv.FormatUint(v, 10) }

// hexText shows flags; none of them are a plain 0.
func hexText(v uint64) string {
	if v == 0 {
		return "0"
	}
	return "0x" + strconv.FormatUint(v, 16)
}

func pointerText(v uint64) string {
	if v == 0 {
		return "NULL"
	}
	return "0x" + strconv.FormatUint(v, 16)
}

func modeText(v uint64) string {
	if v == 0 {
		return "0"
	}
	return "0" + strconv.FormatUint(v, 8)
}

// dirText shows a directory's descriptor. AT_FDCWD: include/uapi/linux/fcntl.h.
func dirText(v uint64) string {
	if int64(v) == -100 {
		return "AT_FDCWD"
	}
	return intText(v)
}
