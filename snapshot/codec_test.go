package snapshot

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"io"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
)

// full returns a Snapshot in which every field says something.
func full() *Snapshot {
	r := regs.New(regs.AMD64)
	r.Set(regs.AMD64RIP, 0x401136)
	r.Set(regs.AMD64RSP, 1<<64-8)
	r.Set(regs.AMD64RBX, 0)
	z, _ := regs.S390X.Decode(bytes.Repeat([]byte{0x5a}, regs.S390X.NoteSize))
	return &Snapshot{
		Process: Process{PID: 4121, Comm: "re\xffdis", Cmdline: []string{"redis-server", "", "\xfe\n"},
			Exe: "/usr/bin/re\ndis", Role: "gunicorn worker of 7"},
		Host:    regs.AMD64,
		Time:    time.Date(2024, 2, 29, 23, 59, 59, 123456789, time.UTC),
		Stopped: 123456 * time.Nanosecond,
		Rolling: true,
		NoStop:  true,
		Maps: maps.NewTable([]maps.Mapping{
			{Start: 0x400000, End: 0x401000, Perm: maps.Read | maps.Exec, Offset: 0x1000, Dev: 0xfe << 32,
				Inode: 1<<64 - 1, Path: "/x\xff", Deleted: true},
			{Start: 1<<64 - 8192, End: 1<<64 - 4096, Perm: maps.Shared, Path: "[vsyscall]"},
		}),
		Changed: maps.Spans{{Start: 0x400000, End: 0x401000}, {Start: 1<<64 - 8192, End: 1<<64 - 1}},
		Threads: []Thread{
			{TID: 4121, Inner: 7, Comm: "\x00\x80", State: 'S', Arch: regs.I386, Registers: &r, PACMask: 1<<63 | 1,
				Stack:    mem.Range{Start: 0x7ffe0000, Data: []byte{1, 2, 3, 0xff}},
				StackErr: errors.New("read 8 bytes at 0x7ffe0004: not mapped"), Syscall: &Syscall{Number: -1,
					Args: [6]uint64{1<<64 - 1, 2, 3, 4, 5, 6}, SP: 7, PC: 1 << 63},
				Wchan: "futex_wait", KernelStack: []string{"futex_wait+0x1/0x2", ""}, NotStopped: "none", Stopped: 77,
				KernelWorker: true, Time: time.Date(2026, 1, 2, 3, 4, 5, 7, time.UTC),
				TP: 1<<64 - 64, HasTP: true, Counters: &Counters{CPU: 5, Waited: 1 << 62, Switches: 1<<64 - 1},
				Signal:     &Signal{Number: 11, Code: -6, HasCode: true, Addr: 1<<64 - 1, HasAddr: true, Sender: 12},
				Copied:     []mem.Range{{Start: 0x7ffe0002, Data: []byte{3, 0xff, 5}}, {Start: 8, Data: []byte{1}}},
				Shortfalls: []Shortfall{{"golang", errors.New("budget is spent")}}},
			{TID: 4122, Registers: &z, KernelStack: []string{}},
			{},
		},
		Memory: []mem.Range{{Start: 1<<64 - 4, Data: []byte{9, 8, 7, 6}},
			{Start: 0x1000, Data: bytes.Repeat([]byte{1}, 100_000)}, {Start: 5}},
		Whole:   []mem.Range{{Start: 0x2000, Data: []byte{4, 3}}, {Start: 0x3000, Data: []byte{2}}},
		Clock:   77 * time.Hour,
		Running: []mem.Range{{Start: 0x2000, Data: []byte{4}}, {Start: 0x1fff, Data: []byte{3, 4}}},
		Files: []File{{Path: "/x\xff", Dev: 0xfe << 32, Inode: 1<<64 - 1, BuildID: "00ff"},
			{Path: "/y", Sum: "0123", Err: "permission denied"}, {Path: "/memfd:z", NotELF: true}},
		Contents: []Content{{Path: "/tmp/perf-1.map", Data: []byte("1 2 x\n")}, {Path: "/empty"}},
		FDs:      map[int]string{0: "/dev/null", 7: "pipe:[\xff]"},
		Exited:   3,
		Late:     2,
		Left:     []int{77, 78},
		Batches:  3,
		Core:     true,
		Problems: []string{"thread 4123: operation not permitted"},
	}
}

func encode(t testing.TB, s *Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	for _, row := range []struct {
		name string
		s    *Snapshot
	}{
		{"nothing known", &Snapshot{Time: time.Time{}.UTC()}},
		{"no mappings", &Snapshot{Maps: maps.NewTable(nil), Host: regs.LOONG64, FDs: map[int]string{},
			Problems: []string{}}},
		{"every field", full()},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := encode(t, row.s)
			got, err := read(bytes.NewReader(b))
			if err != nil {
				t.Fatal(err)
			}
			if got.Maps != nil && len(got.Maps.All()) == 0 { // an empty list may be nil inside the Table
				got.Maps = row.s.Maps
			}
			if !reflect.DeepEqual(got, row.s) {
				t.Errorf("Read(Write(s)) =\n%+v, want\n%+v", got, row.s)
			}
			if again := encode(t, got); !bytes.Equal(again, b) {
				t.Errorf("written again it has %d bytes, was %d", len(again), len(b))
			}
		})
	}
}

