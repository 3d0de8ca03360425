//go:build linux

package live

import (
	"debug/elf"
	"encoding/binary"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/tests/harness"
)

// maxPeak bounds the memory that a run may take, whatever a file says of its sizes.
const maxPeak = 256 << 20

// survive runs fpstack on a process whose file was tampered with. It ends, shows all
// threads, and says what it could not read; what it cannot name it does not guess.
func survive(t *testing.T, pid, threads int) outcome {
	t.Helper()
	d, o := tryJSON(t, pid)
	if o.status > 1 || d == nil || len(d.Threads) != threads {
		t.Fatalf("status %d, dump %v, want 0 or 1 and %d threads\n%s", o.status, d != nil, threads, o.stderr)
	}
	for i := range d.Threads {
		if th := &d.Threads[i]; len(th.Stack.Frames) == 0 {
			t.Errorf("thread %d has no frames", th.TID)
		} else if !th.Stack.Complete && th.Stack.Detail == "" && th.Stack.Stop == "" {
			t.Errorf("thread %d is cut and does not say why", th.TID)
		}
	}
	if o.peak > maxPeak {
		t.Errorf("took %d MB of memory", o.peak>>20)
	}
	o = show(t, "-v", "-p", strconv.Itoa(pid))
	checkClean(t, o.stdout)
	checkClean(t, o.stderr)
	checkTold(t, o)
	return o
}

// tampered starts a copy of a program whose bytes were changed by tamper; the kernel and the
// dynamic linker do not read what it changes. It gives nil if the copy does not run.
func tampered(t *testing.T, name string, tamper func(image []byte, f *elf.File)) *target {
	t.Helper()
	path := filepath.Join(room(t), name)
	copyFile(t, program(t, name), path)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	tamper(image, f)
	f.Close()
	if err := os.WriteFile(path, image, 0o755); err != nil {
		t.Fatal(err)
	}
	p := launch(t, exec.Command(path, "2", "10")).ready(t)
	asleep(t, p.pid)
	return p
}

// within gives the bytes of a section, none if there is no such one.
func within(image []byte, f *elf.File, name string) []byte {
	s := f.Section(name)
	if s == nil || s.Type == elf.SHT_NOBITS {
		return nil
	}
	return image[s.Offset : s.Offset+s.FileSize]
}

// unread are sections that neither the kernel nor the dynamic linker reads.
var unread = []string{".eh_frame", ".eh_frame_hdr", ".symtab", ".strtab", ".shstrtab", ".debug_frame",
	".debug_info", ".debug_line", ".gnu.build.attributes", ".note.gnu.build-id", ".comment"}

func fill(b []byte, with byte) {
	for i := range b {
		b[i] = with
	}
}

func TestTamperedSections(t *testing.T) {
	for _, tt := range []struct {
		name string
		with func([]byte)
	}{
		{"zeros", func(b []byte) { fill(b, 0) }},
		{"ones", func(b []byte) { fill(b, 0xff) }},
		{"0x7f", func(b []byte) { fill(b, 0x7f) }},
		{"second half", func(b []byte) { fill(b[len(b)/2:], 0xff) }},
		{"reversed words", func(b []byte) {
			for i := 0; i+4 <= len(b); i += 4 {
				b[i], b[i+3] = b[i+3], b[i]
			}
		}},
	} {
		for _, section := range unread[:5] {
			t.Run(section+" "+tt.name, func(t *testing.T) {
				p := tampered(t, "threads", func(image []byte, f *elf.File) { tt.with(within(image, f, section)) })
				survive(t, p.pid, 3)
			})
		}
	}
}

// TestTamperedAtRandom changes some bytes of all sections that nobody else reads.
func TestTamperedAtRandom(t *testing.T) {
	for seed := range uint64(harness.Times(40)) {
		for _, name := range []string{"threads-static", "threads", "threads-m32"} {
			t.Run(name+" "+strconv.FormatUint(seed, 10), func(t *testing.T) {
				random := rand.New(rand.NewPCG(seed, 1))
				p := tampered(t, name, func(image []byte, f *elf.File) {
					for _, section := range unread {
						if b := within(image, f, section); len(b) > 0 {
							for range 1 + random.IntN(1+len(b)/20) {
								b[random.IntN(len(b))] = byte(random.Uint32())
							}
						}
					}
				})
				survive(t, p.pid, 3)
			})
		}
	}
}

