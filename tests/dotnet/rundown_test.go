//go:build linux

package dotnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"
	"unicode/utf16"
)

// le is the byte order of the diagnostic socket and of what it sends.
var le = binary.LittleEndian

// Commands of the set EventPipe. Source: docs/design-docs/ipc-protocol.md of dotnet/diagnostics.
const (
	eventPipe     = 2
	stopTracing   = 1
	collectTraces = 3 // CollectTracing2
)

// ranDown is a method of an event MethodDCEndVerbose.
type ranDown struct {
	id, start   uint64 // id is the address of its MethodDesc
	size, flags uint32
	typ, name   string
	jitted      bool
}

// command sends one command to the runtime, and returns what it answers; the connection stays open.
func (s *server) command(t testing.TB, dir string, id byte, payload []byte) (net.Conn, []byte) {
	t.Helper()
	sockets, _ := filepath.Glob(filepath.Join(dir, fmt.Sprintf("dotnet-diagnostic-%d-*-socket", s.PID())))
	if len(sockets) != 1 {
		t.Fatalf("the runtime has %d diagnostic sockets in %s", len(sockets), dir)
	}
	c, err := net.Dial("unix", sockets[0])
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	c.SetDeadline(time.Now().Add(time.Minute))
	const head = 20
	b := append([]byte("DOTNET_IPC_V1\x00"), 0, 0, eventPipe, id, 0, 0)
	le.PutUint16(b[14:], uint16(head+len(payload)))
	if _, err := c.Write(append(b, payload...)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(c, b[:head]); err != nil {
		t.Fatal(err)
	}
	answer := make([]byte, le.Uint16(b[14:])-head)
	if _, err := io.ReadFull(c, answer); err != nil || b[16] != 0xff || b[17] != 0 {
		t.Fatalf("the runtime answers %x %x, %v", b[16:18], answer, err)
	}
	return c, answer
}

// wide is a string as the protocol has it.
func wide(s string) []byte {
	units := append(utf16.Encode([]rune(s)), 0)
	b := le.AppendUint32(nil, uint32(len(units)))
	for _, u := range units {
		b = le.AppendUint16(b, u)
	}
	return b
}

// runDown lists the methods that the runtime has prepared.
func (s *server) runDown(t testing.TB, dir string) []ranDown {
	t.Helper()
	request := le.AppendUint32(nil, 256) // MB of buffer
	request = le.AppendUint32(request, 1)
	request = append(request, 1) // a rundown at the end
	request = le.AppendUint32(request, 1)
	const loader, verbose = 8, 5
	request = le.AppendUint64(request, loader)
	request = le.AppendUint32(request, verbose)
	request = append(append(request, wide("Microsoft-Windows-DotNETRuntime")...), le.AppendUint32(nil, 0)...)
	c, session := s.command(t, dir, collectTraces, request)
	all := make(chan []byte)
	go func() {
		b, _ := io.ReadAll(c)
		all <- b
	}()
	s.command(t, dir, stopTracing, session)
	methods, err := readTrace(<-all)
	if err != nil {
		t.Errorf("the trace: %v", err)
	}
	return methods
}

var errTrace = errors.New("malformed")

// readTrace reads the methods of a trace in the form NetTrace.
// Source: documentation/design-docs/eventpipe of microsoft/perfview, NetTraceFormat.
func readTrace(b []byte) (methods []ranDown, err error) {
	whole := b
	const head = 8 + 4 + 20 // "Nettrace", "!FastSerialization.1"
	if len(b) < head {
		return nil, errTrace
	}
	kinds := map[uint32]kind{}
	for b = b[head:]; len(b) > 0 && b[0] != 1; { // up to the null reference
		if len(b) < 15 || b[0] != 5 || b[1] != 5 || b[2] != 1 {
			return methods, errTrace
		}
		n := le.Uint32(b[11:])
		name := string(b[15 : 15+n])
		b = b[15+n+1:] // and the end of the type
		if name == "Trace" {
			b = b[48+1:]
			continue
		}
		size := le.Uint32(b)
		at := (len(whole) - len(b) + 4 + 3) &^ 3
		block := whole[at : at+int(size)]
		b = whole[at+int(size)+1:]
		if name == "EventBlock" || name == "MetadataBlock" {
			readBlock(block, func(metadata uint32, payload []byte) {
				if name == "MetadataBlock" {
					id, k := readKind(payload)
					kinds[id] = k
				} else if kinds[metadata] == methodEnd {
					methods = append(methods, readMethod(payload))
				}
			})
		}
	}
	return methods, nil
}

// kind is the sort of an event.
type kind struct {
	provider string
	event    uint32
}

// methodEnd is MethodDCEndVerbose, which the runtime writes for each method when a trace ends.
var methodEnd = kind{"Microsoft-Windows-DotNETRuntimeRundown", 144}

func readKind(b []byte) (id uint32, k kind) {
	id = le.Uint32(b)
	k.provider, b = cutWide(b[4:])
	k.event = le.Uint32(b)
	return id, k
}

func cutWide(b []byte) (string, []byte) {
	var units []uint16
	for {
		u := le.Uint16(b)
		if b = b[2:]; u == 0 {
			return string(utf16.Decode(units)), b
		}
		units = append(units, u)
	}
}

// readBlock gives each event of a block, whose headers are compressed.
func readBlock(b []byte, each func(metadata uint32, payload []byte)) {
	b = b[le.Uint16(b):]
	r := bytes.NewReader(b)
	number := func() uint64 { v, _ := binary.ReadUvarint(r); return v }
	var metadata, size uint64
	for r.Len() > 0 {
		flags, _ := r.ReadByte()
		if flags&1 != 0 {
			metadata = number()
		}
		if flags&2 != 0 {
			number()
			number()
			number()
		}
		if flags&4 != 0 {
			number()
		}
		if flags&8 != 0 {
			number()
		}
		number() // time
		for _, id := range []byte{0x10, 0x20} {
			if flags&id != 0 {
				r.Seek(16, io.SeekCurrent)
			}
		}
		if flags&0x80 != 0 {
			size = number()
		}
		payload := make([]byte, size)
		if _, err := io.ReadFull(r, payload); err != nil {
			return
		}
		each(uint32(metadata), payload)
	}
}

func readMethod(b []byte) ranDown {
	const jitted = 8
	m := ranDown{id: le.Uint64(b), start: le.Uint64(b[16:]), size: le.Uint32(b[24:]), flags: le.Uint32(b[32:])}
	m.typ, b = cutWide(b[36:])
	m.name, _ = cutWide(b)
	m.jitted = m.flags&jitted != 0
	return m
}

// TestRundown names an address in each method of a rundown, and compares: precompiled methods are in no perf map.
func TestRundown(t *testing.T) {
	least, busy := 1000, time.Second
	if *full {
		least, busy = 5000, 20*time.Second
	}
	for _, version := range versions(t) {
		if !*full && version != library {
			continue
		}
		t.Run(version, func(t *testing.T) {
			dir := t.TempDir()
			s := start(t, version, "TMPDIR="+dir)
			go s.work()
			time.Sleep(busy)
			methods := s.runDown(t, dir)
			s.Forget(t)
			s.compareRundown(t, methods, least)
		})
	}
}

func (s *server) compareRundown(t *testing.T, methods []ranDown, least int) {
	t.Helper()
	n := s.runtime(t)
	right, precompiled, dynamic, gone := 0, 0, 0, 0
	random := rand.New(rand.NewPCG(1, 2))
	for _, want := range methods {
		if want.flags&1 != 0 || want.start == 0 {
			dynamic++ // what is at its address may be another one by now
			continue
		}
		pc := want.start + random.Uint64N(uint64(max(want.size, 1)))
		f, ok := s.at(n, pc)
		raw := f.Linkage
		if _, name, ok := strings.Cut(raw, "] "); ok {
			raw = name
		}
		typ, name, _ := strings.Cut(raw, "::")
		name, _, _ = strings.Cut(name, "[")
		switch {
		case !ok:
			gone++
			t.Logf("%#x is not named (%s), the runtime says %s::%s", pc, f.Note, want.typ, want.name)
		case pc-f.Offset != want.start || typ != want.typ || name != want.name:
			t.Errorf("%#x is %q at %#x, the runtime says %s::%s at %#x", pc, f.Linkage, pc-f.Offset, want.typ,
				want.name, want.start)
		default:
			right++
			if !want.jitted {
				precompiled++
			}
		}
	}
	t.Logf("%d methods right, %d of them precompiled; %d dynamic methods, %d not named", right, precompiled,
		dynamic, gone)
	if right < least || gone > right/1000 {
		t.Errorf("%d methods are right and %d not named, want at least %d right", right, gone, least)
	}
}
