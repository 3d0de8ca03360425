package maps

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
)

func TestParseLines(t *testing.T) {
	for _, row := range []struct {
		name, line string
		want       Mapping
	}{
		{"library", "7f3a1b200000-7f3a1b228000 r--p 00001000 fe:00 1311                       " +
			"/usr/lib/x86_64-linux-gnu/libc.so.6",
			Mapping{Start: 0x7f3a1b200000, End: 0x7f3a1b228000, Perm: Read, Offset: 0x1000, Dev: 0xfe << 32,
				Inode: 1311, Path: "/usr/lib/x86_64-linux-gnu/libc.so.6"}},
		{"anonymous", "7f3a1b200000-7f3a1b228000 rw-p 00000000 00:00 0 ",
			Mapping{Start: 0x7f3a1b200000, End: 0x7f3a1b228000, Perm: Read | Write}},
		{"anonymous without blank at the end", "1000-2000 ---p 00000000 00:00 0", Mapping{Start: 0x1000, End: 0x2000}},
		{"stack", "7ffc1000-7ffc2000 rw-p 00000000 00:00 0                          [stack]",
			Mapping{Start: 0x7ffc1000, End: 0x7ffc2000, Perm: Read | Write, Path: "[stack]"}},
		{"vsyscall at the top", "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
			Mapping{Start: 0xffffffffff600000, End: 0xffffffffff601000, Perm: Exec, Path: "[vsyscall]"}},
		{"shared, all rights", "1000-2000 rwxs 00000000 00:01 5 /dev/zero (deleted)",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Write | Exec | Shared, Dev: 1, Inode: 5, Path: "/dev/zero",
				Deleted: true}},
		{"deleted file", "1000-2000 r-xp 00000000 fe:01 77    /tmp/a b (deleted)",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec, Dev: 0xfe<<32 | 1, Inode: 77, Path: "/tmp/a b",
				Deleted: true}},
		{"newline in the path", `1000-2000 r-xp 00000000 fe:01 77    /tmp/a\012b`,
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec, Dev: 0xfe<<32 | 1, Inode: 77, Path: "/tmp/a\nb"}},
		{"carriage return at the path's end", "1000-2000 r-xp 00000000 fe:01 77    /tmp/a\r",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec, Dev: 0xfe<<32 | 1, Inode: 77, Path: "/tmp/a\r"}},
		{"blanks at the path's end", "1000-2000 r-xp 00000000 fe:01 77    /tmp/a  ",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec, Dev: 0xfe<<32 | 1, Inode: 77, Path: "/tmp/a  "}},
		{"bytes that are no UTF-8", "1000-2000 r-xp 00000000 fe:01 77    /tmp/\xff\xfe",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec, Dev: 0xfe<<32 | 1, Inode: 77,
				Path: "/tmp/\xff\xfe"}},
		{"named anonymous memory", "1000-2000 rw-p 00000000 00:00 0   [anon:a (deleted)]",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Write, Path: "[anon:a (deleted)]"}},
		{"memfd", "1000-2000 r-xs 00000000 00:01 2   /memfd:doublemapper (deleted)",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read | Exec | Shared, Dev: 1, Inode: 2,
				Path: "/memfd:doublemapper", Deleted: true}},
		{"offset above 4 GiB, long device and inode",
			"1000-2000 r--p 7fffffffffff0000 103:fffff 18446744073709551615 /x",
			Mapping{Start: 0x1000, End: 0x2000, Perm: Read, Offset: 0x7fffffffffff0000, Dev: 0x103<<32 | 0xfffff,
				Inode: 1<<64 - 1, Path: "/x"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			table, err := Parse(strings.NewReader(row.line + "\n"))
			if err != nil {
				t.Fatal(err)
			}
			if len(table.All()) != 1 || table.All()[0] != row.want {
				t.Errorf("Parse = %+v, want %+v", table.All(), row.want)
			}
		})
	}
}

