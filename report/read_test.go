package report

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/fpstack/fpstack/jsondoc"
	"github.com/fpstack/fpstack/profile"
)

// asJSON writes d as JSON.
func asJSON(t testing.TB, d *profile.Dump) []byte {
	t.Helper()
	var out bytes.Buffer
	if err := JSON(&out, d, Options{}); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// TestReadGoldens: what was read and written again has the same bytes, and what is not lost on
// the way is the same dump.
func TestReadGoldens(t *testing.T) {
	files, err := filepath.Glob("testdata/*--format-json.json")
	if err != nil || len(files) < 5 {
		t.Fatalf("goldens are %q, %v", files, err)
	}
	for _, file := range files {
		want, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		d, err := NewReader(bytes.NewReader(want)).Read()
		if err != nil {
			t.Errorf("%s: %v", file, err)
		} else if got := asJSON(t, d); !bytes.Equal(got, want) {
			t.Errorf("%s came back as\n%s", file, got)
		}
	}
}

func TestReadWhatWasWritten(t *testing.T) {
	for _, c := range cases() {
		text := asJSON(t, c.dump)
		d, err := NewReader(iotest.OneByteReader(bytes.NewReader(text))).Read()
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
		} else if got := asJSON(t, d); !bytes.Equal(got, text) {
			t.Errorf("%s came back as\n%s\nwant\n%s", c.name, got, text)
		}
	}
	want := redis()
	got, err := NewReader(bytes.NewReader(asJSON(t, want))).Read()
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(got.Threads[0].Stack.Frames[0], want.Threads[0].Stack.Frames[0]) {
		t.Errorf("frame: got %+v, want %+v", got.Threads[0].Stack.Frames[0], want.Threads[0].Stack.Frames[0])
	}
	if !reflect.DeepEqual(got.Process, want.Process) || !got.Time.Equal(want.Time) || got.Stopped != want.Stopped {
		t.Errorf("process: got %+v, want %+v", got.Process, want.Process)
	}
}

func TestReadSeveralDocuments(t *testing.T) {
	a, b := redis(), one(redis().Threads[1].Stack)
	b.Process.PID = 7
	text := append(asJSON(t, a), asJSON(t, b)...)
	r := NewReader(bytes.NewReader(text))
	for i, want := range []int{4121, 7} {
		d, err := r.Read()
		if err != nil || d.Process.PID != want {
			t.Fatalf("document %d: got %v, %v, want process %d", i, d, err, want)
		}
	}
	if d, err := r.Read(); err != io.EOF {
		t.Errorf("behind the last one: got %v, %v, want io.EOF", d, err)
	}
	r = NewReader(bytes.NewReader(text[:len(text)-100]))
	if _, err := r.Read(); err != nil {
		t.Errorf("the first of two, the second cut: %v", err)
	}
	for range 2 {
		if d, err := r.Read(); err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Errorf("the second, cut: got %v, %v, want an error that says so", d, err)
		}
	}
}

// TestReadCutAnywhere: wherever a document ends early, it is refused and said to be cut.
func TestReadCutAnywhere(t *testing.T) {
	text := asJSON(t, redis())
	for n := range len(text) - 1 { // the last byte is a newline
		d, err := NewReader(bytes.NewReader(text[:n])).Read()
		if n == 0 && err == io.EOF {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), "cut short") {
			t.Fatalf("cut at %d: got %v, %v", n, d, err)
		}
	}
}

