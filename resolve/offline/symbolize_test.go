package offline

import (
	"debug/elf"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/debugfile"
)

// spots marks an address inside of two inlined calls; the lines below are counted by hand.
const spots = `
static inline __attribute__((always_inline)) int inner(int k) {
	__asm__ volatile(".globl spot\nspot: nop");
	return k;
}
static inline __attribute__((always_inline)) int outer(int k) {
	return inner(k + 1);
}
__attribute__((noinline)) int host(int k) {
	return outer(k) + 1;
}
int main(int n, char **v) { return host(n); }
`

// build compiles spots with a build id of its own and returns the directory with full, stripped
// and debug files, and the addresses of its symbols.
func build(t *testing.T, id string) (dir string, at map[string]uint64) {
	t.Helper()
	dir = t.TempDir()
	for _, tool := range []string{"gcc", "strip", "objcopy"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("%s is not installed", tool)
		}
	}
	c := exec.Command("sh", "-c", `set -e
cat > a.c
gcc -g -O1 -Wl,--build-id=`+id+` -o full a.c
strip -o prog full
objcopy --only-keep-debug full prog.debug`)
	c.Dir, c.Stdin = dir, strings.NewReader(spots)
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	f, err := elf.Open(filepath.Join(dir, "full"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	symbols, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	at = map[string]uint64{}
	for _, s := range symbols {
		at[s.Name] = s.Value
	}
	return dir, at
}

// ownFile reads a file of this machine.
func ownFile(path string) (*module.File, error) {
	b, err := os.ReadFile(path)
	return &module.File{Data: b, Path: path}, err
}

func files(t *testing.T, dirs []string, given ...string) (*Files, *debugfile.Finder) {
	t.Helper()
	finder := debugfile.New([]debugfile.Open{ownFile}, dirs, nil)
	f := NewFiles(ownFile, finder)
	for _, g := range given {
		if err := f.Give(g); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		if err := errors.Join(f.Close(), finder.Close()); err != nil {
			t.Error(err)
		}
	})
	return f, finder
}

// dumpAt is one thread with the given frames in one module.
func dumpAt(m profile.Module, frames ...profile.Frame) *profile.Dump {
	return &profile.Dump{Modules: []profile.Module{m},
		Threads: []profile.Thread{{TID: 1, Stack: profile.Stack{Frames: frames}}}}
}

const id = "0x00112233445566778899aabbccddeeff00112233"

func moduleAt(path string) profile.Module { return profile.Module{Path: path, BuildID: id[2:]} }

func interrupted(v uint64) profile.Frame {
	return profile.Frame{Addr: v + 0x1000, ModuleAddr: v, Interrupted: true, Origin: "context"}
}

// checkSpot compares frames with what is at spot in the source.
func checkSpot(t *testing.T, name string, got []profile.Frame) {
	t.Helper()
	want := []struct {
		function string
		line     int
	}{{"inner", 3}, {"outer", 7}, {"host", 10}}
	if len(got) != len(want) {
		t.Errorf("%s: got %+v, want %v", name, got, want)
		return
	}
	for i, w := range want {
		f := got[i]
		if f.Func != w.function || f.Line != w.line || f.Inlined != (i < 2) || filepath.Base(f.File) != "a.c" ||
			f.Module != 0 || f.Index != 0 {
			t.Errorf("%s: frame %d: got %+v, want %s at line %d", name, i, f, w.function, w.line)
		}
	}
}

