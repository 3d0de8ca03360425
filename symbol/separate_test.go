package symbol

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/symbol/debugfile"
	"github.com/fpstack/fpstack/tests/harness"
)

// shell runs a script in dir and skips where it does not work.
func shell(t testing.TB, dir, script string, tools ...string) {
	t.Helper()
	harness.Need(t, tools...)
	cmd := exec.Command("sh", "-ec", script)
	cmd.Dir = dir
	if b, err := cmd.CombinedOutput(); err != nil {
		t.Skipf("%s does not work here: %v\n%s", script, err, b)
	}
}

// fromDisk opens files as they are.
func fromDisk(path string) (*module.File, error) {
	b, err := os.ReadFile(path)
	return &module.File{Data: b, Path: path}, err
}

// finderOf looks for debug files below dirs.
func finderOf(dirs ...string) *debugfile.Finder {
	return debugfile.New([]debugfile.Open{fromDisk}, dirs, nil)
}

// A stripped program is named, and has lines, by the file that its parts were moved to.
func TestNamesFromOtherFiles(t *testing.T) {
	spot := func(t *testing.T, dir, options, script string, tools ...string) (string, uint64) {
		t.Helper()
		path := compile(t, "g++", "a.cc", spots, strings.Fields("-O1 -g -Wl,--build-id "+options)...)
		v := spotOf(t, path)
		shell(t, dir, "cp "+path+" full; cp full program\n"+script, append(tools, "objcopy", "strip")...)
		return filepath.Join(dir, "program"), v
	}
	buildID := `id=$(readelf -n full | sed -n 's/.*Build ID: //p'); mkdir -p .build-id/$(echo $id | cut -c1-2)
		to=.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug`
	for _, c := range []struct {
		name, options, script string
		tools                 []string
		debugFile             string // pattern
	}{
		{"by link beside the program", "",
			"objcopy --only-keep-debug full p.debug; strip program; objcopy --add-gnu-debuglink=p.debug program", nil,
			"*/p.debug"},
		{"by link in .debug", "",
			"mkdir .debug; objcopy --only-keep-debug full .debug/p.debug; strip program; objcopy " +
				"--add-gnu-debuglink=.debug/p.debug program", nil, "*/.debug/p.debug"},
		{"by build id", "", buildID + "; objcopy --only-keep-debug full $to; strip program", nil,
			"*/.build-id/*.debug"},
		{"by build id, compressed", "",
			buildID + "; objcopy --only-keep-debug --compress-debug-sections=zlib full $to; strip program", nil,
			"*/.build-id/*.debug"},
		{"symbols stay, lines are elsewhere", "", buildID + "; objcopy --only-keep-debug full $to; strip -g program",
			nil, "*/.build-id/*.debug"},
		{"eu-strip", "", "eu-strip -f p.debug program", []string{"eu-strip"}, "*/p.debug"},
		{"dwz moved parts to a third file", "",
			"cp full other; dwz -m common.debug full other; objcopy --only-keep-debug full p.debug; strip program; " +
				"objcopy --add-gnu-debuglink=p.debug program", []string{"dwz"}, "*/p.debug"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := t.TempDir()
			path, v := spot(t, dir, c.options, c.script, c.tools...)
			r := NewResolver(load(t, path), NewFiles(finderOf(dir), false))
			checkSpot(t, resolve(t, r, v, Options{}))
			if ok := wild(c.debugFile, r.DebugFile()); !ok {
				t.Errorf("debug file %q, want %s", r.DebugFile(), c.debugFile)
			}
		})
	}
	t.Run("a .dwp beside the program", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.cc"), []byte(spots), 0o644); err != nil {
			t.Fatal(err)
		}
		shell(t, dir, "g++ -O1 -g -gdwarf-4 -gsplit-dwarf -c a.cc; g++ -o program a.o; dwp -o program.dwp a.dwo; rm "+
			"a.dwo", "g++", "dwp")
		path := filepath.Join(dir, "program")
		checkSpot(t, resolve(t, NewResolver(load(t, path), NewFiles(finderOf(), false)), spotOf(t, path), Options{}))
	})
	t.Run("a .dwo where the unit says", func(t *testing.T) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.cc"), []byte(spots), 0o644); err != nil {
			t.Fatal(err)
		}
		shell(t, dir, "g++ -O1 -g -gsplit-dwarf -c a.cc; g++ -o program a.o", "g++")
		path := filepath.Join(dir, "program")
		checkSpot(t, resolve(t, NewResolver(load(t, path), NewFiles(finderOf(), false)), spotOf(t, path), Options{}))
	})
}

