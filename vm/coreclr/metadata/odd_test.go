package metadata

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// drawing is metadata drawn row by row.
type drawing struct {
	stream  string // of the tables
	heaps   uint8
	rows    map[int][]row
	strings string
	blobs   string
}

const (
	drawnAt  mem.Addr = 0x7f0000001000
	typeRefs int      = 0x01 // a table
)

// bytes lays d out.
func (d *drawing) bytes() []byte {
	var counts [tableCount]uint32
	var present uint64
	for n, rows := range d.rows {
		counts[n] = uint32(len(rows))
		present |= 1 << n
	}
	tables := make([]byte, 24)
	tables[6] = d.heaps
	order.PutUint64(tables[8:], present)
	for n := range tableCount {
		if present>>n&1 != 0 {
			tables = order.AppendUint32(tables, counts[n])
		}
	}
	if d.heaps&extraData != 0 {
		tables = order.AppendUint32(tables, 0xdddddddd)
	}
	for n := range tableCount {
		var tb table
		tb.layOut(schema[n], d.heaps, &counts)
		for _, r := range d.rows[n] {
			for i, w := range tb.columns {
				if w == 2 {
					tables = order.AppendUint16(tables, uint16(r[i]))
				} else {
					tables = order.AppendUint32(tables, r[i])
				}
			}
		}
	}
	streams := []struct{ name, data string }{{d.stream, string(tables)}, {"#Strings", d.strings}, {"#Blob", d.blobs}}
	head := []byte("BSJB\x01\x00\x01\x00\x00\x00\x00\x00\x0c\x00\x00\x00v4.0.30319\x00\x00\x00\x00")
	head = order.AppendUint16(head, uint16(len(streams)))
	size := len(head)
	for _, s := range streams {
		size += 8 + (len(s.name)+4)&^3
	}
	body := ""
	for _, s := range streams {
		head = order.AppendUint32(head, uint32(size+len(body)))
		head = order.AppendUint32(head, uint32(len(s.data)))
		head = append(head, s.name+strings.Repeat("\x00", (len(s.name)+4)&^3-len(s.name))...)
		body += s.data
	}
	return append(head, body...)
}

func (d *drawing) open(t *testing.T) *Tables {
	t.Helper()
	m := mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: d.bytes()})
	tables, err := Open(over(m, work.New(work.Steps, work.Memory)), drawnAt)
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// plain is a class A with the methods f and g<T>, and a class N.B<U> with h.
//
//	offsets in #Strings: 1 A, 3 f, 5 g, 7 B, 9 h, 11 N, 13 T, 15 U
func plain() *drawing {
	return &drawing{
		stream:  "#~",
		strings: "\x00A\x00f\x00g\x00B\x00h\x00N\x00T\x00U\x00",
		blobs:   "\x00",
		rows: map[int][]row{
			typeDefs:      {{0, 1, 0, 0, 1, 1}, {0, 7, 11, 0, 1, 3}},
			methodDefs:    {{0, 0, 0, 3, 0, 1}, {0, 0, 0, 5, 0, 1}, {0, 0, 0x800, 9, 0, 1}},
			genericParams: {{0, 0, 2 << 1, 15}, {0, 0, 2<<1 | 1, 13}},
		},
	}
}

// methods describes each method of d.
func (d *drawing) methods(t *testing.T) string {
	t.Helper()
	tables := d.open(t)
	var out []string
	for rid := range tables.tables[methodDefs].rows {
		m, err := tables.Method(rid + 1)
		if err != nil {
			out = append(out, err.Error())
			continue
		}
		var path []string
		for _, p := range m.Path {
			path = append(path, strings.TrimPrefix(p.Namespace+"."+p.Name, ".")+"<"+strings.Join(p.Parameters, ",")+">")
		}
		out = append(out, strings.Join(path, "+")+"::"+m.Name+"<"+strings.Join(m.Parameters, ",")+">")
	}
	return strings.Join(out, " ")
}

const plainMethods = "A<>::f<> A<>::g<T> N.B<U>::h<>"