func TestFilesAreFound(t *testing.T) {
	dir, at := build(t, id)
	tree := t.TempDir()
	put(t, filepath.Join(dir, "prog.debug"), filepath.Join(tree, ".build-id", id[2:4], id[4:]+".debug"))
	objects := t.TempDir()
	put(t, filepath.Join(dir, "full"), filepath.Join(objects, ".build-id", id[2:4], id[4:]))
	for _, c := range []struct {
		name, path string
		dirs       []string
		given      []string
	}{
		{"given by hand", "/nowhere/prog", nil, []string{dir + "/full"}},
		{"debug file given by hand", "/nowhere/prog", nil, []string{dir + "/prog.debug"}},
		{"stripped and debug file given by hand", "/nowhere/prog", nil, []string{dir + "/prog", dir + "/prog.debug"}},
		{"at its own path", dir + "/full", nil, nil},
		{"at its own path, deleted there", dir + "/full (deleted)", nil, nil},
		{"debug file of the one at its own path", dir + "/prog", []string{tree}, nil},
		{"debug file given, and stripped at its own path", dir + "/prog", nil, []string{dir + "/prog.debug"}},
		{"debug file by build id alone", "/nowhere/prog", []string{"/nowhere", tree}, nil},
		{"object by build id alone", "/nowhere/prog", []string{objects}, nil},
	} {
		f, finder := files(t, c.dirs, c.given...)
		d := dumpAt(moduleAt(c.path), interrupted(at["spot"]))
		got, outcomes := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(d)
		checkSpot(t, c.name, got.Threads[0].Stack.Frames)
		if len(outcomes) != 1 || outcomes[0].Unnamed != 0 || outcomes[0].Frames != 1 || outcomes[0].Err != nil ||
			outcomes[0].Unchecked {
			t.Errorf("%s: outcomes %+v", c.name, outcomes)
		}
		if len(d.Threads[0].Stack.Frames) != 1 || d.Threads[0].Stack.Frames[0].Func != "" ||
			d.Modules[0].Symbols != nil {
			t.Errorf("%s: the dump itself was changed: %+v", c.name, d)
		}
		if errs := f.Unused(); len(errs) > 0 {
			t.Errorf("%s: unused: %v", c.name, errs)
		}
		last := got.Threads[0].Stack.Frames[2]
		if last.Addr != at["spot"]+0x1000 || last.Origin != "context" || !last.Interrupted ||
			last.Offset != at["spot"]-at["host"] {
			t.Errorf("%s: place: got %+v, want %#x, host+%#x", c.name, last, at["spot"]+0x1000, at["spot"]-at["host"])
		}
	}
}

