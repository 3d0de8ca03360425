package debugfile

import (
	"bytes"
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/hostile"
	"github.com/fpstack/fpstack/work"
)

// below is a view of the file system whose root is dir.
func below(dir string) Open {
	return func(path string) (*module.File, error) {
		b, err := os.ReadFile(filepath.Join(dir, path))
		return &module.File{Data: b, Path: path}, err
	}
}

const source = `
static int hidden(int x) { return x * 3; }
int (*volatile function)(int) = hidden;
int main(void) { return function(2); }
`

// build makes /bin/prog (stripped, with a link to prog.debug) and prog.debug below a new root.
func build(t *testing.T, flags ...string) (root string) {
	t.Helper()
	for _, tool := range []string{"gcc", "objcopy", "strip", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	root = t.TempDir()
	script := fmt.Sprintf(`set -e
mkdir bin made; cd made
cat > a.c
gcc -g -O1 -o full %s a.c
objcopy --only-keep-debug full prog.debug
strip -o ../bin/prog full
objcopy --add-gnu-debuglink=prog.debug ../bin/prog
objcopy -S --keep-symbol=hidden full mini
xz mini
objcopy --add-section .gnu_debugdata=mini.xz ../bin/prog ../bin/packed
`, strings.Join(flags, " "))
	c := exec.Command("sh", "-c", script)
	c.Dir, c.Stdin = root, strings.NewReader(source)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return root
}

func open(t *testing.T, root, path string) *module.Module {
	t.Helper()
	f, err := below(root)(path)
	if err != nil {
		t.Fatal(err)
	}
	m, err := module.NewFile(f)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// put copies a file of the build to path below root.
func put(t *testing.T, root, from, path string) {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, from))
	if err == nil {
		err = os.MkdirAll(filepath.Dir(filepath.Join(root, path)), 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(root, path), b, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestDebugIsFoundWhereGDBLooks(t *testing.T) {
	withID, without := build(t, "-Wl,--build-id=sha1"), build(t, "-Wl,--build-id=none")
	id := open(t, withID, "/bin/prog").BuildID()
	if len(id) != 40 || open(t, without, "/bin/prog").BuildID() != "" {
		t.Fatalf("build ids are %q and %q", id, open(t, without, "/bin/prog").BuildID())
	}
	for name, c := range map[string]struct{ root, path string }{
		"by build id":                     {withID, "/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"},
		"by build id in the second place": {withID, "/more/.build-id/" + id[:2] + "/" + id[2:] + ".debug"},
		"beside the object":               {withID, "/bin/prog.debug"},
		"in .debug beside it":             {without, "/bin/.debug/prog.debug"},
		"below the directory":             {without, "/usr/lib/debug/bin/prog.debug"},
	} {
		put(t, c.root, "made/prog.debug", c.path)
		f := New([]Open{below(c.root)}, []string{"/usr/lib/debug", "/more"}, nil)
		found, err := f.Debug(open(t, c.root, "/bin/prog"))
		if err != nil || found == nil || found.Path != c.path {
			t.Errorf("%s: found %v, %v, want %q", name, found, err, c.path)
		} else if s, ok := found.Section(".debug_info"); !ok || len(s.Data) == 0 {
			t.Errorf("%s: the file has no .debug_info", name)
		}
		if err := os.Remove(filepath.Join(c.root, c.path)); err != nil {
			t.Fatal(err)
		}
		if found, err := f.Debug(open(t, c.root, "/bin/prog")); found != nil || err != nil {
			t.Errorf("%s, removed: found %v, %v, want nothing", name, found, err)
		}
	}
}

func TestFilesOfOtherProgramsAreRefused(t *testing.T) {
	withID, without := build(t, "-Wl,--build-id=sha1"), build(t, "-Wl,--build-id=none")
	other := build(t, "-Wl,--build-id=md5")
	id := open(t, withID, "/bin/prog").BuildID()
	foreign, err := os.ReadFile(filepath.Join(other, "made/prog.debug"))
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		root, path string
		bytes      []byte
		want       string
	}{
		"another build id": {withID, "usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug", foreign,
			"build id"},
		"another build id by link":   {withID, "bin/prog.debug", foreign, "build id"},
		"another checksum":           {without, "bin/prog.debug", foreign, "checksum"},
		"no ELF":                     {without, "bin/prog.debug", []byte("hello"), "not an ELF"},
		"an empty file":              {without, "bin/prog.debug", nil, "not an ELF"},
		"cut behind its ELF header":  {withID, "bin/prog.debug", foreign[:64], "prog.debug"},
		"right name, program itself": {without, "bin/.debug/prog.debug", []byte("\x7fELF"), "prog.debug"},
	} {
		path := filepath.Join(c.root, c.path)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, c.bytes, 0o644)); err != nil {
			t.Fatal(err)
		}
		f := New([]Open{below(c.root)}, []string{"/usr/lib/debug"}, nil)
		found, err := f.Debug(open(t, c.root, "/bin/prog"))
		if found != nil || err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: found %v, error %v, want an error with %q", name, found, err, c.want)
		}
		os.Remove(path)
	}
}

