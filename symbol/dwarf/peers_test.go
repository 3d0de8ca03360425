package dwarf

import (
	"debug/elf"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// program is one way to build a program, and what peers are known to do with it.
type program struct {
	name  string
	build string // commands, one a line; the result is "program"
	// gnu and llvm are how many answers in a thousand must be the peer's. Where it is less
	// than 999, docs/dev/lines.md says which of us is right and why.
	gnu, llvm int
	alt       string // supplementary file of dwz
	packed    string // .dwp
	ask       string // the program as peers can read it, "" for the same
	quick     bool   // compared at each run of the tests
	always    bool   // compared by scripts/test --all, the others with FPSTACK_SOAK=1
}

const (
	twoFiles = " -o program mixed.cc second.cc"
	dwzTwo   = "\ncp program plain\ncp program other\ndwz -m DIR/common.dwz program other"
)

var programs = []program{
	{name: "gcc -O0", build: "g++ -O0 -g" + twoFiles, gnu: 999, llvm: 999},
	{name: "gcc -O2", quick: true, always: true, build: "g++ -O2 -g" + twoFiles, gnu: 970, llvm: 999},
	{name: "gcc -O3 with LTO", build: "g++ -O3 -flto -g" + twoFiles, gnu: 970, llvm: 999},
	{name: "gcc, version 2", build: "g++ -O2 -gdwarf-2" + twoFiles, gnu: 970, llvm: 999},
	{name: "gcc, version 3", build: "g++ -O2 -gdwarf-3" + twoFiles, gnu: 970, llvm: 999},
	{name: "gcc, version 4", build: "g++ -O2 -gdwarf-4" + twoFiles, gnu: 970, llvm: 999},
	{name: "gcc, version 4, types apart", build: "g++ -O2 -gdwarf-4 -fdebug-types-section" + twoFiles, gnu: 970,
		llvm: 999},
	{name: "gcc, version 5, types apart", build: "g++ -O2 -gdwarf-5 -fdebug-types-section" + twoFiles, gnu: 0,
		llvm: 999},
	{name: "gcc, version 5, split", always: true, build: "g++ -O2 -gdwarf-5 -gsplit-dwarf" + twoFiles, gnu: 0,
		llvm: 999},
	{name: "gcc, version 4, split", build: "g++ -O2 -gdwarf-4 -gsplit-dwarf" + twoFiles, gnu: 0, llvm: 999},
	{name: "gcc, version 4, split, in one package", gnu: 0, llvm: 999, packed: "program.dwp",
		build: "g++ -O2 -gdwarf-4 -gsplit-dwarf" + twoFiles + "\ndwp -e program"},
	{name: "clang, version 5, split, in one package", gnu: 0, llvm: 999, packed: "program.dwp",
		build: "clang++ -O2 -gdwarf-5 -gsplit-dwarf" + twoFiles + "\nllvm-dwp -e program -o program.dwp"},
	{name: "gcc, dropped functions", build: "g++ -O2 -g -ffunction-sections -Wl,--gc-sections" + twoFiles, gnu: 970,
		llvm: 999},
	{name: "gcc, 32 bits", build: "gcc -m32 -O2 -g -nostdlib -o program plain.c", gnu: 970, llvm: 999},
	{name: "gcc, duplicates moved by dwz", build: "g++ -O2 -g" + twoFiles + "\ndwz program", gnu: 0, llvm: 999},
	{name: "gcc, version 4, duplicates moved to another file by dwz", always: true, gnu: 970, llvm: 999,
		alt: "common.dwz", ask: "plain",
		build: "g++ -O2 -gdwarf-4" + twoFiles + dwzTwo},
	{name: "gcc, version 5, duplicates moved to another file by dwz", gnu: 970, llvm: 999, alt: "common.dwz",
		ask:   "plain",
		build: "g++ -O2 -gdwarf-5" + twoFiles + dwzTwo},
	{name: "gcc, .debug_sup of dwz", gnu: 970, llvm: 999, alt: "common.dwz", ask: "plain",
		build: "g++ -O2 -gdwarf-5" + twoFiles + strings.Replace(dwzTwo, "dwz -m", "dwz --dwarf-5 -m", 1)},
	{name: "clang -O0", build: "clang++ -O0 -g" + twoFiles, gnu: 970, llvm: 999},
	{name: "clang -O2", always: true, build: "clang++ -O2 -g" + twoFiles, gnu: 0, llvm: 999},
	{name: "clang -O3 with LTO", build: "clang++ -O3 -flto -fuse-ld=lld -g" + twoFiles, gnu: 0, llvm: 999},
	{name: "clang, version 2", build: "clang++ -O2 -gdwarf-2" + twoFiles, gnu: 999, llvm: 999},
	{name: "clang, version 3", build: "clang++ -O2 -gdwarf-3" + twoFiles, gnu: 999, llvm: 999},
	{name: "clang, version 4", always: true, build: "clang++ -O2 -gdwarf-4" + twoFiles, gnu: 999, llvm: 999},
	{name: "clang, version 5, types apart", build: "clang++ -O2 -gdwarf-5 -fdebug-types-section" + twoFiles, gnu: 0,
		llvm: 999},
	{name: "clang, version 5, split", build: "clang++ -O2 -gdwarf-5 -gsplit-dwarf" + twoFiles, gnu: 0, llvm: 999},
	{name: "clang, version 4, split", build: "clang++ -O2 -gdwarf-4 -gsplit-dwarf" + twoFiles, gnu: 0, llvm: 999},
	{name: "clang, dropped functions", build: "clang++ -O2 -g -ffunction-sections -Wl,--gc-sections -fuse-ld=lld" +
		twoFiles, gnu: 0, llvm: 999},
	{name: "rustc -O", always: true, build: "rustc -O -g -o program mixed.rs", gnu: 999, llvm: 999},
	{name: "rustc", build: "rustc -g -o program mixed.rs", gnu: 999, llvm: 999},
	{name: "Go", always: true, build: "go build -o program frames.go", gnu: 0, llvm: 999},
}

// build makes the program in a new directory and returns its path.
func (c *program) make(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	source(t, dir, "mixed.cc", "second.cc", "mixed.rs", "plain.c", "../../../code/pclntab/testdata/frames.go")
	for line := range strings.SplitSeq(c.build, "\n") {
		f := strings.Fields(strings.ReplaceAll(line, "DIR", dir))
		command(t, dir, f[0], f[1:]...)
	}
	return filepath.Join(dir, "program")
}

// dwarf opens the DWARF of a program that make has built.
func (c *program) dwarf(t testing.TB, p string) *Data {
	t.Helper()
	d := open(t, p)
	if c.alt != "" {
		d.o.Alt = New(object(t, filepath.Join(filepath.Dir(p), c.alt), nil))
	}
	if c.packed != "" {
		code, err := elf.Open(p)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { code.Close() })
		all := NewSplit(object(t, filepath.Join(filepath.Dir(p), c.packed), code))
		d.o.Split = func(Skeleton) (*Data, error) { return all, nil }
	}
	return d
}