func put(t *testing.T, from, to string) {
	t.Helper()
	b, err := os.ReadFile(from)
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o755)
	}
	if err == nil {
		err = os.WriteFile(to, b, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestOtherFilesAreRefused(t *testing.T) {
	dir, at := build(t, "0xdeadbeef00")
	without, _ := build(t, "none")
	tree := t.TempDir()
	put(t, filepath.Join(dir, "prog.debug"), filepath.Join(tree, ".build-id", id[2:4], id[4:]+".debug"))
	for _, c := range []struct {
		name, path string
		dirs       []string
		given      []string
		want       []string // in the error
	}{
		{"given by hand", "/nowhere/full", nil, []string{dir + "/full"}, []string{dir + "/full", "/nowhere/full",
			"deadbeef00", id[2:]}},
		{"debug file given by hand", "/nowhere/prog", nil, []string{dir + "/prog.debug"},
			[]string{"deadbeef00", id[2:]}},
		{"given without a build id", "/nowhere/full", nil, []string{without + "/full"}, []string{"not there", id[2:]}},
		{"at its own path", dir + "/full", nil, nil, []string{"deadbeef00", id[2:]}},
		{"no ELF at its own path", dir + "/a.c", nil, nil, []string{"not an ELF", dir + "/a.c"}},
		{"by build id", "/nowhere/full", []string{tree}, nil, []string{"deadbeef00", id[2:]}},
	} {
		f, finder := files(t, c.dirs, c.given...)
		n := New(f, symbol.NewFiles(finder, false), symbol.Options{})
		d := dumpAt(moduleAt(c.path), interrupted(at["spot"]))
		got, outcomes := n.Dump(d)
		if len(outcomes) != 1 || outcomes[0].Unnamed != 1 || outcomes[0].Err == nil {
			t.Errorf("%s: outcomes %+v", c.name, outcomes)
			continue
		}
		for _, want := range c.want {
			if !strings.Contains(outcomes[0].Err.Error(), want) {
				t.Errorf("%s: error %q does not say %q", c.name, outcomes[0].Err, want)
			}
		}
		if !reflect.DeepEqual(got.Threads[0].Stack.Frames, d.Threads[0].Stack.Frames) {
			t.Errorf("%s: got %+v, want the frame as it was", c.name, got.Threads[0].Stack.Frames)
		}
		if _, again := n.Dump(d); again[0].Err != nil || again[0].Unnamed != 1 {
			t.Errorf("%s: with the second dump: %+v, want no error reported again", c.name, again)
		}
	}
}

// TestModulesWithoutBuildID: a name is all there is, and it has to be given by hand.
func TestModulesWithoutBuildID(t *testing.T) {
	dir, at := build(t, "none")
	with, _ := build(t, id)
	for _, c := range []struct {
		name   string
		m      profile.Module
		given  []string
		frames int // 3 if named
		err    bool
	}{
		{"given by name", profile.Module{Path: "/nowhere/full"}, []string{dir + "/full"}, 3, false},
		{"given by another name", profile.Module{Path: "/nowhere/other"}, []string{dir + "/full"}, 1, false},
		{"only at its own path", profile.Module{Path: dir + "/full"}, nil, 1, false},
		{"the one given has a build id", profile.Module{Path: "/nowhere/full"}, []string{with + "/full"}, 1, true},
		{"the module could not be read", profile.Module{Path: "/nowhere/full", Err: "deleted"},
			[]string{with + "/full"}, 3, false},
	} {
		f, finder := files(t, nil, c.given...)
		got, outcomes := New(f, symbol.NewFiles(finder, false),
			symbol.Options{}).Dump(dumpAt(c.m, interrupted(at["spot"])))
		if n := len(got.Threads[0].Stack.Frames); n != c.frames {
			t.Errorf("%s: got %d frames, want %d", c.name, n, c.frames)
		}
		o := outcomes[0]
		if !o.Unchecked || (o.Err != nil) != c.err || (len(o.Files) > 0) != (c.frames == 3) {
			t.Errorf("%s: outcome %+v", c.name, o)
		}
	}
	f, _ := files(t, nil, dir+"/full")
	if errs := f.Unused(); len(errs) != 1 || !strings.Contains(errs[0].Error(), dir+"/full") {
		t.Errorf("unused: got %v, want the file", errs)
	}
}

// TestLookup: a return address behind the last instruction of a function belongs to it, an
// interrupted one to what follows, and so does the start of a signal trampoline.
func TestLookup(t *testing.T) {
	dir, at := build(t, id)
	f, finder := files(t, nil, dir+"/full")
	start := at["host"]
	for _, c := range []struct {
		name  string
		frame profile.Frame
		want  string
	}{
		{"interrupted at the start", profile.Frame{ModuleAddr: start, Interrupted: true}, "host"},
		{"signal trampoline at the start", profile.Frame{ModuleAddr: start, Kind: profile.Signal}, "host"},
		{"returns behind the first byte", profile.Frame{ModuleAddr: start + 1}, "host"},
		{"returns to the start", profile.Frame{ModuleAddr: start}, "not host"},
		{"address 0", profile.Frame{ModuleAddr: 0}, ""},
		{"highest address", profile.Frame{ModuleAddr: ^uint64(0)}, ""},
	} {
		got, outcomes := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(dumpAt(moduleAt("/x"), c.frame))
		frames := got.Threads[0].Stack.Frames
		last := frames[len(frames)-1]
		if c.want == "not host" && last.Func == "host" || c.want != "not host" && last.Func != c.want {
			t.Errorf("%s: got %q, want %s", c.name, last.Func, c.want)
		}
		if last.Kind != c.frame.Kind || (last.Func == "") != (outcomes[0].Unnamed == 1) {
			t.Errorf("%s: got %+v, outcome %+v", c.name, last, outcomes[0])
		}
	}
}

func TestWhatIsKnownStays(t *testing.T) {
	dir, at := build(t, id)
	old := func(f profile.Frame, module profile.Module) (profile.Frame, profile.Module) {
		f.ModuleAddr, f.Interrupted = at["spot"], true
		module.Path, module.BuildID = "/x", id[2:]
		return f, module
	}
	exports, all := profile.Module{Symbols: []string{".dynsym"}}, profile.Module{Symbols: []string{".symtab"}}
	for _, c := range []struct {
		name   string
		frame  profile.Frame
		module profile.Module
		file   string
		want   string // function at last
		frames int
	}{
		{"named by an export, the file has lines", profile.Frame{Func: "near"}, exports, "full", "host", 3},
		{"named by all symbols, the file has lines", profile.Frame{Func: "mine"}, all, "full", "host", 3},
		// it has inlined functions more
		{"with a line", profile.Frame{Func: "mine", File: "m.c", Line: 1}, all, "full", "host", 3},
		{"named, the file is stripped", profile.Frame{Func: "mine"}, exports, "prog", "mine", 1},
		{"not named, the file is stripped", profile.Frame{}, exports, "prog", "", 1},
	} {
		f, finder := files(t, nil, filepath.Join(dir, c.file))
		frame, m := old(c.frame, c.module)
		got, _ := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(dumpAt(m, frame))
		frames := got.Threads[0].Stack.Frames
		if last := frames[len(frames)-1]; last.Func != c.want || len(frames) != c.frames {
			t.Errorf("%s: got %+v, want %q and %d frames", c.name, frames, c.want, c.frames)
		}
	}
	frame, m := old(profile.Frame{Func: "mine", File: "m.c", Line: 1}, all)
	inlined := []profile.Frame{{Inlined: true, Func: "a"}, {Inlined: true, Func: "b"}, frame}
	f, finder := files(t, nil, dir+"/full")
	got, _ := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(dumpAt(m, inlined...))
	if !reflect.DeepEqual(got.Threads[0].Stack.Frames, inlined) {
		t.Errorf("with lines and as many inlined functions: got %+v, want %+v", got.Threads[0].Stack.Frames, inlined)
	}
	got, _ = New(f, symbol.NewFiles(finder, false), symbol.Options{NoInlines: true, NoLines: true}).Dump(dumpAt(m,
		inlined...))
	if fs := got.Threads[0].Stack.Frames; len(fs) != 1 || fs[0].Func != "mine" || fs[0].File != "" ||
		inlined[2].File == "" {
		t.Errorf("without inlined functions and lines: got %+v", fs)
	}
}

// TestOtherFramesStay: what lies in no object is as it was.
func TestOtherFramesStay(t *testing.T) {
	dir, at := build(t, id)
	f, finder := files(t, nil, dir+"/full")
	frames := []profile.Frame{
		{Kind: profile.Kernel, Func: "futex", Module: -1},
		{Kind: profile.JIT, Func: "handle", Module: 0, ModuleAddr: at["spot"]},
		{Index: 1, Kind: profile.Unknown, Addr: 5, Module: -1},
		{Index: 2, Kind: profile.Native, Module: 7, ModuleAddr: 5},
		{Index: 3, Inlined: true, Func: "alone", Module: 0},
	}
	d := dumpAt(moduleAt("/x"), frames...)
	got, outcomes := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(d)
	if !reflect.DeepEqual(got.Threads[0].Stack.Frames, frames) || len(outcomes) != 0 {
		t.Errorf("got %+v, %+v, want %+v", got.Threads[0].Stack.Frames, outcomes, frames)
	}
}

// TestManyFrames: a dump whose inlined functions would be too many keeps all physical frames.
func TestManyFrames(t *testing.T) {
	const n = maxFrames/3 + 1000
	dir, at := build(t, id)
	f, finder := files(t, nil, dir+"/full")
	d := dumpAt(moduleAt("/x"))
	for range 1000 {
		frames := make([]profile.Frame, n/1000+1)
		for k := range frames {
			frames[k] = interrupted(at["spot"])
			frames[k].Index = k
		}
		d.Threads = append(d.Threads, profile.Thread{Stack: profile.Stack{Frames: frames}})
	}
	got, outcomes := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(d)
	all, physical := 0, 0
	for _, th := range got.Threads {
		for _, fr := range th.Stack.Frames {
			all++
			if !fr.Inlined {
				physical++
			}
		}
	}
	if want := 1000 * (n/1000 + 1); physical != want || all > maxFrames+want || all == 3*want {
		t.Errorf("got %d frames, %d physical, want %d physical and some without inlined functions", all, physical, want)
	}
	if !errors.Is(outcomes[0].Err, errManyFrames) {
		t.Errorf("error %v, want %v", outcomes[0].Err, errManyFrames)
	}
}

type fetcher struct {
	asked []string
	file  string
	err   error
}

func (f *fetcher) Fetch(id string) (*module.File, error) {
	f.asked = append(f.asked, id)
	if f.err != nil {
		return nil, f.err
	}
	return ownFile(f.file)
}

func TestFetcherIsAskedLast(t *testing.T) {
	dir, at := build(t, id)
	other, _ := build(t, "0xdeadbeef00")
	for _, c := range []struct {
		name   string
		f      *fetcher
		path   string
		frames int
		asked  int
		err    string
	}{
		{"has it", &fetcher{file: dir + "/prog.debug"}, "/nowhere/prog", 3, 1, ""},
		{"not needed", &fetcher{file: dir + "/prog.debug"}, dir + "/full", 3, 0, ""},
		{"for a stripped one", &fetcher{file: dir + "/prog.debug"}, dir + "/prog", 3, 1, ""},
		{"has it not", &fetcher{err: fs.ErrNotExist}, "/nowhere/prog", 1, 1, ""},
		{"does not answer", &fetcher{err: errors.New("no answer")}, "/nowhere/prog", 1, 1, "no answer"},
		{"brings another", &fetcher{file: other + "/prog.debug"}, "/nowhere/prog", 1, 1, "deadbeef00"},
	} {
		finder := debugfile.New([]debugfile.Open{ownFile}, nil, c.f)
		f := NewFiles(ownFile, finder)
		got, outcomes := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(dumpAt(moduleAt(c.path),
			interrupted(at["spot"])))
		if n := len(got.Threads[0].Stack.Frames); n != c.frames || len(c.f.asked) != c.asked {
			t.Errorf("%s: got %d frames, asked for %q, want %d and %d times", c.name, n, c.f.asked, c.frames, c.asked)
		}
		if err := outcomes[0].Err; (err != nil) != (c.err != "") || err != nil &&
			!strings.Contains(err.Error(), c.err) {
			t.Errorf("%s: error %v, want %q", c.name, err, c.err)
		}
	}
}

// TestHostileModules: paths and ids of a dump lead nowhere they should not.
func TestHostileModules(t *testing.T) {
	finder := debugfile.New([]debugfile.Open{ownFile}, []string{t.TempDir()}, nil)
	f := NewFiles(ownFile, finder)
	for _, m := range []profile.Module{
		{Path: "", BuildID: "../../etc/passwd"}, {Path: "relative", BuildID: "a"}, {Path: "/a\x00b", BuildID: "abcd"},
		{Path: "/", BuildID: strings.Repeat("ab", 1000)}, {Path: "[vdso]", BuildID: "ABCD"},
		{Path: "/dev/null/x", BuildID: "abcd"}, {},
	} {
		got, outcomes := New(f, symbol.NewFiles(finder, false), symbol.Options{}).Dump(dumpAt(m, interrupted(5)))
		if len(outcomes) != 1 || outcomes[0].Unnamed != 1 || len(outcomes[0].Files) > 0 ||
			len(got.Threads[0].Stack.Frames) != 1 {
			t.Errorf("module %+v: %+v", m, outcomes)
		}
	}
}