func TestTheTargetsViewComesFirst(t *testing.T) {
	root := build(t, "-Wl,--build-id=sha1")
	put(t, root, "made/prog.debug", "/bin/prog.debug")
	first := 0
	view := func(path string) (*module.File, error) { first++; return nil, fs.ErrNotExist }
	found, err := New([]Open{view, below(root)}, nil, nil).Debug(open(t, root, "/bin/prog"))
	if err != nil || found == nil || first == 0 {
		t.Errorf("found %v, %v, after %d looks into the first view", found, err, first)
	}
}

func TestALinkWithASlashIsNotFollowed(t *testing.T) {
	root := build(t, "-Wl,--build-id=none")
	m := open(t, root, "/bin/prog")
	s, _ := m.Section(".gnu_debuglink")
	if _, ok := debugLink(m); !ok {
		t.Fatal("the link is not read")
	}
	copy(s.Data, "../.x/y\x00")
	binary.LittleEndian.PutUint32(s.Data[8:], crc32.ChecksumIEEE(nil))
	if l, ok := debugLink(m); ok {
		t.Errorf("the link is %+v, want none", l)
	}
}

type fetcher struct {
	asked string
	file  *module.File
	err   error
}

func (f *fetcher) Fetch(id string) (*module.File, error) { f.asked = id; return f.file, f.err }

func TestFetcherIsAskedLastAndChecked(t *testing.T) {
	root, other := build(t, "-Wl,--build-id=sha1"), build(t, "-Wl,--build-id=md5")
	m := open(t, root, "/bin/prog")
	file := func(root string) *module.File {
		f, err := below(root)("/made/prog.debug")
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := &fetcher{file: file(root)}
	if found, err := New([]Open{below(root)}, nil, f).Debug(m); err != nil || found == nil || f.asked != m.BuildID() {
		t.Errorf("found %v, %v, asked for %q", found, err, f.asked)
	}
	if found, err := New(nil, nil, &fetcher{file: file(other)}).Debug(m); err == nil || found != nil {
		t.Errorf("a file of another program: found %v, %v", found, err)
	}
	if found, err := New(nil, nil, &fetcher{err: fs.ErrNotExist}).Debug(m); err != nil || found != nil {
		t.Errorf("nobody has it: found %v, %v, want nothing", found, err)
	}
	if _, err := New(nil, nil, &fetcher{err: errors.New("no answer")}).Debug(m); err == nil ||
		!strings.Contains(err.Error(), "no answer") {
		t.Errorf("error %v, want the cause", err)
	}
}

func TestMiniIsUnpacked(t *testing.T) {
	root := build(t)
	if m, err := Mini(open(t, root, "/bin/prog")); m != nil || err != nil {
		t.Errorf("without the section: %v, %v", m, err)
	}
	packed := open(t, root, "/bin/packed")
	m, err := Mini(packed)
	if err != nil || m == nil {
		t.Fatalf("Mini = %v, %v", m, err)
	}
	s, ok := m.Section(".symtab")
	names, _ := m.Section(".strtab")
	if !ok || len(s.Data) == 0 || !strings.Contains(string(names.Data), "hidden") {
		t.Errorf("no symbol hidden in the unpacked object")
	}
	data, _ := packed.Section(".gnu_debugdata")
	data.Data[len(data.Data)/2] ^= 0x55
	if m, err := Mini(packed); err == nil {
		t.Errorf("spoilt: Mini = %v without an error", m)
	}
	// 12 bytes of stream header, the block's size, flags, then filter 0x21 with one byte.
	if data.Data[14] != 0x21 {
		t.Fatalf("the first filter is %#x", data.Data[14])
	}
	data.Data[16] = 40
	if _, err := Mini(packed); err == nil || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("a dictionary of 4 GiB: error %v", err)
	}
}

