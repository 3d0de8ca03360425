package jitdump

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/jit/codelog"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
)

// dump is a jitdump that is being made.
type dump struct {
	bytes.Buffer
	order binary.ByteOrder
}

func newDump(order binary.ByteOrder, flags uint64) *dump {
	d := &dump{order: order}
	d.put(uint32(magic), uint32(1), uint32(headerLength+8), uint32(62), uint32(0), uint32(77), uint64(1), flags,
		uint64(0xfeed)) // the last: what a later version may have behind
	return d
}

func (d *dump) put(values ...any) *dump {
	for _, v := range values {
		if s, ok := v.(string); ok {
			d.WriteString(s)
		} else if err := binary.Write(d, d.order, v); err != nil {
			panic(err)
		}
	}
	return d
}

func (d *dump) record(id uint32, at time.Duration, body *dump) *dump {
	d.put(id, uint32(recordLength+body.Len()), uint64(at))
	d.Write(body.Bytes())
	return d
}

func (d *dump) body(values ...any) *dump { return (&dump{order: d.order}).put(values...) }

func (d *dump) load(at time.Duration, addr, size uint64, name string) *dump {
	return d.record(codeLoad, at, d.body(uint32(77), uint32(77), addr, addr, size, uint64(1), name+"\x00",
		strings.Repeat("\xcc", int(min(size, 64)))))
}

func (d *dump) move(at time.Duration, from, to, size uint64) *dump {
	return d.record(codeMove, at, d.body(uint32(77), uint32(77), to, from, to, size, uint64(1)))
}

// newParser is one for a process that began at 1 s; it is 100 s now.
func newParser() *parser {
	return &parser{start: time.Second, now: func(time.Time) time.Duration { return 100 * time.Second }}
}

// read reads data whole.
func read(t *testing.T, data []byte) (*codelog.Book, *parser) {
	t.Helper()
	b, p := &codelog.Book{}, newParser()
	next, err := p.Read(bytes.NewReader(data), 0, int64(len(data)), b)
	if err != nil || next != int64(len(data)) {
		t.Fatalf("read up to %d of %d: %v", next, len(data), err)
	}
	return b, p
}

// list is what b has now.
func list(b *codelog.Book) string {
	var out []string
	b.Each(func(start, end mem.Addr, name string) bool {
		out = append(out, fmt.Sprintf("%x-%x %s", uint64(start), uint64(end), name))
		return true
	})
	return strings.Join(out, ", ")
}

// TestRecords: in both byte orders, with records that are not known and those that end a file between.
func TestRecords(t *testing.T) {
	for _, order := range []binary.ByteOrder{binary.LittleEndian, binary.BigEndian} {
		d := newDump(order, 0)
		d.load(2*time.Second, 0x1000, 0x100, "first").record(4, 0, d.body(uint64(1), uint64(2), uint64(3), "tables"))
		d.record(99, 0, d.body("whatever")).load(3*time.Second, 0x2000, 0, "empty").record(codeClose, 0, d.body())
		d.load(4*time.Second, 0x1040, 0x40, "second").move(5*time.Second, 0x1000, 0x8000, 0x40)
		b, _ := read(t, d.Bytes())
		const want = "1040-1080 second, 1080-1100 first, 8000-8040 first"
		if got := list(b); got != want || b.Summary() != "" {
			t.Errorf("%v: got %s, %q, want %s", order, got, b.Summary(), want)
		}
		for _, row := range []struct {
			addr mem.Addr
			at   time.Duration
			want string
		}{{0x1050, 3 * time.Second, "first"}, {0x1050, 4 * time.Second, "second"}, {0x1050, 0, "second"},
			{0x1050, time.Second, ""}, {0x1010, 4 * time.Second, "first"}, {0x1010, 6 * time.Second, ""},
			{0x8010, 6 * time.Second, "first"}, {0x8010, 4 * time.Second, ""}} {
			if r, _, _ := b.Find(row.addr, row.at); string(r.Name) != row.want {
				t.Errorf("%v: %#x at %v is %q, want %q", order, uint64(row.addr), row.at, r.Name, row.want)
			}
		}
	}
}

// TestStale: records of an earlier process with the same number, which this one appends to, header included.
func TestStale(t *testing.T) {
	d := newDump(binary.LittleEndian, 0)
	d.load(time.Millisecond, 0x1000, 0x100, "old").move(2*time.Millisecond, 0x1000, 0x3000, 0x100)
	d.Write(newDump(binary.LittleEndian, 0).Bytes())
	d.load(2*time.Second, 0x2000, 0x100, "new")
	b, _ := read(t, d.Bytes())
	if got := list(b); got != "2000-2100 new" || b.Summary() != "2 of an earlier process" {
		t.Errorf("got %s, %q", got, b.Summary())
	}
}