// TestFullHasAllFields keeps TestRoundTrip complete when a field is added.
func TestFullHasAllFields(t *testing.T) {
	s := full()
	for _, v := range []any{*s, s.Process, s.Threads[0], *s.Threads[0].Syscall, *s.Threads[0].Signal} {
		rv := reflect.ValueOf(v)
		for i := range rv.NumField() {
			if rv.Field(i).IsZero() {
				t.Errorf("%s.%s is zero in the test's snapshot", rv.Type(), rv.Type().Field(i).Name)
			}
		}
	}
}

func TestRoundTripOfEveryArch(t *testing.T) {
	for _, a := range regs.All {
		note := make([]byte, a.NoteSize)
		for i := range note {
			note[i] = byte(i + 1)
		}
		r, err := a.Decode(note)
		if err != nil {
			t.Fatal(err)
		}
		r.Forget(a.SP)
		r.SetVectors(64)
		got, err := read(bytes.NewReader(encode(t, &Snapshot{Host: a, Threads: []Thread{{Registers: &r}}})))
		if err != nil {
			t.Fatal(err)
		}
		if *got.Threads[0].Registers != r || got.Host != a {
			t.Errorf("%s: registers differ: %+v, want %+v", a.Name, got.Threads[0].Registers, r)
		}
	}
}

func TestErrorsBecomeTheirText(t *testing.T) {
	s := &Snapshot{Threads: []Thread{{StackErr: &mem.FaultError{Addr: 0x1000, Len: 8, Err: mem.ErrUnmapped}}}}
	got, err := read(bytes.NewReader(encode(t, s)))
	if err != nil || got.Threads[0].StackErr.Error() != "read 8 bytes at 0x1000: not mapped" {
		t.Errorf("StackErr = %v, %v", got.Threads[0].StackErr, err)
	}
}

// file makes a recorded file of raw records.
func file(first string, records ...string) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	io.WriteString(w, first)
	for _, r := range records {
		io.WriteString(w, r)
	}
	w.Close()
	return b.Bytes()
}

func record(kind byte, json string) string {
	return string(binary.LittleEndian.AppendUint32([]byte{kind}, uint32(len(json)))) + json
}

func TestReadMalformed(t *testing.T) {
	head, end := record('H', "{}"), record('E', "{}")
	whole := encode(t, full())
	flipped := append([]byte(nil), whole...)
	flipped[len(flipped)-6] ^= 1 // in the sum of gzip
	for _, row := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "unexpected EOF"},
		{"not gzip", []byte("hello, this is a text"), "gzip"},
		{"another version", file("fpstack snapshot 2\n", head, end), `first line: "fpstack snapshot 2\n"`},
		{"gzip of something else", file("x"), "first line"},
		{"no head", file(magic, end), `record 'E' in its place`},
		{"no end", file(magic, head), "unexpected EOF"},
		{"cut", whole[:len(whole)/2], "unexpected EOF"},
		{"sum does not fit", flipped, "checksum"},
		{"bytes behind the end", file(magic, head, end, "x"), "more bytes"},
		{"record of no kind", file(magic, head, record('Q', "{}"), end), `'Q'`},
		{"JSON of the wrong kind", file(magic, head, record('T', "[]"), end), "thread 0"},
		{"record without JSON", file(magic, head, record('T', ""), end), "record"},
		{"architecture not known", file(magic, record('H', `{"host":"vax"}`), end), `architecture "vax"`},
		{"architecture of a thread not known", file(magic, head, record('T', `{"registers":{"arch":"vax"}}`), end),
			`architecture "vax"`},
		{"note of another length", file(magic, head, record('T', `{"registers":{"arch":"amd64","note":"AAAA"}}`), end),
			"note of 3 bytes"},
		{"stack is not there", file(magic, head, record('T', `{"stack":{"size":100}}`), end), "unexpected EOF"},
		{"stack of 2^64-1 bytes", file(magic, head, record('T', `{"stack":{"size":18446744073709551615}}`), end),
			"bytes of memory"},
		{"two halves of 2^63 bytes", file(magic, head, record('R', `{"size":9223372036854775808}`), end),
			"bytes of memory"},
		{"range around the end of the address space",
			file(magic, head, record('R', `{"start":18446744073709551614,"size":3}`), "abc", end),
			"behind the address space"},
		{"record of 4 GiB", file(magic, head, "T\xff\xff\xff\xff"), "bytes of JSON"},
		{"registers of no architecture", file(magic, head, record('T', `{"registers":{}}`), end), "no architecture"},
		{"program of an unknown architecture", file(magic, head, record('T', `{"arch":"vax"}`), end),
			`architecture "vax"`},
		{"hex that is none", file(magic, record('H', `{"comm":{"hex":"zz"}}`), end), "head"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, err := read(bytes.NewReader(row.file))
			var format *FormatError
			if s != nil || !errors.As(err, &format) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("Read = %v, %v; want a FormatError with %q", s, err, row.want)
			}
		})
	}
}