// edits of a document that must be refused, and what the refusal says.
var refused = []struct{ name, old, new, want string }{
	{"another schema", `"fpstack.dump/1"`, `"fpstack.dump/2"`, `schema is "fpstack.dump/2"`},
	{"no schema", `"schema": "fpstack.dump/1",`, ``, `schema is ""`},
	{"no threads", `"threads"`, `"thread"`, `"threads" is missing`},
	{"no JSON", `{`, `process 4121`, "invalid character"},
	{"a list", `{`, `[{`, "found ["},
	{"threads are null", `"threads": [`, `"threads": null, "x": [`, "found"},
	{"number too large", `"pid": 4121`, `"pid": 1e400`, "1e400"},
	{"number with a fraction", `"tid": 4121`, `"tid": 4121.5`, "4121.5"},
	{"number of 65 bits", `"0x7f3a1b2f0e26"`, `"0x17f3a1b2f0e26ffff"`, "64 bits"},
	{"address as a number", `"address": "0x7f3a1b2f0e26"`, `"address": 139887`, "number"},
	{"address in decimal", `"0x7f3a1b2f0e26"`, `"139887"`, "0x1f"},
	{"address negative", `"0x7f3a1b2f0e26"`, `"0x-1"`, "0x1f"},
	{"frame without address", `"address": "0x7f3a1b2f0e26",`, ``, "no address"},
	{"frame without module_address", `"module_address"`, `"elsewhere"`, "no module_address"},
	{"module that is not listed", `"module": 1,`, `"module": 9,`, "module 9"},
	{"module below 0", `"module": 1,`, `"module": -1,`, "below 0"},
	{"module twice", `"id": 1,`, `"id": 0,`, "module 0 comes twice"},
	{"kind that is not known", `"kind": "native"`, `"kind": "other"`, `"other"`},
	{"frame of null", `"frames": [`, `"frames": [null,`, "kind"},
	{"member twice", `"rolling": false,`, `"rolling": false, "rolling": true,`, "comes twice"},
	{"backslash alone", `"redis-server"`, `"redis\\server"`, "backslash"},
	{"hex that is none", `"redis-server"`, `"redis\\xg0"`, "backslash"},
	{"nested deeply", `"rolling": false,`, `"more": ` + strings.Repeat(`[`, 1<<20) + `,`, "depth"},
	{"nested deeply in a frame", `"kind": "native"`, `"more": ` + strings.Repeat(`{"a":`, 1<<20), "depth"},
	{"time that is none", `"2026-03-04T05:06:07.000008Z"`, `"yesterday"`, "yesterday"},
	{"stopped for less than nothing", `"stopped_ns": 210000`, `"stopped_ns": -1`, "below 0"},
}

func TestReadRefuses(t *testing.T) {
	good := string(asJSON(t, redis()))
	for _, tt := range refused {
		bad := strings.Replace(good, tt.old, tt.new, 1)
		if bad == good {
			t.Fatalf("%s: %s is not in the document", tt.name, tt.old)
		}
		d, err := NewReader(strings.NewReader(bad)).Read()
		if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), "at byte ") {
			t.Errorf("%s: got %v, error %.300v, want one with %q and the place", tt.name, d, err, tt.want)
		}
	}
}

// TestReadLeavesOutWhatIsNew: members of later documents do no harm.
func TestReadLeavesOutWhatIsNew(t *testing.T) {
	good := string(asJSON(t, redis()))
	later := good
	for _, at := range []string{`"rolling": false,`, `"tid": 4121,`, `"complete": true,`, `"kind": "native",`,
		`"pid": 4121,`, `"id": 0,`} {
		if !strings.Contains(later, at) {
			t.Fatalf("%s is not in the document", at)
		}
		later = strings.Replace(later, at, at+` "newer": {"a": [1, {"b": null}], "c": "\u0000"},`, 1)
	}
	d, err := NewReader(strings.NewReader(later)).Read()
	if err != nil {
		t.Fatal(err)
	}
	if got := string(asJSON(t, d)); got != good {
		t.Errorf("came back as\n%s", got)
	}
}