func TestParseMalformed(t *testing.T) {
	good := "1000-2000 r-xp 00000000 fe:01 77 /x\n"
	for _, row := range []struct{ name, line string }{
		{"empty line", ""},
		{"words", "hello world"},
		{"no end", "1000 r-xp 00000000 fe:01 77 /x"},
		{"no start", "-2000 r-xp 00000000 fe:01 77 /x"},
		{"upper-case digits", "1000-200F r-xp 00000000 fe:01 77 /x"},
		{"sign", "+1000-2000 r-xp 00000000 fe:01 77 /x"},
		{"17 digits", "10000000000000000-20000000000000000 r-xp 00000000 fe:01 77 /x"},
		{"three rights", "1000-2000 r-x 00000000 fe:01 77 /x"},
		{"rights in another order", "1000-2000 xr-p 00000000 fe:01 77 /x"},
		{"negative offset", "1000-2000 r-xp 8000000000000000 fe:01 77 /x"},
		{"device without minor", "1000-2000 r-xp 00000000 fe 77 /x"},
		{"inode not decimal", "1000-2000 r-xp 00000000 fe:01 7a /x"},
		{"inode above 64 bits", "1000-2000 r-xp 00000000 fe:01 18446744073709551616 /x"},
		{"ends behind the rights", "1000-2000 r-xp"},
	} {
		t.Run(row.name, func(t *testing.T) {
			table, err := Parse(strings.NewReader(good + row.line + "\n" + good))
			var parse *ParseError
			if table != nil || !errors.As(err, &parse) || parse.Line != 2 || parse.Text != row.line {
				t.Errorf("Parse = %v, %v; want a ParseError of line 2", table, err)
			}
		})
	}
}

func TestParseOddTexts(t *testing.T) {
	table, err := Parse(strings.NewReader(""))
	if err != nil || len(table.All()) != 0 || table.Find(0) != nil {
		t.Errorf("empty text = %v, %v; want an empty Table", table, err)
	}
	table, err = Parse(strings.NewReader("1000-2000 r-xp 00000000 fe:01 77 /x"))
	if err != nil || len(table.All()) != 1 {
		t.Errorf("no newline at the end = %v, %v", table, err)
	}
	long := "1000-2000 r-xp 00000000 fe:01 77 /" + strings.Repeat("x", 2<<20)
	if _, err := Parse(strings.NewReader(long)); err == nil {
		t.Error("a line of 2 MiB is accepted")
	}
	cause := errors.New("input/output error")
	cut := io.MultiReader(strings.NewReader("1000-2000 r-xp 00000000 fe:01 77 /x\n"), broken{cause})
	if _, err := Parse(cut); !errors.Is(err, cause) {
		t.Errorf("error %v, want that of the reader", err)
	}
}

type broken struct{ err error }

func (b broken) Read([]byte) (int, error) { return 0, b.err }

func TestNewTable(t *testing.T) {
	table := NewTable([]Mapping{
		{Start: 0x5000, End: 0x6000, Path: "last"},
		{Start: 0x1000, End: 0x3000, Path: "first"},
		{Start: 0x2000, End: 0x4000, Path: "overlaps the first"},
		{Start: 0x4000, End: 0x4000, Path: "empty"},
		{Start: 0x4800, End: 0x4000, Path: "turned round"},
		{Start: 0x3000, End: 0x4000, Path: "behind the first"},
	})
	got := ""
	for _, m := range table.All() {
		got += m.Path + "; "
	}
	if want := "first; behind the first; last; "; got != want {
		t.Errorf("NewTable keeps %s, want %s", got, want)
	}
}

func TestFind(t *testing.T) {
	table := NewTable([]Mapping{
		{Start: 0x1000, End: 0x2000, Path: "a"}, {Start: 0x2000, End: 0x3000, Path: "b"},
		{Start: 0xfffffffffffff000, End: 0xffffffffffffffff, Path: "top"},
	})
	for addr, want := range map[mem.Addr]string{
		0: "", 0xfff: "", 0x1000: "a", 0x1fff: "a", 0x2000: "b", 0x2fff: "b", 0x3000: "",
		0xffffffffffffeffe: "", 0xfffffffffffff000: "top", 0xfffffffffffffffe: "top", 0xffffffffffffffff: "",
	} {
		got := ""
		if m := table.Find(addr); m != nil {
			got = m.Path
		}
		if got != want {
			t.Errorf("Find(%#x) = %q, want %q", addr, got, want)
		}
	}
	var none *Table
	if none.Find(0x1000) != nil || none.All() != nil {
		t.Error("a nil Table has mappings")
	}
}