func TestReadManyThreads(t *testing.T) {
	thread := record('T', "{}")
	s, err := read(bytes.NewReader(file(magic, record('H', "{}"), strings.Repeat(thread, maxThreads+1),
		record('E', "{}"))))
	var limit *LimitError
	if s != nil || !errors.As(err, &limit) || limit.At != maxThreads {
		t.Errorf("Read of %d threads = %v, want a LimitError", maxThreads+1, err)
	}
}

// A refusal never names a limit that is not reached, whoever finds it.
func TestLimitOfJSON(t *testing.T) {
	long := func(n int) string { return `{"comm":{"text":"` + strings.Repeat("x", n) + `"}}` }
	announced := magic + "H" + "\x00\x00\x40\x06" // 100 MiB, of which nothing follows
	many := strings.Repeat(record('T', `{"x":"`+strings.Repeat("x", 15<<20)+`"}`), 9)
	for what, f := range map[string]func() error{
		"a head of 100 MB": func() error { _, err := read(bytes.NewReader(file(announced))); return err },
		"one record": func() error {
			_, err := read(bytes.NewReader(file(magic, record('H', long(17<<20)), record('E', "{}"))))
			return err
		},
		"all records": func() error {
			_, err := read(bytes.NewReader(file(magic, record('H', "{}"), many)))
			return err
		},
		"a name that is written": func() error {
			return Write(io.Discard, &Snapshot{Process: Process{Comm: strings.Repeat("x", 17<<20)}})
		},
	} {
		var limit *LimitError
		if err := f(); !errors.As(err, &limit) || limit.Has <= limit.At || !strings.Contains(err.Error(), "JSON") {
			t.Errorf("%s: %v, want a LimitError of more than its limit", what, err)
		}
	}
}

func TestWriteErrors(t *testing.T) {
	cause := errors.New("no space left on device")
	if err := Write(failing{cause}, full()); !errors.Is(err, cause) {
		t.Errorf("error %v, want that of the writer", err)
	}
	var limit *LimitError
	if err := Write(io.Discard, &Snapshot{Threads: make([]Thread, maxThreads+1)}); !errors.As(err, &limit) {
		t.Errorf("error %v, want a LimitError", err)
	}
	if err := Write(io.Discard, &Snapshot{Threads: []Thread{{Registers: &regs.Registers{}}}}); err == nil {
		t.Error("registers of no architecture are written")
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func FuzzRead(f *testing.F) {
	// The bytes are what is inside the gzip: a fuzzer does not get through its sum.
	zr, err := gzip.NewReader(bytes.NewReader(encode(f, full())))
	if err != nil {
		f.Fatal(err)
	}
	plain, err := io.ReadAll(zr)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(plain)
	f.Add([]byte(magic + record('H', `{"maps":true}`) + record('M', `{"start":1,"end":2}`) +
		record('T', `{"stack":{"size":1}}`) + "x" + record('E', "{}")))
	f.Fuzz(func(t *testing.T, data []byte) {
		s, err := read(bytes.NewReader(file(string(data))))
		if (s == nil) != (err != nil) {
			t.Fatalf("Read = %v, %v", s, err)
		}
		if err != nil {
			return
		}
		var b bytes.Buffer
		if err := Write(&b, s); err != nil {
			return // a year above 9999
		}
		again, err := read(&b)
		if err != nil || !reflect.DeepEqual(again, s) {
			t.Errorf("Read(Write(s)) = %+v, %v; want %+v", again, err, s)
		}
	})
}

// What several Copiers copied of many threads is more than a file may hold: it is written as far as there is room, and
// the others say that theirs is missing.
func TestWriteMoreThanThereIsRoomFor(t *testing.T) {
	one := make([]mem.Range, 2*512) // of two Copiers, each within its budget
	for i := range one {
		one[i] = mem.Range{Start: mem.Addr(i), Data: []byte{1}}
	}
	s := &Snapshot{Memory: []mem.Range{{Start: 1, Data: []byte{7}}}}
	for i := range maxRanges/len(one) + 10 {
		s.Threads = append(s.Threads, Thread{TID: i + 1, Copied: one})
	}
	s.Threads[3].Copied = slices.Repeat(one, 5)
	var b bytes.Buffer
	if err := Write(&b, s); err != nil {
		t.Fatal(err)
	}
	got, err := read(&b)
	if err != nil {
		t.Fatal(err)
	}
	ranges := 0
	for i := range got.Threads {
		a, n := &got.Threads[i], len(got.Threads[i].Copied)
		ranges += n
		if whole := n == len(s.Threads[i].Copied); whole == (len(a.Shortfalls) == 1) || n > maxCopied {
			t.Fatalf("thread %d: %d ranges of %d, shortfalls %v", a.TID, n, len(s.Threads[i].Copied), a.Shortfalls)
		}
	}
	if ranges != maxRanges-1 || len(got.Memory) != 1 || len(s.Threads[3].Shortfalls) != 0 {
		t.Errorf("%d ranges of threads and %d others, want %d and 1, and nothing changed in what is written", ranges,
			len(got.Memory), maxRanges-1)
	}
}
