package maps

import (
	"reflect"
	"strings"
	"testing"
)

func TestParseUsage(t *testing.T) {
	const text = `55a000-55b000 rw-p 00002000 fe:00 12   /bin/a (deleted)
Size:                  4 kB
Rss:                   8 kB
Anonymous:             4 kB
AnonHugePages:      9999 kB
Swap:                 12 kB
SwapPss:            9999 kB
THPeligible:           0
VmFlags: rd wr mr mw me dd 
7f0000-7f1000 ---p 00000000 00:00 0
Rss: nonsense
`
	got, err := ParseUsage(strings.NewReader(text))
	want := []Usage{
		{Mapping: Mapping{Start: 0x55a000, End: 0x55b000, Perm: Read | Write, Offset: 0x2000, Dev: 0xfe << 32,
			Inode: 12, Path: "/bin/a", Deleted: true}, Resident: 8 << 10, Anonymous: 4 << 10, Swapped: 12 << 10,
			Flags: "rd wr mr mw me dd "},
		{Mapping: Mapping{Start: 0x7f0000, End: 0x7f1000}},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v\nwant %+v", got, err, want)
	}
	if !got[0].Has("dd") || got[0].Has("d") || got[1].Has("dd") {
		t.Errorf("flags %q and %q", got[0].Flags, got[1].Flags)
	}
	if _, err := ParseUsage(strings.NewReader("55a000 rw-p\n")); err == nil {
		t.Error("a malformed mapping was taken")
	}
}
