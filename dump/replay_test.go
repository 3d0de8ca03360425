package dump_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/dump"
	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/vm"
	"github.com/fpstack/fpstack/work"
)

const code, stack = mem.Addr(0x400000), mem.Addr(0x7ffe0000)

// recorded has snapshots of another architecture, with the programs that they show.
const recorded = "../testdata/snapshots/arm64/"

func gunzip(t testing.TB, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return inflated(t, f)
}

func inflated(t testing.TB, r io.Reader) []byte {
	t.Helper()
	zr, err := gzip.NewReader(r)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(zr)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// batch is a batch of a process: threads with frame pointers into code without a file.
func batch(n int, left []int, tids ...int) *snapshot.Snapshot {
	s := &snapshot.Snapshot{Process: snapshot.Process{PID: 7, Comm: "drawn"}, Host: regs.AMD64, Batches: n, Left: left,
		Files: []snapshot.File{{Path: "/drawn", Inode: 1, BuildID: "77"}},
		Maps: maps.NewTable([]maps.Mapping{
			{Start: code, End: code + 0x1000, Perm: maps.Read | maps.Exec, Inode: 1, Path: "/drawn"},
			{Start: stack, End: stack + 0x1000, Perm: maps.Read | maps.Write, Path: "[stack]"},
		})}
	for _, tid := range tids {
		r := regs.New(regs.AMD64)
		r.Set(regs.AMD64.PC, uint64(code)+0x10)
		r.Set(regs.AMD64.SP, uint64(stack))
		r.Set(regs.AMD64.FP, uint64(stack)+0x10)
		m := memory.NewImage(stack, 8, regs.AMD64.Order)
		m.Word(1).Word(2).Ref("next").Word(uint64(code) + 0x20).Label("next").Word(0).Word(0)
		s.Threads = append(s.Threads, snapshot.Thread{TID: tid, Arch: regs.AMD64, Registers: &r, Stack: m.Range()})
	}
	return s
}

func file(t testing.TB, snapshots ...*snapshot.Snapshot) []byte {
	t.Helper()
	var b bytes.Buffer
	for _, s := range snapshots {
		if err := snapshot.Write(&b, s); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

var errNoFile = errors.New("not here")

func options() dump.Options {
	return dump.Options{Runtimes: vm.NewTable(vm.Kinds, nil), MaxFrames: 100,
		Names: resolve.Options{Budget: work.New(work.Steps, work.Memory)}}
}

func replayer(b []byte) *dump.Replayer {
	return dump.NewReplayer(bytes.NewReader(b), func(*snapshot.File) (*module.File, error) { return nil, errNoFile },
		options())
}

// show lists the threads of a dump with the numbers of their frames, "-" for one that was not stopped.
func show(d *profile.Dump) string {
	var all []string
	for i := range d.Threads {
		n := fmt.Sprint(len(d.Threads[i].Stack.Frames))
		if d.Threads[i].NotStopped != "" {
			n = "-"
		}
		all = append(all, fmt.Sprintf("%d:%s", d.Threads[i].TID, n))
	}
	return fmt.Sprintf("%s in %d", strings.Join(all, " "), d.Batches)
}

// TestBatches: batches of one process are one dump, wherever the file ends.
func TestBatches(t *testing.T) {
	other := batch(1, nil, 9)
	other.Process.PID = 9
	for _, row := range []struct {
		name string
		file []*snapshot.Snapshot
		want []string
	}{
		{"one batch", []*snapshot.Snapshot{batch(1, nil, 7, 8)}, []string{"7:1 8:1 in 1"}},
		{"two processes", []*snapshot.Snapshot{batch(1, nil, 7), other}, []string{"7:1 in 1", "9:1 in 1"}},
		{"three batches",
			[]*snapshot.Snapshot{batch(1, []int{8, 9}, 7), batch(2, []int{9}, 8), batch(3, nil, 9), other},
			[]string{"7:1 8:1 9:1 in 3", "9:1 in 1"}},
		{"the second batch is missing", []*snapshot.Snapshot{batch(1, []int{8, 9}, 7), other},
			[]string{"7:1 8:- 9:- in 2", "9:1 in 1"}},
		{"the file ends", []*snapshot.Snapshot{batch(1, []int{8}, 7)}, []string{"7:1 8:- in 2"}},
		{"the same batch again", []*snapshot.Snapshot{batch(1, []int{8}, 7), batch(1, nil, 8)},
			[]string{"7:1 8:- in 2", "8:1 in 1"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := replayer(file(t, row.file...))
			var got []string
			for {
				d, err := r.Next()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, show(d))
				if m := d.Modules[0]; m.BuildID != "77" || !strings.Contains(m.Err, errNoFile.Error()) {
					t.Errorf("module %+v, want the build id that was saved, and why it is not read", m)
				}
			}
			if strings.Join(got, "; ") != strings.Join(row.want, "; ") {
				t.Errorf("got %q, want %q", got, row.want)
			}
		})
	}
}

// TestNotSaved: code that the walk wants to read and the file does not have is said to be missing.
func TestNotSaved(t *testing.T) {
	d, err := replayer(file(t, batch(1, nil, 7))).Next()
	if err != nil {
		t.Fatal(err)
	}
	if st := d.Threads[0].Stack; !strings.Contains(st.Detail, dump.ErrNotSaved.Error()) || st.Complete {
		t.Errorf("the stack ends with %q (%s), want %q", st.Stop, st.Detail, dump.ErrNotSaved)
	}
	s := batch(1, nil, 7)
	s.Running = []mem.Range{{Start: code, Data: []byte("MZ and no ELF header")}}
	if d, err = replayer(file(t, s)).Next(); err != nil {
		t.Fatal(err)
	}
	if st := d.Threads[0].Stack; strings.Contains(st.Detail, dump.ErrNotSaved.Error()) {
		t.Errorf("what was saved is said to be missing: %s", st.Detail)
	}
}

// TestBounds: a file that takes more than a run may hold is refused.
func TestBounds(t *testing.T) {
	large := batch(1, nil, 7)
	large.Threads[0].Stack.Data = make([]byte, work.Memory+1)
	many := batch(1, nil)
	many.Threads = make([]snapshot.Thread, 1<<14)
	many.Memory = make([]mem.Range, 1<<13)
	for want, b := range map[string][]byte{"more memory": file(t, large), "more threads": file(t, many),
		"no mappings": file(t, &snapshot.Snapshot{})} {
		if d, err := replayer(b).Next(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, %v; want an error with %q", d, err, want)
		}
	}
}

// recordedFile is one of recorded as a file that was saved, and the program that it shows.
func recordedFile(t testing.TB, name, program string) (saved, elf []byte) {
	t.Helper()
	f, err := os.Open(recorded + name + ".snapshot")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := snapshot.NewReader(f, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range s.Maps.All() {
		if m.IsFile() {
			s.Files = append(s.Files, snapshot.File{Path: m.Path, Dev: m.Dev, Inode: m.Inode})
		}
	}
	return file(t, s), gunzip(t, recorded+program+".elf.gz")
}

// TestOtherMachine replays what was saved on another architecture.
func TestOtherMachine(t *testing.T) {
	saved, elf := recordedFile(t, "callback", "callback")
	d, err := dump.NewReplayer(bytes.NewReader(saved), func(f *snapshot.File) (*module.File, error) {
		return &module.File{Data: elf, Path: f.Path}, nil
	}, options()).Next()
	if err != nil {
		t.Fatal(err)
	}
	st := d.Threads[0].Stack
	if d.Process.Arch != "arm64" || !st.Complete || len(st.Frames) < 3 || st.Frames[len(st.Frames)-1].Func == "" {
		t.Errorf("%s: %d frames, %s (%s): %+v", d.Process.Arch, len(st.Frames), st.Stop, st.Detail, st.Frames)
	}
}

// FuzzReplay walks what a hostile file shows in a program that is there. The bytes are those inside of the gzip.
func FuzzReplay(f *testing.F) {
	f.Add(inflated(f, bytes.NewReader(file(f, batch(1, []int{9}, 7)))))
	saved, elf := recordedFile(f, "chain-nofp", "chain-nofp")
	f.Add(inflated(f, bytes.NewReader(saved)))
	f.Fuzz(func(t *testing.T, data []byte) {
		var b bytes.Buffer
		zw, _ := gzip.NewWriterLevel(&b, gzip.NoCompression)
		zw.Write(data)
		zw.Close()
		r := dump.NewReplayer(&b, func(f *snapshot.File) (*module.File, error) {
			return &module.File{Data: elf, Path: f.Path}, nil
		}, options())
		for {
			d, err := r.Next()
			if (d == nil) == (err == nil) {
				t.Fatalf("Next = %v, %v", d, err)
			}
			if err != nil {
				return
			}
		}
	})
}
