package dump

import (
	"encoding/binary"
	"hash/maphash"
	"slices"

	"github.com/fpstack/fpstack/unwind"
)

// frameBook keeps the frames of stacks: those that several threads or fibers have once. The zero value is empty.
type frameBook struct {
	kept map[uint64][]unwind.Frame // by hash, the next free number where two have one
	seed maphash.Seed
}

// maxReused bounds the frames of a stack whose memory is used again for the next.
const maxReused = 1 << 12

// keep returns frames as they are kept, for nobody to change: those that were kept before if all of them are equal,
// else a copy, or of more than maxReused frames themselves.
func (b *frameBook) keep(frames []unwind.Frame) []unwind.Frame {
	if b.kept == nil {
		b.kept, b.seed = map[uint64][]unwind.Frame{}, maphash.MakeSeed()
	}
	for key := b.hash(frames); ; key++ {
		old, known := b.kept[key]
		if !known {
			if len(frames) <= maxReused {
				frames = slices.Clone(frames)
			}
			b.kept[key] = frames
			return frames
		}
		if slices.Equal(old, frames) {
			return old
		}
	}
}

// hash tells most lists of frames from each other: by all that a hostile process can make differ.
func (b *frameBook) hash(frames []unwind.Frame) uint64 {
	var h maphash.Hash
	h.SetSeed(b.seed)
	var words [4 * 8]byte
	for i := range frames {
		f := &frames[i]
		binary.NativeEndian.PutUint64(words[:], uint64(f.PC))
		binary.NativeEndian.PutUint64(words[8:], uint64(f.CFA))
		binary.NativeEndian.PutUint64(words[16:], uint64(f.Kept))
		binary.NativeEndian.PutUint64(words[24:], uint64(f.Site)<<8|uint64(f.Origin))
		h.Write(words[:])
		h.WriteString(f.Note)
	}
	return h.Sum64()
}

// forgetPlaces drops where on its own stack each frame is, by which equal stacks of two threads differ. For frames of a
// runtime of threads that stays, as it asks for it: see [vm.LockLister].
func forgetPlaces(s *unwind.Stack, ofRuntimes bool) {
	for i := range s.Frames {
		f := &s.Frames[i]
		f.Kept = 0
		if f.Runtime == nil || ofRuntimes {
			f.SP, f.CFA = 0, 0
		}
	}
}