func FuzzMeasure(f *testing.F) {
	// Stream header, block header, a chunk that is not compressed and the end mark, padding, CRC-64.
	block := []byte{2, 0, 0x21, 1, 22, 0, 0, 0, 1, 2, 3, 4, 1, 0, 0, 'x', 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, 8}
	stream := append([]byte{0xfd, '7', 'z', 'X', 'Z', 0, 0, 4, 0, 0, 0, 0}, block...)
	f.Add(stream)
	stream = append(append(stream, block...), 0) // the index
	want := needs{unpacked: 2, dictionary: 8 << 20, dictionaries: 16 << 20}
	if n, ok := measure(stream, nil); !ok || n != want {
		f.Errorf("got %+v, %v, want %+v", n, ok, want)
	}
	f.Add(stream)
	stream[24] = 0xe0 // compressed, with properties: 6 bytes of head
	f.Add(stream)
	f.Fuzz(func(t *testing.T, b []byte) {
		if n, ok := measure(b, nil); ok && (n.dictionary == 0 || n.dictionaries < n.dictionary) {
			t.Errorf("got %+v for %x", n, b)
		}
	})
}

// The view of the module itself comes before the others, and one file seen in both is refused once.
func TestViewOfModuleFirst(t *testing.T) {
	inside, outside := build(t, "-Wl,--build-id"), build(t, "-Wl,--build-id", "-DOTHER")
	var asked []string
	view := func(name, root string) Open {
		open := below(root)
		return func(path string) (*module.File, error) {
			asked = append(asked, name)
			return open(path)
		}
	}
	load := func(beside Open) *module.Module {
		f, err := below(inside)("/bin/prog")
		if err != nil {
			t.Fatal(err)
		}
		f.Beside = beside
		m, err := module.NewFile(f)
		if err != nil {
			t.Fatal(err)
		}
		return m
	}
	for _, root := range []string{inside, outside} {
		if err := os.Rename(filepath.Join(root, "made/prog.debug"), filepath.Join(root, "bin/prog.debug")); err != nil {
			t.Fatal(err)
		}
	}
	found, err := New([]Open{view("ours", outside)}, nil, nil).Debug(load(view("theirs", inside)))
	if err != nil || found == nil || strings.Join(asked, " ") != "theirs" {
		t.Errorf("got %v, %v after asking %v; want the file in the module's own view", found, err, asked)
	}
	found, err = New([]Open{view("ours", inside)}, nil, nil).Debug(load(nil))
	if err != nil || found == nil {
		t.Errorf("no view of its own: got %v, %v; want the file in ours", found, err)
	}
	if err := os.WriteFile(filepath.Join(inside, "bin/prog.debug"), []byte("nothing"), 0o644); err != nil {
		t.Fatal(err)
	}
	found, err = New([]Open{view("ours", inside)}, nil, nil).Debug(load(view("theirs", inside)))
	if found != nil || err == nil || strings.Count(err.Error(), "not an ELF object") != 1 {
		t.Errorf("a file that is none, in both views: got %v, %v; want one refusal", found, err)
	}
}

// twoBlocks packs b in blocks of their own, and returns where the header of the second begins.
func twoBlocks(t *testing.T, b []byte) (packed []byte, second int) {
	t.Helper()
	if _, err := exec.LookPath("xz"); err != nil {
		t.Skip("xz is not installed")
	}
	cmd := exec.Command("xz", "-T1", "--check=crc32", fmt.Sprintf("--block-size=%d", (len(b)+1)/2))
	cmd.Stdin = bytes.NewReader(b)
	packed, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	header := packed[12:24] // of the first block, as of the second: it has no sizes
	second = 24 + bytes.Index(packed[24:], header)
	if second < 24 || header[0] != 2 {
		t.Fatalf("the second block is not found, the first is %x", header)
	}
	return packed, second
}