// wild reports whether name ends as a pattern says whose stars stand for anything.
func wild(pattern, name string) bool {
	at := 0
	for _, part := range strings.Split(pattern, "*") {
		i := strings.Index(name[at:], part)
		if i < 0 {
			return false
		}
		at += i + len(part)
	}
	return at == len(name)
}

// The symbols in .gnu_debugdata serve when there is nothing better.
func TestNamesFromMiniDebugInfo(t *testing.T) {
	const source = "static __attribute__((noinline)) int hidden(int x) { __asm__ volatile(\"\"); return x * 3; " +
		"}\nint main(int n, char **v) { (void)v; return hidden(n); }\n"
	path := compile(t, "gcc", "a.c", source, "-O1", "-g")
	dir := t.TempDir()
	shell(t, dir, "cp "+path+" full; objcopy -S --keep-symbol=hidden full mini; xz mini; strip -o packed full; "+
		"objcopy --add-section .gnu_debugdata=mini.xz packed", "objcopy", "xz")
	var hidden uint64
	for _, s := range readelf(t, path, ".symtab") {
		if s.name == "hidden" {
			hidden = s.value
		}
	}
	m := load(t, filepath.Join(dir, "packed"))
	for _, c := range []struct {
		name  string
		files *Files
		want  string
	}{
		{"looked for", NewFiles(finderOf(), false), "hidden"},
		{"not looked for", nil, ""},
	} {
		got := resolve(t, NewResolver(m, c.files), hidden+1, Options{})
		if len(got) != 1 || got[0].Func != c.want {
			t.Errorf("%s: got %+v, want %q", c.name, got, c.want)
		}
	}
}

// A file that is not the module's is refused, and reported once.
func TestForeignDebugFileIsTold(t *testing.T) {
	path := compile(t, "g++", "a.cc", spots, "-O1", "-g", "-Wl,--build-id")
	v := spotOf(t, path)
	dir := t.TempDir()
	shell(t, dir, `id=$(readelf -n `+path+` | sed -n 's/.*Build ID: //p'); mkdir -p .build-id/$(echo $id | cut -c1-2)
g++ -O2 -g -Wl,--build-id -o other -x c++ - <<'X'
int main() {}
X
objcopy --only-keep-debug other .build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug
strip -o program `+path, "objcopy", "strip", "g++", "readelf")
	r := NewResolver(load(t, filepath.Join(dir, "program")), NewFiles(finderOf(dir), false))
	for i, want := range []string{"its build id is", ""} {
		out, err := r.Resolve([]Query{{Lookup: module.Vaddr(v), PC: module.Vaddr(v)}}, Options{})
		if out[0][0].Func != "" {
			t.Errorf("got the name %q of another program", out[0][0].Func)
		}
		if want == "" && err != nil || want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("call %d: got error %v, want one with %q", i+1, err, want)
		}
	}
}

// What costs much is read only when it is asked for.
func TestCostlyLines(t *testing.T) {
	dir := t.TempDir()
	path := compile(t, "g++", "a.cc", spots, "-O1", "-g", "-Wl,--build-id")
	v := spotOf(t, path)
	shell(t, dir, "for p in libc.so.6 libmine.so; do cp "+path+" $p; objcopy --only-keep-debug "+
		"--compress-debug-sections=zlib $p $p.debug; strip $p; objcopy --add-gnu-debuglink=$p.debug $p; done; cp "+
		"libmine.so plain.so; cp "+path+" libc.so; objcopy --only-keep-debug libc.so libc.debug; strip libc.so; "+
		"objcopy --add-gnu-debuglink=libc.debug libc.so", "objcopy", "strip")
	for _, c := range []struct {
		name, file string
		all        bool
		left       uint64
		lines      bool
	}{
		{"compressed, of the C library", "libc.so.6", false, maxByDefault, false},
		{"compressed, of the C library, asked for", "libc.so.6", true, maxByDefault, true},
		{"compressed, of another library", "libmine.so", false, maxByDefault, true},
		{"compressed, and no budget left", "libmine.so", false, 100, false},
		{"not compressed, of the C library", "libc.so", false, 0, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			files := NewFiles(finderOf(), c.all)
			files.left = c.left
			r := NewResolver(load(t, filepath.Join(dir, c.file)), files)
			got := resolve(t, r, v, Options{})
			if c.lines {
				checkSpot(t, got)
			} else if len(got) != 1 || got[0].Func != "host" || got[0].Line != 0 {
				t.Errorf("got %+v, want host without a line", got)
			}
			if (r.Unread() == "") != c.lines {
				t.Errorf("told %q, lines read: %v", r.Unread(), c.lines)
			}
		})
	}
}

