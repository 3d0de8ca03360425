package module

// add gives the object a section that the section table did not give, or gave without its
// bytes. One that is there already wins.
func (im *image) add(s Section) {
	if len(s.Data) == 0 || im.hasData(s.Name) {
		return
	}
	s.Size = uint64(len(s.Data))
	s.Flags = 2 // SHF_ALLOC
	s.Offset = im.offsetOf(s.Addr)
	if i := im.section(s.Name); i >= 0 {
		im.sections[i] = s
		return
	}
	if im.byName != nil {
		im.byName[s.Name] = len(im.sections)
	}
	im.sections = append(im.sections, s)
}

func (im *image) hasData(name string) bool {
	i := im.section(name)
	return i >= 0 && len(im.sections[i].Data) > 0
}

// offsetOf is the file offset of a link address, 0 if the file does not hold it.
func (im *image) offsetOf(v Vaddr) int64 {
	for _, p := range im.loads {
		if v >= p.Addr && uint64(v-p.Addr) < p.fileSz {
			return clampOffset(uint64(p.Offset) + uint64(v-p.Addr))
		}
	}
	return 0
}

// addFromSegments adds the sections that program headers lead to.
func (im *image) addFromSegments() {
	for i := range im.segments {
		switch p := &im.segments[i]; p.Type {
		case ptGNUEHFrame:
			im.addEHFrame(p)
		case ptDynamic:
			im.addDynamic(p)
		}
	}
}

// addEHFrame makes .eh_frame_hdr, and .eh_frame from its eh_frame_ptr to the end of the segment.
// Source: Linux Standard Base Core 5.0, 10.6.2 (.eh_frame_hdr).
func (im *image) addEHFrame(seg *Segment) {
	im.add(Section{Name: ".eh_frame_hdr", Type: 1, Addr: seg.Addr, Data: seg.Data}) // SHT_PROGBITS
	if im.hasData(".eh_frame") {
		return
	}
	v, ok := im.ehFramePtr(seg)
	if !ok {
		return
	}
	b, ok := im.fromVaddr(v)
	if !ok {
		return
	}
	if seg.Addr > v && uint64(seg.Addr-v) < uint64(len(b)) { // the header is behind the table
		b = b[:seg.Addr-v]
	}
	im.add(Section{Name: ".eh_frame", Type: 1, Addr: v, Data: b})
}

// ehFramePtr decodes eh_frame_ptr, the encoded pointer behind the four bytes of the header.
// Encodings: DW_EH_PE_* in LSB Core 5.0, table 10-6.
func (im *image) ehFramePtr(seg *Segment) (Vaddr, bool) {
	b := seg.Data
	if len(b) < 12 || b[0] != 1 {
		return 0, false
	}
	var v uint64
	switch enc := b[1]; enc & 0x0f {
	case 0x00: // DW_EH_PE_absptr
		v = im.word(b[4:])
	case 0x02:
		v = uint64(im.order.Uint16(b[4:]))
	case 0x03:
		v = uint64(im.order.Uint32(b[4:]))
	case 0x0a:
		v = uint64(int16(im.order.Uint16(b[4:])))
	case 0x0b:
		v = uint64(int32(im.order.Uint32(b[4:])))
	case 0x04, 0x0c:
		v = im.order.Uint64(b[4:])
	default:
		return 0, false
	}
	switch b[1] & 0xf0 {
	case 0x00:
	case 0x10: // DW_EH_PE_pcrel
		v += uint64(seg.Addr) + 4
	case 0x30: // DW_EH_PE_datarel
		v += uint64(seg.Addr)
	default:
		return 0, false
	}
	if im.class == 4 {
		v = uint64(uint32(v))
	}
	return Vaddr(v), true
}
