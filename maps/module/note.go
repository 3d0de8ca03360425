package module

import "encoding/hex"

const (
	shtNote    = 7 // SHT_NOTE
	ntBuildID  = 3 // NT_GNU_BUILD_ID
	maxBuildID = 64
	maxNotes   = 1024 // notes looked at in one segment or section; programs have up to 4
	maxNoted   = 64   // segments, and sections, of notes looked at
)

// findBuildID looks for the GNU build id in note segments, then in note sections.
func (im *image) findBuildID() string {
	var notes [][]byte
	for i := range im.segments {
		if p := &im.segments[i]; p.Type == ptNote && len(notes) < maxNoted {
			notes = append(notes, p.Data)
		}
	}
	for i := range im.sections { // Go's linker leaves the note out of the segments
		if s := &im.sections[i]; s.Type == shtNote && len(notes) < 2*maxNoted {
			notes = append(notes, s.Data)
		}
	}
	for _, b := range notes {
		if id := im.buildIDIn(b); id != "" {
			return id
		}
	}
	return ""
}

// buildIDIn reads notes padded to 4 bytes, and to 8 if that finds nothing:
// .note.gnu.property has 8, and a segment may hold both kinds.
func (im *image) buildIDIn(b []byte) string {
	if id := im.buildIDAligned(b, 4); id != "" {
		return id
	}
	return im.buildIDAligned(b, 8)
}

func (im *image) buildIDAligned(b []byte, align uint64) string {
	pad := func(n uint64) uint64 { return (n + align - 1) &^ (align - 1) }
	for range maxNotes {
		if len(b) < 12 {
			return ""
		}
		nameSz, descSz := uint64(im.order.Uint32(b)), uint64(im.order.Uint32(b[4:]))
		desc := pad(12 + nameSz)
		end := desc + descSz
		if end > uint64(len(b)) {
			return ""
		}
		if im.order.Uint32(b[8:]) == ntBuildID && nameSz == 4 && string(b[12:16]) == "GNU\x00" &&
			0 < descSz && descSz <= maxBuildID {
			return hex.EncodeToString(b[desc:end])
		}
		b = b[min(pad(end), uint64(len(b))):]
	}
	return ""
}