// TestTamperedHeaders changes fields of the ELF header and of headers that the kernel does
// not read. Layout: elf(5), 64-bit.
func TestTamperedHeaders(t *testing.T) {
	le := binary.LittleEndian
	section := func(image []byte, i int) []byte { return image[le.Uint64(image[0x28:])+uint64(i)*64:] }
	segment := func(image []byte, f *elf.File, kind elf.ProgType) []byte {
		for i, p := range f.Progs {
			if p.Type == kind {
				return image[le.Uint64(image[0x20:])+uint64(i)*56:]
			}
		}
		return make([]byte, 56)
	}
	for _, tt := range []struct {
		name   string
		tamper func(image []byte, f *elf.File)
	}{
		{"e_shoff beyond the file", func(b []byte, _ *elf.File) { le.PutUint64(b[0x28:], 1<<62) }},
		{"e_shoff wraps", func(b []byte, _ *elf.File) { le.PutUint64(b[0x28:], ^uint64(0)-64) }},
		{"e_shoff in the header", func(b []byte, _ *elf.File) { le.PutUint64(b[0x28:], 1) }},
		{"no sections", func(b []byte, _ *elf.File) { le.PutUint64(b[0x28:], 0); le.PutUint16(b[0x3c:], 0) }},
		{"65,535 sections", func(b []byte, _ *elf.File) { le.PutUint16(b[0x3c:], 0xffff) }},
		{"e_shnum 0, sh_size huge",
			func(b []byte, _ *elf.File) { le.PutUint16(b[0x3c:], 0); le.PutUint64(section(b, 0)[32:], 1<<60) }},
		{"e_shentsize 0", func(b []byte, _ *elf.File) { le.PutUint16(b[0x3a:], 0) }},
		{"e_shentsize 1", func(b []byte, _ *elf.File) { le.PutUint16(b[0x3a:], 1) }},
		{"e_shstrndx beyond", func(b []byte, _ *elf.File) { le.PutUint16(b[0x3e:], 0xfff0) }},
		{"all sh_size huge", func(b []byte, f *elf.File) {
			for i := range f.Sections {
				le.PutUint64(section(b, i)[32:], 1<<63)
			}
		}},
		{"all sh_offset wrap", func(b []byte, f *elf.File) {
			for i := range f.Sections {
				le.PutUint64(section(b, i)[24:], ^uint64(0)-7)
			}
		}},
		{"all sh_entsize 0", func(b []byte, f *elf.File) {
			for i := range f.Sections {
				le.PutUint64(section(b, i)[56:], 0)
			}
		}},
		{"all sections compressed", func(b []byte, f *elf.File) {
			for i := range f.Sections {
				le.PutUint64(section(b, i)[8:], uint64(elf.SHF_COMPRESSED))
			}
		}},
		{"all sections linked to themselves", func(b []byte, f *elf.File) {
			for i := range f.Sections {
				le.PutUint32(section(b, i)[40:], uint32(i))
			}
		}},
		{"PT_GNU_EH_FRAME elsewhere", func(b []byte, f *elf.File) {
			s := segment(b, f, elf.PT_GNU_EH_FRAME)
			le.PutUint64(s[8:], 1<<63)
			le.PutUint64(s[16:], 1<<63)
		}},
		{"PT_GNU_EH_FRAME on the code", func(b []byte, f *elf.File) {
			s := segment(b, f, elf.PT_GNU_EH_FRAME)
			le.PutUint64(s[8:], f.Section(".text").Offset)
			le.PutUint64(s[16:], f.Section(".text").Addr)
		}},
		{"PT_NOTE huge", func(b []byte, f *elf.File) {
			s := segment(b, f, elf.PT_NOTE)
			le.PutUint64(s[32:], 1<<62)
			le.PutUint64(s[40:], 1<<62)
		}},
		{"FDE count huge", func(b []byte, f *elf.File) { le.PutUint32(within(b, f, ".eh_frame_hdr")[8:], 1<<31) }},
		{"FDE count 0", func(b []byte, f *elf.File) { le.PutUint32(within(b, f, ".eh_frame_hdr")[8:], 0) }},
		{"first CIE points to itself", func(b []byte, f *elf.File) { le.PutUint32(within(b, f, ".eh_frame")[4:], 4) }},
		{"length of the first CIE huge",
			func(b []byte, f *elf.File) { le.PutUint32(within(b, f, ".eh_frame"), 0xfffffffe) }},
		{"length of the first CIE 64 bits", func(b []byte, f *elf.File) { fill(within(b, f, ".eh_frame")[:12], 0xff) }},
		{"name of the note huge", func(b []byte, f *elf.File) { fill(within(b, f, ".note.gnu.build-id")[:8], 0xff) }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			// Static programs have no .eh_frame_hdr, and the dynamic linker reads notes.
			name := "threads-static"
			if strings.Contains(tt.name, "FRAME") || strings.Contains(tt.name, "FDE") {
				name = "threads"
			}
			survive(t, tampered(t, name, tt.tamper).pid, 3)
		})
	}
}

// besides starts a copy of threads through the dynamic linker, which, unlike the kernel,
// lets others write to the file of a program that runs.
func besides(t *testing.T) (p *target, path string, f *elf.File) {
	t.Helper()
	path = filepath.Join(room(t), "threads")
	copyFile(t, program(t, "threads"), path)
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	linker, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	interpreter := strings.TrimRight(string(within(linker, f, ".interp")), "\x00")
	p = launch(t, exec.Command(interpreter, path, "2", "10")).ready(t)
	asleep(t, p.pid)
	return p, path, f
}

