//go:build linux && arm64

package dotnet

import (
	"encoding/binary"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/code/arm64"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
)

// TestRows: at each place of methods that were compiled or prepared, all of known.cs and some of others, the row by the
// runtime's codes has the CFA and the return address that the instructions on the way from the method's entry say.
// Methods that take over from others (on-stack replacement) begin in the frame of those.
func TestRows(t *testing.T) {
	for _, version := range folders() {
		for _, way := range []string{"", "DOTNET_TieredCompilation=0", "DOTNET_JITMinOpts=1"} {
			t.Run(version+way, func(t *testing.T) {
				s := startHost(t, fetched+"/"+version, own, []string{way}, "known.dll")
				time.Sleep(2 * time.Second) // for some to be compiled again
				s.Runtimes.Scan(s.Set)
				compareRows(t, s)
			})
		}
	}
}

func compareRows(t *testing.T, s *server) {
	t.Helper()
	n := s.runtime(t)
	n.Start(&snapshot.Thread{}, s.Process)
	lister := n.(interface {
		Functions(yield func(start, end mem.Addr, name string) bool) error
	})
	const long, some = 0x300, 16 // bytes, and of how many methods one is compared that is none of known.cs
	methods, same, other, within, listed := 0, 0, 0, 0, 0
	err := lister.Functions(func(start, end mem.Addr, name string) bool {
		listed++
		if !strings.HasPrefix(name, "Known.") && (end-start > long || listed%some != 0) {
			return true
		}
		text := make([]byte, end-start)
		if _, err := s.Process.ReadMem(text, start); err != nil {
			return true
		}
		methods++
		code := arm64.Code{Start: uint64(start), Data: text}
		frame := int64(0) // of the method that it takes over from
		for at := start; at < end; at += 4 {
			row, ok, err := n.(unwind.RowSource).Row(unwind.Region{}, at, true)
			if err != nil || !ok {
				t.Errorf("%s+%#x: %v", name, at-start, err)
				return true
			}
			if at == start {
				frame = row.CFA.N
			}
			want, ok := code.FromEntry(uint64(start), uint64(end), uint64(at))
			if !ok || at > start && want.CFA.Reg == uint64(regs.ARM64SP) && want.CFA.N == 0 &&
				want.RA.Kind == cfi.Unspecified && row.CFA.N != 0 {
				other++ // no way leads there that the instructions show
				continue
			}
			cfa, ok := fromSP(row, text)
			if ok && want.CFA.Reg == uint64(regs.ARM64FP) {
				ok = row.CFA.Reg == want.CFA.Reg
				cfa = row.CFA.N
			}
			if !ok || row.CFA.Reg == uint64(regs.ARM64FP) && want.CFA.Reg == uint64(regs.ARM64SP) && allocates(text) {
				within++
				continue
			}
			if row.RA.Kind == cfi.Offset && row.RA.N+frame != want.RA.N || cfa != want.CFA.N+frame {
				t.Errorf("%s+%#x of %#x: %+v %+v, want %+v %+v and %d", name, at-start, end-start, row.CFA, row.RA,
					want.CFA, want.RA, frame)
				return true
			}
			same++
		}
		if frame != 0 {
			t.Logf("%s takes over a frame of %d", name, frame)
		}
		return true
	})
	t.Logf("%d methods: %d places as the instructions say, %d that they say nothing of, %d with another base", methods,
		same, other, within)
	if err = errors.Join(err, s.Runtimes.Err()); err != nil || methods < 30 || same < 1_000 {
		t.Errorf("%d methods, %d places: %v", methods, same, err)
	}
}

// allocates reports whether a method moves SP in its body (stackalloc), in a loop that clears what it gets: what is on
// the way from its entry once is there several times.
func allocates(text []byte) bool {
	const clear = 0xa9bf7fff // stp xzr, xzr, [sp, #-16]!
	for i := 0; i+4 <= len(text); i += 4 {
		if binary.LittleEndian.Uint32(text[i:]) == clear {
			return true
		}
	}
	return false
}

// fromSP is how far the CFA is from SP: where it rests on x29, by the instruction of the prologue that sets that.
func fromSP(row *cfi.Row, text []byte) (int64, bool) {
	if row.CFA.Reg == uint64(regs.ARM64SP) {
		return row.CFA.N, true
	}
	for i := 0; i+4 <= min(len(text), 0x70); i += 4 {
		w := uint32(text[i]) | uint32(text[i+1])<<8 | uint32(text[i+2])<<16 | uint32(text[i+3])<<24
		if w&0xffc003ff == 0x910003fd { // add x29, sp, #n
			return row.CFA.N + int64(w>>10&0xfff), true
		}
	}
	return 0, false
}