// TestOtherClocks: where times are by another clock the newest record wins, and none is taken for an old one.
func TestOtherClocks(t *testing.T) {
	for name, d := range map[string]*dump{
		"ticks of the CPU": newDump(binary.LittleEndian, archTime).load(5, 0x1000, 16, "a").load(6, 0x1000, 16, "b"),
		"the wall clock": newDump(binary.LittleEndian, 0).load(1e18, 0x1000, 16, "a").load(1e18+1, 0x1000, 16,
			"b"),
	} {
		b, _ := read(t, d.Bytes())
		if r, _, ok := b.Find(0x1000, 2*time.Second); !ok || string(r.Name) != "b" {
			t.Errorf("%s: got %q, want b", name, r.Name)
		}
	}
}

// TestLines: the entry below an address, the file of the entry before, and what may follow the entries.
func TestLines(t *testing.T) {
	d := newDump(binary.LittleEndian, 0)
	d.record(codeDebug, 0, d.body(uint64(0x1000), uint64(3), uint64(0x1000), uint32(10), uint32(1), "a.x\x00",
		uint64(0x1010), uint32(11), uint32(1), "\xff\x00", uint64(0x1020), uint32(5), uint32(1), "b.x\x00", "\x00\x00"))
	d.load(2*time.Second, 0x1000, 0x100, "f").load(2*time.Second, 0x2000, 0x100, "without")
	b, p := read(t, d.Bytes())
	r, _, _ := b.Find(0x1000, 0)
	for a, want := range map[mem.Addr]string{0x1000: "a.x:10", 0x100f: "a.x:10", 0x1010: "a.x:11", 0x10ff: "b.x:5",
		0xfff: ":0"} {
		file, line, ok := p.Line(bytes.NewReader(d.Bytes()), &r, a)
		if got := fmt.Sprintf("%s:%d", file, line); got != want || ok != (line > 0) {
			t.Errorf("%#x: got %s, %v, want %s", uint64(a), got, ok, want)
		}
	}
	if r, _, _ := b.Find(0x2000, 0); r.Detail != 0 {
		t.Error("the lines of one function are those of the next")
	}
}

// TestNode reads functions that node 22.23 wrote with --perf-prof, whose names of files are garbage. The true lines are
// those of the program: all of inner is in line 3.
func TestNode(t *testing.T) {
	data, err := os.ReadFile("testdata/node22-perf-prof.dump")
	if err != nil {
		t.Fatal(err)
	}
	b, p := read(t, data)
	seen := map[string]bool{}
	b.Each(func(start, _ mem.Addr, name string) bool {
		r, _, _ := b.Find(start, 0)
		if r.Detail == 0 {
			return true
		}
		file, line, ok := p.Line(bytes.NewReader(data), &r, start)
		want := strings.Split(name[strings.LastIndexByte(name, '/'):], ":")[1]
		if fmt.Sprint(line) != want || !strings.HasSuffix(file, "/hot.js") || !ok {
			t.Errorf("%s begins in %s:%d, want line %s", name, file, line, want)
		}
		seen[strings.Fields(name)[0]] = true
		return true
	})
	if !seen["JS:*inner"] || !seen["JS:^inner"] {
		t.Errorf("functions with lines: %v", seen)
	}
}

// TestCut cuts the file at every byte: what is whole is read, the rest when it is there.
func TestCut(t *testing.T) {
	d := newDump(binary.LittleEndian, 0)
	data := d.load(2*time.Second, 0x1000, 16, "a").load(2*time.Second, 0x2000, 16, "b").Bytes()
	for cut := range data {
		b, p := &codelog.Book{}, newParser()
		next, err := p.Read(bytes.NewReader(data[:cut]), 0, int64(cut), b)
		if err != nil || next > int64(cut) {
			t.Fatalf("cut at %d: up to %d, %v", cut, next, err)
		}
		next, err = p.Read(bytes.NewReader(data), next, int64(len(data)), b)
		if err != nil || next != int64(len(data)) || list(b) != "1000-1010 a, 2000-2010 b" {
			t.Fatalf("cut at %d: then up to %d, %v: %s", cut, next, err, list(b))
		}
	}
}