// TestOddShapes: forms that compilers seldom write give the same.
func TestOddShapes(t *testing.T) {
	for name, change := range map[string]func(d *drawing){
		"plain":             func(*drawing) {},
		"wide names":        func(d *drawing) { d.heaps = wideStrings },
		"wide blobs":        func(d *drawing) { d.heaps = wideBlobs | wideGuids },
		"data after counts": func(d *drawing) { d.heaps = extraData },
		"not compressed":    func(d *drawing) { d.stream = "#-" },
		"many fields":       func(d *drawing) { d.rows[0x04] = make([]row, 1<<16) },
		"many type references": func(d *drawing) { // an index of three tables gets wide
			d.rows[typeRefs] = make([]row, 1<<14)
		},
		"lists by pointers": func(d *drawing) {
			d.stream = "#-"
			d.rows[methodPtrs] = []row{{1}, {2}, {3}}
		},
		"types without methods": func(d *drawing) {
			empty := row{0, 1, 0, 0, 1, 3}
			d.rows[typeDefs] = []row{d.rows[typeDefs][0], empty, empty, d.rows[typeDefs][1]}
			d.rows[genericParams][0][2], d.rows[genericParams][1][2] = 2<<1|1, 4<<1
			d.rows[genericParams][0][3], d.rows[genericParams][1][3] = 13, 15
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := plain()
			change(d)
			if got := d.methods(t); got != plainMethods {
				t.Errorf("%s, want %s", got, plainMethods)
			}
		})
	}
}

func TestNested(t *testing.T) {
	d := plain()
	d.rows[nestedClasses] = []row{{2, 1}}
	if got, want := d.methods(t), "A<>::f<> A<>::g<T> A<>+N.B<U>::h<>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestPointersInAnotherOrder: methods that an edit has added lie behind those of other types.
func TestPointersInAnotherOrder(t *testing.T) {
	d := plain()
	d.rows[methodPtrs] = []row{{1}, {3}, {2}}
	if got, want := d.methods(t), "A<>::f<> N.B<U>::g<T> A<>::h<>"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// TestContradictions: what cannot be is an error, and no endless loop.
func TestContradictions(t *testing.T) {
	for name, change := range map[string]func(d *drawing){
		"types that lie in each other": func(d *drawing) { d.rows[nestedClasses] = []row{{1, 2}, {2, 1}} },
		"a type that lies in itself":   func(d *drawing) { d.rows[nestedClasses] = []row{{1, 1}, {2, 2}} },
		"no type":                      func(d *drawing) { delete(d.rows, typeDefs) },
		"type lists begin late":        func(d *drawing) { d.rows[typeDefs] = []row{{0, 1, 0, 0, 1, 9}} },
		"names outside":                func(d *drawing) { d.strings = "\x00" },
		"no pointer to a method":       func(d *drawing) { d.rows[methodPtrs] = []row{{7}} },
		"lies in no type":              func(d *drawing) { d.rows[nestedClasses] = []row{{1, 9}, {2, 9}} },
	} {
		t.Run(name, func(t *testing.T) {
			d := plain()
			change(d)
			tables := d.open(t)
			for rid := range tables.tables[methodDefs].rows {
				if m, err := tables.Method(rid + 1); !errors.Is(err, ErrFormat) {
					t.Errorf("method %d: %v, %v, want ErrFormat", rid+1, m, err)
				}
			}
		})
	}
}

// TestHeaders: headers that cannot be are ErrFormat, or what the memory says.
func TestHeaders(t *testing.T) {
	whole := plain().bytes()
	edit := func(at int, values ...byte) []byte {
		b := append([]byte(nil), whole...)
		copy(b[at:], values)
		return b
	}
	tables := strings.Index(string(whole), "#~") - 8
	for name, b := range map[string][]byte{
		"signature":        edit(0, 'X'),
		"version too long": edit(13, 0xff),
		"too many streams": edit(31, 0xff),
		"streams cut":      whole[:40],
		"tables cut":       whole[:len(whole)-110],
		"stream far away":  edit(tables+3, 0xff),
		"ends behind 4 GB": edit(tables, 0, 0, 0, 0x80, 0, 0, 0, 0x80),
		"size too small":   edit(tables+4, 30),
		"tables not known": edit(int(order.Uint32(whole[tables:]))+15, 0x80),
		"too many rows":    edit(int(order.Uint32(whole[tables:]))+27, 0xff),
		"nothing":          nil,
		"name without end": edit(tables+8, []byte(strings.Repeat("#", 40))...),
	} {
		m := mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: b})
		var fault *mem.FaultError
		got, err := Open(over(m, work.New(1<<20, 1<<20)), drawnAt)
		if !errors.Is(err, ErrFormat) && !errors.As(err, &fault) {
			t.Errorf("%s: %t, %v", name, got != nil, err)
		}
	}
}

