package exact

import "encoding/binary"

// decodeARM64 is decode for arm64, where a call leaves its return address in x30.
// Source: Arm Architecture Reference Manual for A-profile, C4.1 and C6.2.
func decodeARM64(b []byte) instruction {
	if len(b) < 4 {
		return instruction{}
	}
	switch i := binary.LittleEndian.Uint32(b); {
	case i&0xfc000000 == 0x94000000, i&0xfefff000 == 0xd63f0000: // bl, blr, blraa
		return instruction{kind: call, len: 4}
	case i&0xfffff000 == 0xd65f0000: // ret, retaa
		return instruction{kind: ret}
	case i&0xfefff000 == 0xd61f0000: // br, braa
		return instruction{kind: jump}
	case i&0x3fe00000 == 0x08400000, i&0xbfe00000 == 0x88600000: // ldxr, ldaxr; ldxp, ldaxp
		return instruction{kind: reserve, bits: i}
	case i&0x3fe00000 == 0x08000000, i&0xbfe00000 == 0x88200000: // stxr, stlxr; stxp, stlxp
		return instruction{kind: store, bits: i}
	case i&0xffe0001f == 0xd4000001: // svc
		return instruction{kind: syscall_, len: 4}
	case i&0xbf8003ff == 0x910003ff, i&0xbfe003ff == 0x8b2003ff, // add, sub sp, sp
		i&0x3b2007e0 == 0x380007e0, i&0x3a8003e0 == 0x288003e0: // ldr, str, ldp, stp with sp written back
		return instruction{kind: adjust}
	}
	return instruction{}
}