// Each block of a stream may have a dictionary of its own.
func TestDictionaryOfEachBlock(t *testing.T) {
	root := build(t)
	m := open(t, root, "/bin/packed")
	mini, err := os.ReadFile(filepath.Join(root, "made", "full"))
	if err != nil {
		t.Fatal(err)
	}
	packed, second := twoBlocks(t, mini)
	s, _ := m.Section(".gnu_debugdata")
	replace := func(b []byte) *module.Module {
		data, err := os.ReadFile(filepath.Join(root, "bin", "packed"))
		if err != nil {
			t.Fatal(err)
		}
		at := (len(data) + 7) &^ 7
		data = append(append(data, make([]byte, at-len(data))...), b...)
		f, err := elf.NewFile(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		for i, sec := range f.Sections {
			if sec.Name == s.Name {
				header := data[binary.LittleEndian.Uint64(data[40:])+64*uint64(i):] // e_shoff
				binary.LittleEndian.PutUint64(header[24:], uint64(at))              // sh_offset
				binary.LittleEndian.PutUint64(header[32:], uint64(len(b)))          // sh_size
			}
		}
		out, err := module.NewFile(&module.File{Data: data, Path: "/x"})
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	if found, err := Mini(replace(packed)); err != nil || found == nil {
		t.Errorf("two blocks: got %v, %v, want the object", found, err)
	}
	large := bytes.Clone(packed)
	header := large[second : second+12]
	header[4] = 40 // the size of the dictionary: 4 GiB
	binary.LittleEndian.PutUint32(header[8:], crc32.ChecksumIEEE(header[:8]))
	if found, err := Mini(replace(large)); found != nil || err == nil || !strings.Contains(err.Error(), "dictionary") {
		t.Errorf("the second with a dictionary of 4 GiB: got %v, %v, want an error about it", found, err)
	}
	for end := range packed {
		if n, ok := measure(packed[:end], nil); ok && n.dictionary > maxDictionary {
			t.Fatalf("cut at %d: got %+v", end, n)
		}
	}
}

// A checksum reads the whole file, which may be as large as its owner likes and take no room (a hole).
func TestChecksumsAreBounded(t *testing.T) {
	data := make([]byte, 3*summed+1)
	l := link{"x", crc32.ChecksumIEEE(data)}
	budget := work.New(2*int64(len(data))+10, 0)
	for i := range 3 {
		err := checksum(l, data, budget)
		if i < 2 && err != nil {
			t.Errorf("file %d: got %v, want it accepted", i, err)
		}
		if i == 2 && !errors.Is(err, work.ErrSpent) {
			t.Errorf("more than may be summed: got %v, want %v", err, work.ErrSpent)
		}
	}
}

// What is packed says how large it becomes, and what it takes to unpack: too much is refused
// before any of it is done.
func TestMiniIsBounded(t *testing.T) {
	for _, tt := range []struct {
		name string
		make func(int) []byte
		want string
	}{
		{"80 MB of zeros", hostile.MiniZeros, "more than 67108864 bytes"},
		{"a dictionary for each byte", hostile.MiniDictionaries, work.ErrSpent.Error()},
	} {
		budget := work.New(work.Steps, work.Memory)
		m, err := module.NewFile(&module.File{Data: tt.make(1 << 20), Path: "/x", Budget: budget.Share()})
		if err != nil {
			t.Fatal(err)
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		found, err := Mini(m)
		runtime.ReadMemStats(&after)
		if found != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want an error with %q", tt.name, found, err, tt.want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > 1<<20 {
			t.Errorf("%s: %d bytes were taken", tt.name, took)
		}
	}
}

// A signal ends the unpacking.
func TestMiniStops(t *testing.T) {
	budget := work.New(work.Steps, work.Memory)
	m, err := module.NewFile(&module.File{Data: hostile.MiniZeros(4 << 10), Path: "/x", Budget: budget})
	if err != nil {
		t.Fatal(err)
	}
	want := errors.New("interrupted")
	budget.Stop(want)
	if found, err := Mini(m); found != nil || !errors.Is(err, want) {
		t.Errorf("got %v, %v, want %v", found, err, want)
	}
}
