//go:build linux

package v8

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/gob"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/tests/harness"
)

var update = flag.Bool("update", false, "save processes of Node.js again for TestSaved")

// TestUpdateSaved saves what [TestSaved] replays. It wants all builds of scripts/build-node --all.
func TestUpdateSaved(t *testing.T) {
	if !*update {
		t.Skip("nothing is saved without -update")
	}
	tool := filepath.Join(t.TempDir(), "fpstack")
	if err := harness.Build(tool); err != nil {
		t.Fatal(err)
	}
	for _, s := range []struct{ version, mode, script string }{
		{"18.20.8", "default", "loop.js"}, {"20.20.2", "sparkplug", "loop.js"}, {"22.23.3", "interpreter", "loop.js"},
		{"24.21.0", "maglev", "loop.js"}, {"26.10.0", "default", "loop.js"},
		{"18.20.8", "default", "handles.js"}, {"26.10.0", "default", "handles.js"},
		{"22.23.3", "default", "suspended.js"}, {"26.10.0", "default", "suspended.js"},
	} {
		save(t, tool, s.version, s.mode, s.script)
	}
}

func save(t *testing.T, tool, version, name, script string) {
	dir, err := os.MkdirTemp("", "app")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	program, err := os.ReadFile(filepath.Join(nodes, version, "bin/node"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(scripts, script))
	if err != nil {
		t.Fatal(err)
	}
	node, app := filepath.Join(dir, "node"), filepath.Join(dir, script)
	if os.WriteFile(node, program, 0o755) != nil || os.WriteFile(app, text, 0o644) != nil {
		t.Fatal("cannot copy")
	}
	var flags []string
	for _, m := range modes(majorOf(version)) {
		if m.name == name {
			flags = m.flags
		}
	}
	cmd := exec.Command(node, append(flags[:len(flags):len(flags)], app)...)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin"}
	out, err := cmd.StdoutPipe()
	if err != nil || cmd.Start() != nil {
		t.Fatal("cannot start node")
	}
	defer func() { cmd.Process.Kill(); cmd.Wait() }()
	said, err := bufio.NewReaderSize(out, 1<<20).ReadBytes('\n')
	if err != nil {
		t.Fatal(err)
	}
	time.Sleep(time.Second) // it is compiled, or waits
	to := filepath.Join(saved, strings.TrimSuffix(script, ".js")+"-"+version+"-"+name)
	save := exec.Command(tool, "-p", strconv.Itoa(cmd.Process.Pid), "--save", to+".snapshot")
	os.Remove(to + ".snapshot")
	if b, err := save.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v", b, err)
	}
	os.Chmod(to+".snapshot", 0o644)
	if err := os.WriteFile(to+".json", said, 0o644); err != nil {
		t.Fatal(err)
	}
	facts := savedProgram{Size: len(program), Contents: kept(t, program)}
	var b bytes.Buffer
	z, _ := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if gob.NewEncoder(z).Encode(&facts) != nil || z.Close() != nil {
		t.Fatal("cannot write")
	}
	if err := os.WriteFile(filepath.Join(saved, version+".program.gz"), b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
	t.Logf("%s: %d bytes of the program", to, b.Len())
}

// wanted are the symbols that the room of V8 looks up.
var wanted = regexp.MustCompile(`^(v8dbg_|nodedbg_|_ZN2v88internal7Version|_ZTVN4node(11Environment|14PrincipalRealm|` +
	`5Realm)E$|Builtins_|_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizes|v8_Default_embedded|` +
	`_ZN2v88internal\d+DefaultEmbeddedBlob)`)

// entersCode are those that do more before they build a frame.
var entersCode = regexp.MustCompile(`^Builtins_(Interpreter|Baseline)`)

// kept are the parts of a program that naming its JavaScript takes: headers, the wanted symbols, what those of data
// have, and the beginnings of functions. It has no unwind tables, so that stacks end below JavaScript.
func kept(t *testing.T, program []byte) []mem.Range {
	f, err := elf.NewFile(bytes.NewReader(program))
	if err != nil {
		t.Fatal(err)
	}
	var out []mem.Range
	keep := func(from, n uint64) {
		if from < uint64(len(program)) {
			out = append(out, mem.Range{Start: mem.Addr(from), Data: program[from:min(from+n, uint64(len(program)))]})
		}
	}
	const header, section = 64, 64
	keep(0, header)
	keep(header, uint64(len(f.Progs))*56)
	keep(uint64(len(program))-uint64(len(f.Sections))*section-4096, 1<<20)
	shoff := f.ByteOrder.Uint64(program[40:])
	keep(shoff, uint64(len(f.Sections))*section)
	for _, s := range f.Sections {
		switch {
		case s.Name == ".shstrtab", s.Type == elf.SHT_NOTE && s.Size < 4096:
			keep(s.Offset, s.Size)
		case s.Type == elf.SHT_SYMTAB, s.Type == elf.SHT_DYNSYM:
			keepSymbols(f, s, program, keep)
		}
	}
	return out
}

func keepSymbols(f *elf.File, table *elf.Section, program []byte, keep func(from, n uint64)) {
	names := f.Sections[table.Link]
	const size = 24
	for at := table.Offset; at < table.Offset+table.Size; at += size {
		name := names.Offset + uint64(f.ByteOrder.Uint32(program[at:]))
		text := program[name : name+uint64(bytes.IndexByte(program[name:], 0))+1]
		value, length := f.ByteOrder.Uint64(program[at+8:]), f.ByteOrder.Uint64(program[at+16:])
		if !wanted.Match(text[:len(text)-1]) {
			continue
		}
		keep(at, size)
		keep(name, uint64(len(text)))
		for _, p := range f.Progs {
			if p.Type == elf.PT_LOAD && value >= p.Vaddr && value < p.Vaddr+p.Filesz {
				most := uint64(8)
				switch {
				case strings.Contains(string(text), "kBytecodeSizes"):
					most = length
				case entersCode.Match(text):
					most = min(length, 256)
				case p.Flags&elf.PF_X != 0:
					most = min(length, 16)
				}
				keep(p.Off+value-p.Vaddr, most)
			}
		}
	}
}
