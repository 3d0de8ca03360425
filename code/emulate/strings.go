package emulate

import "github.com/fpstack/fpstack/code/x86"

// maxRepeat bounds what one instruction moves, bytes.
const maxRepeat = 1 << 20

// strings runs movs and stos, once or repeated.
func (m *Machine) strings(in *x86.Instruction) bool {
	n := sized(in)
	count := uint64(1)
	if in.Repeat != 0 {
		count = m.R[RCX]
	}
	if in.FS || count > maxRepeat {
		return false
	}
	switch in.Op {
	case 0xa4, 0xa5:
		for ; count > 0 && m.fault == nil; count-- {
			m.store(m.R[RDI], n, m.load(m.R[RSI], n))
			m.R[RSI] += uint64(n)
			m.R[RDI] += uint64(n)
		}
	case 0xaa, 0xab:
		for ; count > 0 && m.fault == nil; count-- {
			m.store(m.R[RDI], n, m.R[RAX])
			m.R[RDI] += uint64(n)
		}
	default:
		return false
	}
	if in.Repeat != 0 {
		m.R[RCX] = 0
	}
	return true
}