func TestIsCLibrary(t *testing.T) {
	for file, want := range map[string]bool{
		"/lib/x86_64-linux-gnu/libc.so.6": true, "/lib/libc-2.31.so": true, "/lib64/ld-linux-x86-64.so.2": true,
		"/lib/ld-musl-x86_64.so.1":   true,
		"/lib/libc.musl-x86_64.so.1": true, "/lib/libm.so.6": true, "/lib/libpthread-2.31.so": true,
		"/lib/ld-2.31.so":       true,
		"/usr/lib/libcurl.so.4": false, "/usr/lib/libmpi.so": false, "/usr/bin/ld": false,
		"/usr/lib/libldap.so.2": false, "/usr/lib/libc++.so.1": false,
	} {
		if got := isCLibrary(file); got != want {
			t.Errorf("%s: %v, want %v", file, got, want)
		}
	}
}

// Names alone read no DWARF and look for no file if the module has its symbols.
func TestNamesAloneLookForNothing(t *testing.T) {
	path := compile(t, "g++", "a.cc", spots, "-O1")
	asked := 0
	finder := debugfile.New([]debugfile.Open{func(path string) (*module.File, error) {
		asked++
		return nil, os.ErrNotExist
	}}, []string{"/usr/lib/debug"}, nil)
	r := NewResolver(load(t, path), NewFiles(finder, false))
	got := resolve(t, r, spotOf(t, path), Options{NoLines: true, NoInlines: true})
	if len(got) != 1 || got[0].Func != "host" || asked != 0 {
		t.Errorf("got %+v and %d files asked for, want host and none", got, asked)
	}
	var none profile.Frame
	if got = resolve(t, r, spotOf(t, path), Options{}); got[0].File != none.File || asked == 0 || asked > 8 {
		t.Errorf("lines: %d files asked for, want a few", asked)
	}
}

// What lines lead on to is counted too: the file of dwz, packages and split files may be compressed.
func TestCostlyLinesElsewhere(t *testing.T) {
	program := func(t *testing.T, script string, tools ...string) string {
		t.Helper()
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "a.cc"), []byte(spots), 0o644); err != nil {
			t.Fatal(err)
		}
		shell(t, dir, script, append(tools, "g++", "objcopy")...)
		return filepath.Join(dir, "program")
	}
	const compress = "objcopy --compress-debug-sections=zlib "
	for _, c := range []struct {
		name, script string
		tools        []string
		line         int // without what is compressed
	}{
		{"file of dwz", "g++ -O1 -g -o program a.cc; cp program other; dwz -m common.debug program other; " + compress +
			"common.debug", []string{"dwz"}, 0},
		{"file that a link like that of dwz names",
			`g++ -O1 -g -Wl,--build-id -o common.debug a.cc
objcopy -O binary --only-section=.note.gnu.build-id common.debug note
printf 'common.debug\0' > link; tail -c 20 note >> link
objcopy --add-section .gnu_debugaltlink=link common.debug program; ` + compress + "common.debug", nil, 0},
		{"split file", "g++ -O1 -g -gsplit-dwarf -c a.cc; g++ -o program a.o; " + compress + "a.dwo", nil, 6},
		{"package", "g++ -O1 -g -gdwarf-4 -gsplit-dwarf -c a.cc; g++ -o program a.o; dwp -o program.dwp a.dwo; rm " +
			"a.dwo; " + compress + "program.dwp", []string{"dwp"}, 6},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := program(t, c.script, c.tools...)
			v := spotOf(t, path)
			for _, left := range []uint64{maxByDefault, 10} {
				files := NewFiles(finderOf(), false)
				files.left = left
				r := NewResolver(load(t, path), files)
				got := resolve(t, r, v, Options{})
				if left == maxByDefault {
					checkSpot(t, got)
				} else if len(got) != 1 || got[0].Func != "host" || got[0].Line != c.line {
					t.Errorf("nothing may be inflated: got %+v, want host at line %d alone", got, c.line)
				}
				if said := r.Unread(); (said != "") != (left == 10) || files.left > left || left == maxByDefault &&
					files.left == left {
					t.Errorf("with %d bytes to be inflated: told %q, %d bytes are left", left, said, files.left)
				}
			}
		})
	}
}