// over is a view of the memory m.
func over(m *mem.Overlay, b *work.Budget) *view.View {
	v := view.Over(m, nil, b)
	if m == nil {
		v = view.Copied(b)
	}
	return &v
}

func TestBudget(t *testing.T) {
	m := mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: plain().bytes()})
	if _, err := Open(over(m, work.New(3, 0)), drawnAt); !errors.Is(err, work.ErrSpent) {
		t.Errorf("%v, want that the budget is spent", err)
	}
}

func TestNames(t *testing.T) {
	long := strings.Repeat("n", maxName+10)
	d := plain()
	d.strings += long + "\x00" + "open"
	tables := d.open(t)
	at := uint32(len(plain().strings))
	for _, test := range []struct {
		offset uint32
		want   string
	}{
		{0, ""}, {1, "A"}, {13, "T"},
		{at, long[:maxName] + "…"},
		{at + 10, long[:maxName]}, // ends at the bound
		{at + uint32(len(long)) + 1, "open…"},
	} {
		got, err := tables.name(test.offset)
		if test.offset == at+10 {
			got = strings.TrimSuffix(got, "…") // 0 is the byte behind the bound
		}
		if err != nil || got != test.want {
			t.Errorf("name at %d: %q, %v, want %q", test.offset, got, err, test.want)
		}
	}
	if _, err := tables.name(uint32(len(d.strings))); !errors.Is(err, ErrFormat) {
		t.Errorf("a name behind the heap: %v", err)
	}
}

func TestBlobs(t *testing.T) {
	d := plain()
	d.blobs = "\x00\x03abc\x80\x02xy\xc0\x00\x00\x01z\xff\x7f"
	tables := d.open(t)
	for offset, want := range map[uint32]string{0: "", 1: "abc", 5: "xy", 9: "z"} {
		if got, err := tables.Blob(offset); err != nil || string(got) != want {
			t.Errorf("blob at %d: %q, %v, want %q", offset, got, err, want)
		}
	}
	for _, offset := range []uint32{14, 15, 16, 1 << 31} {
		if got, err := tables.Blob(offset); !errors.Is(err, ErrFormat) {
			t.Errorf("blob at %d: %q, %v, want ErrFormat", offset, got, err)
		}
	}
}

// TestCompressed: the examples of ECMA-335 II.23.2.
func TestCompressed(t *testing.T) {
	for in, want := range map[string]uint32{"\x03": 3, "\x7f": 0x7f, "\x80\x80": 0x80, "\xae\x57": 0x2e57,
		"\xbf\xff": 0x3fff, "\xc0\x00\x40\x00": 0x4000, "\xdf\xff\xff\xff": 0x1fffffff} {
		if got, rest, ok := Compressed([]byte(in)); got != want || !ok || len(rest) != 0 {
			t.Errorf("%x: %#x, %t, want %#x", in, got, ok, want)
		}
	}
	for in, want := range map[string]int32{"\x06": 3, "\x7b": -3, "\x80\x80": 64, "\x01": -64, "\xc0\x00\x40\x00": 8192,
		"\x80\x01": -8192, "\xdf\xff\xff\xfe": 268435455, "\xc0\x00\x00\x01": -268435456} {
		if got, _, ok := CompressedSigned([]byte(in)); got != want || !ok {
			t.Errorf("%x: %d, %t, want %d", in, got, ok, want)
		}
	}
	for _, in := range []string{"", "\x80", "\xc0\x00\x00", "\xff"} {
		if _, _, ok := Compressed([]byte(in)); ok {
			t.Errorf("%x is an integer", in)
		}
	}
}

func TestImplements(t *testing.T) {
	d := plain()
	d.strings += "IEnumerator`1\x00IAsyncStateMachine\x00"
	first := uint32(len(plain().strings))
	d.rows[typeRefs] = []row{{0, first, 0}, {0, first + 14, 0}}
	d.blobs = "\x00\x05\x15\x12\x05\x01\x0e" // a generic instance of class TypeRef 1
	d.rows[typeSpecs] = []row{{1}}
	const reference, specification = 1, 2
	d.rows[interfaceImpls] = []row{{1, 1<<2 | specification}, {2, 1<<2 | specification}, {2, 2<<2 | reference}}
	tables := d.open(t)
	for rid, want := range map[uint32]int{1: 1, 2: 0, 3: -1} {
		if got, err := tables.Implements(rid, "IAsyncStateMachine", "IEnumerator`"); err != nil || got != want {
			t.Errorf("type %d: %d, %v, want %d", rid, got, err, want)
		}
	}
}