func TestPermString(t *testing.T) {
	for p, want := range map[Perm]string{0: "---p", Read | Exec: "r-xp", Read | Write | Exec | Shared: "rwxs",
		Write: "-w-p"} {
		if p.String() != want {
			t.Errorf("Perm(%d) = %s, want %s", p, p, want)
		}
	}
}

// TestParseSelf writes the table of this process back in the kernel's form and compares.
func TestParseSelf(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("needs /proc/self/maps of Linux")
	}
	text, err := os.ReadFile("/proc/self/maps")
	if err != nil {
		t.Fatal(err)
	}
	table, err := Parse(strings.NewReader(string(text)))
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	if len(lines) != len(table.All()) {
		t.Fatalf("%d mappings of %d lines", len(table.All()), len(lines))
	}
	for i, m := range table.All() {
		head := fmt.Sprintf("%08x-%08x %s %08x %02x:%02x %d ", uint64(m.Start), uint64(m.End), m.Perm, m.Offset,
			m.Dev>>32, uint32(m.Dev), m.Inode)
		if !strings.HasPrefix(lines[i], head) || strings.TrimLeft(lines[i][len(head):], " ") != m.Path {
			t.Errorf("mapping %d = %s%s, line is %s", i, head, m.Path, lines[i])
		}
		if found := table.Find(m.Start); found != &table.All()[i] {
			t.Errorf("Find(%#x) = %v, want mapping %d", m.Start, found, i)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add("7f3a1b200000-7f3a1b228000 r--p 00001000 fe:00 1311   /usr/lib/libc.so.6\n1000-2000 rw-p 00000000 00:00 0 \n")
	f.Add("ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0 [vsyscall]")
	f.Add("1000-2000 r-xp 00000000 fe:01 77 /tmp/a\\012b (deleted)\n\n")
	f.Fuzz(func(t *testing.T, text string) {
		table, err := Parse(strings.NewReader(text))
		if (table == nil) != (err != nil) {
			t.Fatalf("Parse = %v, %v", table, err)
		}
		var end mem.Addr
		for i, m := range table.All() {
			if m.End <= m.Start || i > 0 && m.Start < end {
				t.Errorf("mapping %d [%#x, %#x) is empty or overlaps", i, m.Start, m.End)
			}
			end = m.End
			if table.Find(m.Start) == nil || table.Find(m.End-1) == nil {
				t.Errorf("mapping %d [%#x, %#x) is not found", i, m.Start, m.End)
			}
			if m.Offset < 0 {
				t.Errorf("offset %d", m.Offset)
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	for _, n := range []int{30, 1000, 65530} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text,
				"%08x-%08x r-xp %08x fe:00 %d                    /usr/lib/x86_64-linux-gnu/library%d.so.1\n", i<<12,
				(i+1)<<12, i<<12, i+1, i)
		}
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			b.ReportAllocs()
			for range b.N {
				if _, err := Parse(strings.NewReader(text.String())); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkFind(b *testing.B) {
	var ms []Mapping
	for i := range 1000 {
		ms = append(ms, Mapping{Start: mem.Addr(i << 12), End: mem.Addr(i<<12 + 0x800)})
	}
	table := NewTable(ms)
	for i := range b.N {
		table.Find(mem.Addr(i & 0x3fffff))
	}
}

// TestOfSystem: libraries of the system are told from others by their folders.
func TestOfSystem(t *testing.T) {
	for file, want := range map[string]bool{"/usr/lib/x86_64-linux-gnu/libc.so.6": true, "/lib64/ld-linux.so.2": true,
		"/usr/local/lib/libown.so": false, "/srv/lib/libown.so": false, "/library/a.so": false, "": false} {
		if got := OfSystem(file); got != want {
			t.Errorf("%q: %v, want %v", file, got, want)
		}
	}
}