// TestReadIsBounded: documents that are too much are refused, and no more of them is read than
// that takes. The usual limits are reached in live.
func TestReadIsBounded(t *testing.T) {
	small := limits{Limits: jsondoc.Limits{Size: 1 << 20, Element: 1 << 16}, threads: 1000, frames: 5000, modules: 100}
	const head = `{"schema":"fpstack.dump/1","process":{"pid":1,"cmdline":[]},"threads":[`
	const stack = `{"tid":1,"stack":{"complete":true,"frames":[`
	const frame = `{"index":0,"kind":"native","address":"0x1"},`
	const many = 1 << 20 // pieces, more than will be read
	for _, tt := range []struct {
		name              string
		head, piece, want string
	}{
		{"frames of one thread", head + stack, frame, "more than 5000"},
		{"frames of many threads", head, stack + strings.Repeat(frame, 100) + frame[:len(frame)-1] + "]}},",
			"more than 5000 frames"},
		{"threads", head, stack + "]}},", "more than 1000 elements"},
		{"frames without address", head + stack, `{"index":0,"kind":"native","inlined":true},`, "more than 5000"},
		{"modules with one id", `{"schema":"fpstack.dump/1","modules":[`, `{"id":0,"base":"0x0"},`,
			"module 0 comes twice"},
		{"a string", `{"schema":"`, "x", "an element of more than 65536 bytes"},
		{"a number", `{"schema":"fpstack.dump/1","late":`, "1", "an element of more than 65536 bytes"},
		{"a name that nobody knows", `{"schema":"fpstack.dump/1","`, "x", "an element of more than 65536 bytes"},
		{"problems", `{"schema":"fpstack.dump/1","problems":[""`, `,"x"`, "an element of more than 65536 bytes"},
		{"blanks", `{"schema":"fpstack.dump/1"`, " ", "of more than "},
		{"a member that nobody knows", `{"schema":"fpstack.dump/1","x":[0`, ",1",
			"an element of more than 65536 bytes"},
		{"large threads", head, `{"tid":1,"stack":{"frames":[]},"x":"` + strings.Repeat("x", 10000) + `"},`,
			"a document of more than 1048576 bytes"},
	} {
		source := &pieces{piece: tt.piece, n: many}
		d, err := newReader(io.MultiReader(strings.NewReader(tt.head), source), small).Read()
		if err == nil || !strings.Contains(err.Error(), tt.want) || len(err.Error()) > 1000 {
			t.Errorf("%s: got %v, error %.300v, want one with %q", tt.name, d, err, tt.want)
		}
		if read := (many - source.n) * len(tt.piece); int64(read) > small.Size+4*small.Element {
			t.Errorf("%s: %d bytes were read", tt.name, read)
		}
	}
	var modules strings.Builder
	for i := range 200 {
		fmt.Fprintf(&modules, `{"id":%d,"base":"0x0"},`, i)
	}
	_, err := newReader(strings.NewReader(`{"schema":"fpstack.dump/1","modules":[`+modules.String()), small).Read()
	if err == nil || !strings.Contains(err.Error(), "more than 100 elements") {
		t.Errorf("200 modules: %v", err)
	}
}

// pieces gives a piece n times without holding them.
type pieces struct {
	piece string
	rest  string
	n     int
}

func (p *pieces) Read(b []byte) (int, error) {
	if p.rest == "" {
		if p.n == 0 {
			return 0, io.EOF
		}
		p.n--
		p.rest = p.piece
	}
	n := copy(b, p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// TestReadBoundsEachDocument: many small documents may be more than one may be.
func TestReadBoundsEachDocument(t *testing.T) {
	text := string(asJSON(t, redis()))
	r := newReader(strings.NewReader(strings.Repeat(text, 100)),
		limits{Limits: jsondoc.Limits{Size: int64(len(text)) + 100, Element: 1 << 20}, threads: 10, frames: 100,
			modules: 10})
	for i := range 100 {
		if _, err := r.Read(); err != nil {
			t.Fatalf("document %d: %v", i, err)
		}
	}
	if _, err := r.Read(); err != io.EOF {
		t.Errorf("behind the last one: %v", err)
	}
}

func TestReadTellsWhyTheStreamFailed(t *testing.T) {
	broken := errors.New("no such device")
	_, err := NewReader(io.MultiReader(strings.NewReader(`{"schema":`), iotest.ErrReader(broken))).Read()
	if !errors.Is(err, broken) {
		t.Errorf("got %v, want the cause %v", err, broken)
	}
}

// FuzzRead: any bytes give a dump or an error, and a dump that was read is written and read
// again without a change.
func FuzzRead(f *testing.F) {
	good := string(asJSON(f, redis()))
	f.Add(good)
	f.Add(string(asJSON(f, hostile("\x1b]0;t\x07\xff\\x1b"))) + good)
	for _, tt := range refused {
		if len(tt.new) < 1000 {
			f.Add(strings.Replace(good, tt.old, tt.new, 1))
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		d, err := NewReader(strings.NewReader(text)).Read()
		if (d == nil) == (err == nil) {
			t.Fatalf("got %v and %v", d, err)
		}
		if err != nil {
			return
		}
		first := asJSON(t, d)
		again, err := NewReader(bytes.NewReader(first)).Read()
		if err != nil {
			t.Fatalf("%v in what was written:\n%s", err, first)
		}
		if second := asJSON(t, again); !bytes.Equal(first, second) {
			t.Errorf("written twice:\n%s\n%s", first, second)
		}
		for _, write := range []Format{Text, GDB} {
			if err := write(io.Discard, d, Options{Group: true, Verbose: true}); err != nil {
				t.Error(err)
			}
		}
	})
}
