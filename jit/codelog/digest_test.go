package codelog

import (
	"bytes"
	"fmt"
	"math/rand"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// function is code of so many bytes; all begin alike.
func function(seed int64, length int) []byte {
	code := make([]byte, length)
	rand.New(rand.NewSource(seed)).Read(code)
	copy(code, bytes.Repeat([]byte{0x55, 0x48, 0x89, 0xe5}, 6))
	return code
}

// nameIn is what the code at 4196 is called, seen then, where the process has that code at 4096; nil: it has ended.
func (p *process) nameIn(at time.Time, code []byte) (unwind.Frame, string) {
	p.mu.Lock()
	p.ended = time.Time{}
	p.compared.Clear() // time has passed
	p.mu.Unlock()
	s := unwind.Stack{Frames: []unwind.Frame{{PC: 4196, Interrupted: true}}}
	p.Identify(&snapshot.Thread{Time: at}, &s, mem.NewOverlay(nil, mem.Range{Start: 4096, Data: code}))
	return s.Frames[0], p.name(s.Frames[0])
}

// TestReplaced: a name of code that is no longer at the address is not given, but the one that is written later.
func TestReplaced(t *testing.T) {
	for _, length := range []int{128, 600, 3000} {
		a, b := function(1, length), function(2, length)
		line := func(at time.Duration, name string, code []byte) string {
			return fmt.Sprintf("4096 %d %d %s %d\n", length, at, name, Digest(code[:DigestLength(uint64(length))]))
		}
		patched := bytes.Clone(a)
		copy(patched, "\xe9\x01\x02\x03\x04")                // the entry is a jump now
		copy(patched[length/3:], "\x11\x22\x33\x44\x55\x66") // an object was moved
		p := newProcess(t, line(0, "old", a))
		for _, c := range []struct {
			what string
			code []byte
			want string
		}{{"itself", a, "old"}, {"a few bytes differ", patched, "old"}, {"the process has ended", nil, "old"},
			{"another function", b, "-"}, {"itself again", a, "old"}} {
			if _, got := p.nameIn(time.Now(), c.code); got != c.want {
				t.Errorf("%d bytes, %s: got %q, want %q (%v)", length, c.what, got, c.want, p.Err())
			}
		}
		late, _ := p.nameIn(time.Now(), b)
		p.disk.write(line(0, "old", a) + line(0, "new", b))
		p.Settle()
		if got := p.name(late); got != "new" {
			t.Errorf("%d bytes: written late: got %q, want new", length, got)
		}
		if _, got := p.nameIn(time.Now(), b); got != "new" {
			t.Errorf("%d bytes: the newest: got %q, want new", length, got)
		}
	}
}

// TestReplacedSince: the time of a sample counts where the file knows what was there then, whatever is there now.
func TestReplacedSince(t *testing.T) {
	a, b := function(1, 256), function(2, 256)
	now := time.Now()
	p := newProcess(t, "")
	of := func(t time.Time) time.Duration { return t.Sub(p.disk.began) }
	p.disk.write(fmt.Sprintf("4096 256 %d old %d\n4096 256 %d new %d\n", of(now.Add(-time.Minute)), Digest(a),
		of(now.Add(-time.Second)), Digest(b)))
	if _, got := p.nameIn(now.Add(-2*time.Second), b); got != "old" {
		t.Errorf("before: got %q, want old", got)
	}
	if _, got := p.nameIn(time.Now(), b); got != "new" {
		t.Errorf("now: got %q, want new", got)
	}
}

// TestComparedOnce: code that is seen often is not read each time.
func TestComparedOnce(t *testing.T) {
	code := function(1, 256)
	p := newProcess(t, fmt.Sprintf("4096 256 0 f %d\n", Digest(code)))
	m := &countedReads{Reader: mem.NewOverlay(nil, mem.Range{Start: 4096, Data: code})}
	for range 100 {
		s := unwind.Stack{Frames: []unwind.Frame{{PC: 4196, Interrupted: true}}}
		p.Identify(&snapshot.Thread{Time: time.Now()}, &s, m)
	}
	if most := 1 + int(time.Since(m.first)/trustFor); m.reads == 0 || m.reads > most {
		t.Errorf("%d reads for 100 stacks, want 1 to %d", m.reads, most)
	}
}

// countedReads counts the reads of a memory.
type countedReads struct {
	mem.Reader
	reads int
	first time.Time
}

func (c *countedReads) ReadMem(b []byte, a mem.Addr) (int, error) {
	if c.reads++; c.first.IsZero() {
		c.first = time.Now()
	}
	return c.Reader.ReadMem(b, a)
}

// TestDigest: it is unknown of short code and of zeros, and known of what was made of anything else.
func TestDigest(t *testing.T) {
	if d := Digest(make([]byte, 512)); d != 0 {
		t.Errorf("zeros: %#x", d)
	}
	if d := Digest(function(1, 63)); d != 0 {
		t.Errorf("63 bytes: %#x", d)
	}
	if a, b := Digest(function(1, 64)), Digest(function(2, 64)); a == 0 || b == 0 || a == b {
		t.Errorf("64 bytes: %#x, %#x", a, b)
	}
	if areAlike(0x0102030405060708, 0x0102030400000000) != true || areAlike(0x0102030405060708, 0x0102030000000000) {
		t.Error("half of the pieces decide")
	}
}