// TestMalformed: what ends the reading, and what is left out.
func TestMalformed(t *testing.T) {
	le := binary.LittleEndian
	header := func(change func([]byte)) []byte {
		b := newDump(le, 0).Bytes()
		change(b)
		return b
	}
	for name, data := range map[string][]byte{
		"is no jitdump":          []byte(strings.Repeat("x", 64)),
		"has version 2":          header(func(b []byte) { b[4] = 2 }),
		"has flags 0x8":          header(func(b []byte) { b[32] = 8 }),
		"a header of 8 bytes":    header(func(b []byte) { b[8] = 8 }),
		"a record of 15 bytes":   append(newDump(le, 0).Bytes(), header(func(b []byte) { clear(b); b[4] = 15 })...),
		"a record of 0 bytes":    append(newDump(le, 0).Bytes(), make([]byte, 16)...),
		"has more than 1024 MiB": nil,
	} {
		size := int64(len(data))
		if data == nil {
			size = maxRead + 1
		}
		next, err := newParser().Read(bytes.NewReader(data), 0, size, &codelog.Book{})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %d, %v", name, next, err)
		}
	}
	d := newDump(le, 0)
	d.load(2*time.Second, ^uint64(0), 2, "over the end").load(2*time.Second, 0x1000, 16, "")
	d.record(codeLoad, 0, d.body("short")).record(codeMove, 0, d.body("short")).move(0, 0x9000, 0x1000, 16)
	d.record(codeDebug, 0, d.body("short")).load(2*time.Second, 0x1000, 16, "good")
	b, _ := read(t, d.Bytes())
	if got := list(b); got != "1000-1010 good" || b.Summary() != "5 not understood" {
		t.Errorf("got %s, %q", got, b.Summary())
	}
	huge := newDump(le, 0).put(uint32(0), uint32(1<<31), uint64(0)).Bytes()
	if next, err := newParser().Read(bytes.NewReader(huge), 0, int64(len(huge)), &codelog.Book{}); err != nil ||
		next != headerLength+8 {
		t.Errorf("a record that is not all there: up to %d, %v", next, err)
	}
}

// TestMarker: the mapping that shows the file.
func TestMarker(t *testing.T) {
	rx := maps.Read | maps.Exec
	for _, row := range []struct {
		name string
		m    maps.Mapping
		want bool
	}{
		{"plain", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/x/jit-77.dump"}, true},
		{"deleted", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/jit-77.dump", Deleted: true}, true},
		{"of another process", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/jit-78.dump"}, false},
		{"not executable", maps.Mapping{Perm: maps.Read, Inode: 1, Path: "/srv/jit-77.dump"}, false},
		{"not its beginning", maps.Mapping{Perm: rx, Inode: 1, Offset: 4096, Path: "/srv/jit-77.dump"}, false},
		{"no file", maps.Mapping{Perm: rx, Path: "/srv/jit-77.dump"}, false},
		{"another name", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/xjit-77.dump"}, false},
		{"of JavaScriptCore", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/jit-79-77.dump"}, true},
		{"of JavaScriptCore in another", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/jit-77-79.dump"}, false},
		{"no number before that", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/jit-x-77.dump"}, false},
		{"no number", maps.Mapping{Perm: rx, Inode: 1, Path: "/srv/jit-.dump"}, false},
	} {
		if got := isMarker(&row.m, 77); got != row.want {
			t.Errorf("%s: got %v", row.name, got)
		}
	}
}

// FuzzRead: no bytes make it panic, loop or go back.
func FuzzRead(f *testing.F) {
	d := newDump(binary.LittleEndian, 0)
	d.record(codeDebug, 0, d.body(uint64(0x1000), uint64(1), uint64(0x1000), uint32(1), uint32(1), "f\x00"))
	f.Add(d.load(2*time.Second, 0x1000, 16, "a").move(3*time.Second, 0x1000, 0x2000, 16).Bytes(), uint8(60))
	f.Add(newDump(binary.BigEndian, 1).load(2, 0x1000, 16, "a").Bytes(), uint8(3))
	f.Fuzz(func(t *testing.T, data []byte, cut uint8) {
		b, p, next := &codelog.Book{}, newParser(), int64(0)
		for _, to := range []int64{min(int64(cut), int64(len(data))), int64(len(data))} {
			was := next
			var err error
			if next, err = p.Read(bytes.NewReader(data), next, to, b); next < was || next > to {
				t.Fatalf("from %d up to %d of %d, %v", was, next, to, err)
			}
			if err != nil {
				break
			}
		}
		b.Each(func(start, _ mem.Addr, _ string) bool {
			r, _, ok := b.Find(start, 0)
			if !ok || len(r.Name) == 0 {
				t.Fatalf("%#x is listed and not found", uint64(start))
			}
			p.Line(bytes.NewReader(data), &r, start)
			return true
		})
	})
}

// TestCode: the code in a record is known by its digest, if all that counts of it is in the file.
func TestCode(t *testing.T) {
	code := strings.Repeat("code that is no other ", 100)
	for _, c := range []struct {
		name string
		size int // as the record says
		code string
		want bool
	}{{"whole", 700, code[:700], true}, {"long", 2000, code[:2000], true}, {"none", 700, "", false},
		{"cut", 700, code[:699], false}} {
		d := newDump(binary.LittleEndian, 0)
		d.record(codeLoad, 2*time.Second, d.body(uint32(77), uint32(77), uint64(0x1000), uint64(0x1000), uint64(c.size),
			uint64(1), "f\x00", c.code))
		b, _ := read(t, d.Bytes())
		r, _, ok := b.Find(0x1010, 0)
		want := uint64(0)
		if c.want {
			want = codelog.Digest([]byte(code[:codelog.DigestLength(uint64(c.size))]))
		}
		if !ok || r.Code != want || c.want && want == 0 {
			t.Errorf("%s: %v, code %#x, want %#x", c.name, ok, r.Code, want)
		}
	}
}