// TestPeers compares functions, inlined calls, files and lines with those that GNU addr2line and
// llvm-symbolizer give at random addresses of code: 10,000 with FPSTACK_SOAK=1, else 2,000 of
// some programs, of one where harness.All is not asked for.
func TestPeers(t *testing.T) {
	for _, c := range programs {
		t.Run(c.name, func(t *testing.T) {
			n := 10000
			if os.Getenv("FPSTACK_SOAK") != "1" {
				if n = 2000; !c.always {
					t.Skip("takes long: runs with FPSTACK_SOAK=1")
				}
				if !c.quick {
					harness.Long(t)
				}
			}
			p := c.make(t)
			addrs := addresses(t, p, n)
			got, err := c.dwarf(t, p).Calls(addrs)
			if err != nil {
				t.Error(err)
			}
			if c.ask != "" {
				p = filepath.Join(filepath.Dir(p), c.ask)
			}
			gnu, llvm := addr2line(t, p, addrs), llvmSymbolizer(t, p, addrs)
			covers := symbols(t, p)
			count := map[string]int{}
			neither := 0
			for i, v := range addrs {
				own := func(name string) bool { return covers(v, name) }
				g, l := differ(got[i], gnu[i], own), differ(got[i], llvm[i], own)
				count["addr2line: "+g]++
				count["llvm-symbolizer: "+l]++
				if g != "" && l != "" {
					if neither++; neither <= 3 {
						t.Logf("%#x: %s, %s\n ours %+v\n gnu  %v\n llvm %v", v, g, l, got[i], gnu[i], llvm[i])
					}
				}
			}
			asGNU, asLLVM := count["addr2line: "], count["llvm-symbolizer: "]
			t.Logf("of %d as addr2line %d, as llvm-symbolizer %d, as neither %d: %v", len(addrs), asGNU, asLLVM,
				neither, count)
			if asGNU*1000 < c.gnu*len(addrs) || asLLVM*1000 < c.llvm*len(addrs) {
				t.Errorf("of %d answers %d are addr2line's and %d llvm-symbolizer's; want %d and %d of a thousand",
					len(addrs), asGNU, asLLVM, c.gnu, c.llvm)
			}
		})
	}
}

// symbols returns a function that reports whether a symbol covers an address.
func symbols(t *testing.T, p string) func(v uint64, name string) bool {
	f, err := elf.Open(p)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := f.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	by := map[string][]elf.Symbol{}
	for _, s := range all {
		by[s.Name] = append(by[s.Name], s)
	}
	return func(v uint64, name string) bool {
		for _, s := range by[name] {
			if v >= s.Value && v < s.Value+max(s.Size, 1) {
				return true
			}
		}
		return false
	}
}

// differ says in what an answer differs from a peer's, "" if in nothing. Peers name the function
// itself by the symbol table, which is not read here: own tells of that.
func differ(ours []Call, peer []call, own func(name string) bool) string {
	if ours == nil {
		for _, p := range peer {
			if p.line != 0 || len(peer) > 1 {
				return "we have nothing"
			}
		}
		return ""
	}
	if len(ours) != len(peer) {
		if len(ours) > len(peer) {
			return "has fewer calls"
		}
		return "has more calls"
	}
	for i, c := range ours {
		p := peer[i]
		last := i == len(ours)-1
		switch {
		case c.Line != p.line:
			return "other line"
		case !sameFile(c.File, p.file, c.Line):
			return "other file"
		case sameName(c, p.name) || last && own(p.name):
		case c.Linkage == "" && own(p.name):
			return "gives an inlined call the name of the function around it"
		default:
			return fmt.Sprintf("other name (function itself: %v)", last)
		}
	}
	return ""
}

func sameFile(ours, peer string, line int) bool {
	return ours == peer || path.Clean(ours) == path.Clean(peer) || line == 0
}

func sameName(c Call, peer string) bool {
	switch {
	case c.Linkage != "":
		return c.Linkage == peer
	case c.Name == "":
		return true
	}
	return c.Name == peer || strings.HasSuffix(c.Name, "::"+peer)
}
