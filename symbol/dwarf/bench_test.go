package dwarf

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// large links copies of one template-heavy unit to a program with about 100 MB of debug
// information: 60 units of 1 MB .debug_info each.
func large(b *testing.B, compiler string) string {
	dir := b.TempDir()
	source(b, dir, "mixed.cc")
	command(b, dir, compiler, "-O2", "-g", "-c", "-o", "first.o", "mixed.cc")
	command(b, dir, compiler, "-O2", "-g", "-Dmain=other_main", "-c", "-o", "other.o", "mixed.cc")
	args := []string{"-fuse-ld=lld", "-Wl,-z,muldefs", "-o", "program", "first.o"}
	other, err := os.ReadFile(filepath.Join(dir, "other.o"))
	if err != nil {
		b.Fatal(err)
	}
	for i := range 60 {
		name := fmt.Sprintf("o%d.o", i)
		if err := os.WriteFile(filepath.Join(dir, name), other, 0o644); err != nil {
			b.Fatal(err)
		}
		args = append(args, name)
	}
	command(b, dir, compiler, args...)
	return filepath.Join(dir, "program")
}

// answers runs a peer, false if it is not installed or gives up.
func answers(addrs []uint64, name string, args ...string) bool {
	var in strings.Builder
	for _, v := range addrs {
		fmt.Fprintf(&in, "%#x\n", v)
	}
	cmd := exec.Command(name, args...)
	cmd.Stdin = strings.NewReader(in.String())
	return cmd.Run() == nil
}

// BenchmarkFirstLookup asks for 100 addresses of a program with 100 MB of debug information, all
// caches empty, and prints how many times longer the peers take for the same.
func BenchmarkFirstLookup(b *testing.B) {
	for _, compiler := range []string{"g++", "clang++"} { // with and without .debug_aranges
		b.Run(compiler, func(b *testing.B) {
			p := large(b, compiler)
			addrs := addresses(b, p, 100)
			o := object(b, p, nil)
			sections := map[string][]byte{}
			for id := range sectionCount {
				sections[sectionNames[id]], _ = o.Section(sectionNames[id])
			}
			o.Section = func(name string) ([]byte, error) { return sections[name], nil }
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(o).Calls(addrs); err != nil {
					b.Fatal(err)
				}
			}
			ours := b.Elapsed() / time.Duration(b.N)
			for _, peer := range []string{"addr2line", "eu-addr2line", "llvm-symbolizer"} {
				args := []string{"-i", "-f", "-e", p}
				if peer == "llvm-symbolizer" {
					args = []string{"--obj=" + p}
				}
				begin := time.Now()
				if !answers(addrs, peer, args...) {
					b.Logf("%s does not read this program", peer)
					continue
				}
				b.ReportMetric(float64(time.Since(begin))/float64(ours), peer+"/x")
			}
		})
	}
}