// TestTruncatedWhileMapped cuts the file of a running program. Where its code is cut away
// the program dies as soon as it runs on; it sleeps, until the stop ends its sleep.
func TestTruncatedWhileMapped(t *testing.T) {
	text := func(f *elf.File) int64 { s := f.Section(".text"); return int64(s.Offset + s.Size) }
	for _, tt := range []struct {
		name string
		size func(f *elf.File) int64
	}{
		{"behind the code", text},
		{"in the unwind table", func(f *elf.File) int64 { return int64(f.Section(".eh_frame").Offset + 100) }},
		{"in the symbols", func(f *elf.File) int64 { return int64(f.Section(".symtab").Offset + 100) }},
		{"in the section headers", func(f *elf.File) int64 { return int64(f.Section(".shstrtab").Offset) + 200 }},
		{"in the code", func(f *elf.File) int64 { return int64(f.Section(".text").Offset) + 1 }},
		{"in the ELF header", func(*elf.File) int64 { return 20 }},
		{"at 0", func(*elf.File) int64 { return 0 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p, path, f := besides(t)
			if err := os.Truncate(path, tt.size(f)); err != nil {
				t.Fatal(err)
			}
			d, o := tryJSON(t, p.pid)
			if o.status > 1 || d == nil || len(d.Threads) != 3 {
				t.Errorf("status %d, want 0 or 1 and 3 threads\n%s", o.status, o.stderr)
			}
			checkTold(t, o)
		})
	}
}

// TestTruncatedMeanwhile makes the file shorter and longer all the time that it is read: a
// mapped page behind the end of a file is a SIGBUS.
func TestTruncatedMeanwhile(t *testing.T) {
	p, path, f := besides(t)
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// The code stays, so that the program lives.
	keep := int64(f.Section(".eh_frame_hdr").Offset)
	done, ended := make(chan bool), make(chan bool)
	go func() {
		defer close(ended)
		for {
			select {
			case <-done:
				return
			default:
				os.Truncate(path, keep)
				time.Sleep(time.Duration(rand.Int64N(int64(time.Millisecond))))
				if file, err := os.OpenFile(path, os.O_WRONLY, 0); err == nil {
					file.WriteAt(image[keep:], keep)
					file.Close()
				}
				time.Sleep(time.Duration(rand.Int64N(int64(time.Millisecond))))
			}
		}
	}()
	t.Cleanup(func() { close(done); <-ended })
	reported := 0
	for range 60 {
		d, o := tryJSON(t, p.pid)
		if o.status > 1 || d == nil || len(d.Threads) != 3 {
			t.Fatalf("status %d, want 0 or 1 and 3 threads\n%s", o.status, o.stderr)
		}
		if strings.Contains(o.stdout, "became shorter") {
			reported++
		}
	}
	t.Logf("%d of 60 runs met the end of the file", reported)
}

// TestOverwrittenWhileMapped writes noise over all of the file of a running program but its
// code and data.
func TestOverwrittenWhileMapped(t *testing.T) {
	p, path, f := besides(t)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	random := rand.New(rand.NewPCG(1, 2))
	for _, s := range unread {
		section := f.Section(s)
		if section == nil {
			continue
		}
		noise := make([]byte, section.FileSize)
		for i := range noise {
			noise[i] = byte(random.Uint32())
		}
		if _, err := file.WriteAt(noise, int64(section.Offset)); err != nil {
			t.Fatal(err)
		}
	}
	survive(t, p.pid, 3)
}

// What is malformed or missing is reported, not dropped in silence.
func TestMissingNamesAreTold(t *testing.T) {
	for _, tt := range []struct {
		name   string
		tamper func(image []byte, f *elf.File)
		stderr string
		status int
	}{
		{"section table beyond the file", func(image []byte, f *elf.File) {
			binary.LittleEndian.PutUint64(image[0x28:], 1<<62) // e_shoff
		}, "section table at 0x4000000000000000", 1},
		{"no section table at all", func(image []byte, f *elf.File) {
			binary.LittleEndian.PutUint64(image[0x28:], 0)
		}, "", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := tampered(t, "threads-static", tt.tamper)
			o := show(t, "-v", "-p", strconv.Itoa(p.pid))
			if o.status != tt.status || !strings.Contains(o.stderr, tt.stderr) || tt.stderr == "" && o.stderr != "" {
				t.Errorf("status %d, want %d, and %q on standard error:\n%s", o.status, tt.status, tt.stderr, o.stderr)
			}
			if tt.status == 0 && !strings.Contains(o.stdout, "! no symbols") {
				t.Errorf("-v does not report that there are no symbols:\n%s", o.stdout)
			}
		})
	}
}
