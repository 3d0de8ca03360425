package core

import (
	"bytes"
	"encoding/binary"

	"github.com/fpstack/fpstack/regs"
)

// drawing is a core that a test draws: notes, and segments with their bytes.
type drawing struct {
	arch  *regs.Arch
	notes bytes.Buffer
	loads []load
}

// load is a segment: data is what of it is in the file.
type load struct {
	addr  uint64
	size  uint64
	flags uint32
	data  []byte
}

func draw(a *regs.Arch) *drawing { return &drawing{arch: a} }

func (d *drawing) order() binary.AppendByteOrder { return d.arch.Order.(binary.AppendByteOrder) }

func (d *drawing) word(b []byte, v uint64) []byte {
	if d.arch.WordSize == 4 {
		return d.order().AppendUint32(b, uint32(v))
	}
	return d.order().AppendUint64(b, v)
}

// note adds a note.
func (d *drawing) note(owner string, typ uint32, desc []byte) *drawing {
	pad := func(b []byte) []byte { return append(b, make([]byte, -len(b)&3)...) }
	var b []byte
	for _, v := range []uint32{uint32(len(owner) + 1), uint32(len(desc)), typ} {
		b = d.order().AppendUint32(b, v)
	}
	d.notes.Write(pad(append(b, owner+"\x00"...)))
	d.notes.Write(pad(bytes.Clone(desc)))
	return d
}

// thread adds a NT_PRSTATUS note.
func (d *drawing) thread(tid int, signal uint16, r *regs.Registers) *drawing {
	at := layoutOf(d.arch)
	b := make([]byte, at.registers, at.registers+d.arch.NoteSize+8)
	d.arch.Order.PutUint16(b[at.signal:], signal)
	d.arch.Order.PutUint32(b[at.pid:], uint32(tid))
	return d.note("CORE", ntPRStatus, append(append(b, r.Encode()...), make([]byte, 8)...))
}

// files adds a NT_FILE note.
func (d *drawing) files(entries ...fileEntry) *drawing {
	b := d.word(d.word(nil, uint64(len(entries))), 4096)
	for _, e := range entries {
		b = d.word(d.word(d.word(b, uint64(e.start)), uint64(e.end)), uint64(e.off)/4096)
	}
	for _, e := range entries {
		b = append(append(b, e.path...), 0)
	}
	return d.note("CORE", ntFile, b)
}

// auxv adds a NT_AUXV note of pairs.
func (d *drawing) auxv(pairs ...uint64) *drawing {
	var b []byte
	for _, v := range append(pairs, 0, 0) {
		b = d.word(b, v)
	}
	return d.note("CORE", ntAuxv, b)
}

// load adds a segment.
func (d *drawing) load(addr, size uint64, flags uint32, data []byte) *drawing {
	d.loads = append(d.loads, load{addr, size, flags, data})
	return d
}

// bytes is the file.
func (d *drawing) bytes() []byte {
	o, wide := d.arch.Order, d.arch.WordSize == 8
	head, entry := 52, 32
	if wide {
		head, entry = 64, 56
	}
	out := make([]byte, head)
	copy(out, "\x7fELF\x01\x01\x01")
	if wide {
		out[4] = 2
	}
	if o == binary.ByteOrder(binary.BigEndian) {
		out[5] = 2
	}
	o.PutUint16(out[16:], etCore)
	o.PutUint16(out[18:], d.arch.Machine)
	if wide {
		o.PutUint64(out[32:], uint64(head))
		o.PutUint16(out[54:], uint16(entry))
		o.PutUint16(out[56:], uint16(1+len(d.loads)))
	} else {
		o.PutUint32(out[28:], uint32(head))
		o.PutUint16(out[42:], uint16(entry))
		o.PutUint16(out[44:], uint16(1+len(d.loads)))
	}
	at := uint64(head + entry*(1+len(d.loads)))
	out = append(out, d.header(ptNote, 0, at, 0, uint64(d.notes.Len()), 0)...)
	at += uint64(d.notes.Len())
	for _, l := range d.loads {
		out = append(out, d.header(ptLoad, l.flags, at, l.addr, uint64(len(l.data)), l.size)...)
		at += uint64(len(l.data))
	}
	out = append(out, d.notes.Bytes()...)
	for _, l := range d.loads {
		out = append(out, l.data...)
	}
	return out
}

// header is one program header.
func (d *drawing) header(typ, flags uint32, off, addr, held, size uint64) []byte {
	o := d.order()
	b := o.AppendUint32(nil, typ)
	if d.arch.WordSize == 8 {
		b = o.AppendUint32(b, flags)
		for _, v := range []uint64{off, addr, 0, held, size, 4096} {
			b = o.AppendUint64(b, v)
		}
		return b
	}
	for _, v := range []uint32{uint32(off), uint32(addr), 0, uint32(held), uint32(size), flags, 4096} {
		b = o.AppendUint32(b, v)
	}
	return b
}
