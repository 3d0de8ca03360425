package dwarf

import (
	"encoding/binary"
	"reflect"
	"strings"
	"testing"
)

// handmade returns a version 4 unit at 0x1000..0x1100 whose entries, behind the root, are given
// as bytes, and their abbreviations from code 2 on.
func handmade(abbrevs, entries []byte) map[string][]byte {
	le := binary.LittleEndian
	table := []byte{1, tagCompileUnit, 1, atLowPC, formAddr, atHighPC, formData4, 0, 0}
	table = append(append(table, abbrevs...), 0)
	var body []byte
	body = le.AppendUint16(body, 4)
	body = append(le.AppendUint32(body, 0), 8)
	body = le.AppendUint64(append(body, 1), 0x1000)
	body = le.AppendUint32(body, 0x100)
	body = append(body, entries...)
	return map[string][]byte{".debug_abbrev": table, ".debug_info": append(le.AppendUint32(nil, uint32(len(body))),
		body...)}
}

// firstEntry is the offset in the unit of the entry behind the root.
const firstEntry = 4 + 2 + 4 + 1 + 1 + 8 + 4

func ask(sections map[string][]byte, addrs ...uint64) ([][]Call, error) {
	d := New(Object{Low: 0x1000, High: 0x2000, Section: func(name string) ([]byte, error) {
		return sections[name],
			nil
	}})
	return d.Calls(addrs)
}

// function is an entry of abbreviation 2: addresses 0x1010 to 0x1030, and a reference.
func functionEntry(ref uint32) []byte {
	le := binary.LittleEndian
	b := le.AppendUint64([]byte{2}, 0x1010)
	return le.AppendUint32(le.AppendUint32(b, 0x20), ref)
}

func TestReferences(t *testing.T) {
	abbrevs := []byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atSpecification, formRef4, 0, 0,
		3, tagSubprogram, 0, atName, formString, 0, 0,
		4, tagNamespace, 1, atName, formString, 0, 0,
		5, tagSubprogram, 0, atSpecification, formRef4, 0, 0}
	second := uint32(firstEntry + len(functionEntry(0)))
	for _, c := range []struct {
		name    string
		entries []byte
		want    string
		err     string
	}{
		{"to a declaration", append(functionEntry(second), "\x03f\x00\x00"...), "f", ""},
		{"to a declaration in a namespace", append(functionEntry(second+3), "\x04n\x00\x03f\x00\x00\x00"...), "n::f",
			""},
		{"to itself", append(functionEntry(firstEntry), 0), "", ""},
		{"two to each other", append(append(functionEntry(second), 5, firstEntry, 0, 0, 0), 0), "", ""},
		{"into the middle of an entry", append(functionEntry(firstEntry+1), 0), "", "no entry"},
		{"behind the unit", append(functionEntry(0x7fffffff), 0), "", "leads nowhere"},
		{"into the header", append(functionEntry(2), 0), "", "leads nowhere"},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := ask(handmade(abbrevs, c.entries), 0x1010, 0x100f)
			if len(out[0]) != 1 || out[0][0].Name != c.want || out[0][0].Start != 0x1010 {
				t.Errorf("got %+v, want %q from 0x1010", out[0], c.want)
			}
			if out[1] != nil {
				t.Errorf("before the function: got %+v, want nothing", out[1])
			}
			if c.err == "" && err != nil || c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) {
				t.Errorf("got error %v, want %q", err, c.err)
			}
		})
	}
}

// A file that claims every address in every unit asks for units times addresses of work.
func TestBudget(t *testing.T) {
	one := handmade(nil, []byte{0})
	var info []byte
	for range 30000 {
		info = append(info, one[".debug_info"]...)
	}
	one[".debug_info"] = info
	var addrs []uint64
	for v := uint64(0x1000); v < 0x1100; v++ {
		addrs = append(addrs, v)
	}
	if _, err := ask(one, addrs...); err != nil {
		t.Errorf("30,000 units and 256 addresses: %v", err)
	}
	var list []byte // as many ranges as fit, each over all addresses
	for range 2 << 20 / 16 {
		list = binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(list, 0x1000), 0x2000)
	}
	one[".debug_ranges"] = list
	one[".debug_abbrev"] = []byte{1, tagCompileUnit, 1, atLowPC, formAddr, atRanges, formData4, 0, 0, 0}
	le := binary.LittleEndian
	for at := firstEntry - 4; at < len(info); at += firstEntry + 1 {
		le.PutUint32(info[at:], 0)
		le.PutUint64(info[at-8:], 0)
	}
	if _, err := ask(one, addrs...); err == nil || !strings.Contains(err.Error(), ErrBudget.Error()) {
		t.Errorf("30,000 units with 130,000 ranges each: got error %v, want %v", err, ErrBudget)
	}
}

// Units are found by .debug_aranges, by root entries where it is missing, and from what was
// kept at later calls: the answers are the same.
func TestWaysToFindUnits(t *testing.T) {
	c := program{build: "g++ -O0 -g" + twoFiles}
	p := c.make(t)
	addrs := addresses(t, p, 300)
	d := open(t, p)
	want, err := d.Calls(addrs)
	if err != nil {
		t.Fatal(err)
	}
	for range keepAfter + 2 {
		if got, err := d.Calls(addrs); err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("call again: answers differ, error %v", err)
		}
	}
	if !d.claims.whole || len(d.claims.all) == 0 {
		t.Error("no claims were kept")
	}
	bare := open(t, p)
	all := bare.o.Section
	bare.o.Section = func(name string) ([]byte, error) {
		if name == ".debug_aranges" {
			return nil, nil
		}
		return all(name)
	}
	if got, err := bare.Calls(addrs); err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("without .debug_aranges: answers differ, error %v", err)
	}
	one := open(t, p)
	for i, v := range addrs[:20] {
		if got, _ := one.Calls([]uint64{v}); !reflect.DeepEqual(got[0], want[i]) {
			t.Errorf("%#x asked alone: got %+v, want %+v", v, got[0], want[i])
		}
	}
}