// TestImageForms: an image is read the same as its file is, and with its sections where they belong.
func TestImageForms(t *testing.T) {
	file, err := os.ReadFile("testdata/shapes.dll")
	if err != nil {
		t.Fatal(err)
	}
	b := work.New(work.Steps, work.Memory)
	flat := mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: file})
	im, err := OpenImage(over(flat, b), drawnAt)
	if err != nil || !im.Flat {
		t.Fatalf("flat image: %+v, %v", im, err)
	}
	mapped := make([]byte, 0x10000)
	copy(mapped, file[:0x200])
	for _, s := range im.sections {
		copy(mapped[s.rva:], file[s.offset:s.offset+s.bytes])
	}
	both := mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: mapped})
	other, err := OpenImage(over(both, b), drawnAt)
	if err != nil || other.Flat {
		t.Fatalf("mapped image: %+v, %v", other, err)
	}
	for _, x := range []*Image{im, other} {
		tables, err := Open(x.view, x.metadata)
		if err != nil {
			t.Fatal(err)
		}
		if name, err := tables.Assembly(); name != "shapes" || err != nil {
			t.Errorf("flat %t: assembly %q, %v", x.Flat, name, err)
		}
		entries, err := x.Debug()
		if err != nil || len(entries) != 2 || entries[1].Type != 17 {
			t.Errorf("flat %t: debug directory %+v, %v", x.Flat, entries, err)
		}
		around, err := ImageAround(x.view, x.metadata)
		if err != nil || around.Base != drawnAt || around.Flat != x.Flat {
			t.Errorf("image around %#x: %+v, %v", x.metadata, around, err)
		}
	}
	if x, err := ImageAround(over(flat, b), drawnAt+0x300); !errors.Is(err, ErrFormat) {
		t.Errorf("image around something else: %+v, %v", x, err)
	}
}

// TestUnchanged: another module at the same place is noticed.
func TestUnchanged(t *testing.T) {
	file, err := os.ReadFile("testdata/shapes.dll")
	if err != nil {
		t.Fatal(err)
	}
	v := over(mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: file}), nil)
	im, err := OpenImage(v, drawnAt)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := Open(im.view, im.metadata)
	if err != nil {
		t.Fatal(err)
	}
	if same, err := tables.Unchanged(v); !same || err != nil {
		t.Fatalf("the module has changed: %v", err)
	}
	file[tables.guids.at-drawnAt+3] ^= 1
	if same, err := tables.Unchanged(v); same || err != nil {
		t.Errorf("another id is not noticed: %v", err)
	}
	gone := over(nil, nil)
	if same, err := tables.Unchanged(gone); same || err == nil {
		t.Errorf("a module that is gone is not noticed: %t, %v", same, err)
	}
}

// use reads all that there is, within a budget of so many steps.
func use(data []byte, steps int64) (methods int) {
	b := work.New(steps, 1<<20)
	v := over(mem.NewOverlay(nil, mem.Range{Start: drawnAt, Data: data}), b)
	if im, err := OpenImage(v, drawnAt); err == nil {
		im.Debug()
		if t, err := Open(im.view, im.metadata); err == nil {
			methods = useTables(t)
		}
	}
	if t, err := Open(v, drawnAt); err == nil {
		methods += useTables(t)
	}
	return methods
}

func useTables(t *Tables) (methods int) {
	t.Assembly()
	for rid := range min(t.tables[methodDefs].rows+1, 1<<8) {
		if m, err := t.Method(rid); err == nil {
			methods++
			t.Implements(m.Path[len(m.Path)-1].RID, "I")
		}
		t.MethodLines(rid)
	}
	return methods
}

// FuzzMetadata: no bytes of an image or of metadata panic, or take more than the budget.
func FuzzMetadata(f *testing.F) {
	file, err := os.ReadFile("testdata/shapes.dll")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(file)
	f.Add(plain().bytes())
	f.Fuzz(func(t *testing.T, data []byte) { use(data, 1<<24) })
}

// TestMutations: each byte of the headers and tables changed gives an error or some answer.
func TestMutations(t *testing.T) {
	data := plain().bytes()
	for i := range data {
		for _, v := range []byte{0, 1, 0x7f, 0x80, 0xff} {
			old := data[i]
			data[i] = v
			use(data, 1<<20)
			data[i] = old
		}
	}
	if got := use(data, 1<<20); got != 3 {
		t.Errorf("%d methods are left, want 3", got)
	}
}
