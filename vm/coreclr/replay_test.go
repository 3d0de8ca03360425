package coreclr

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
)

const recorded = "../../testdata/snapshots/*/dotnet-*.snapshot"

// alone is a process with one runtime.
type alone struct{ r *Runtime }

func (a alone) All() []unwind.Runtime { return []unwind.Runtime{a.r} }
func (alone) Meet(*module.Module)     {}
func (alone) Scan(*module.Set)        {}

// told is what the perf map of a server said of the threads of its snapshot.
type told struct {
	version         Version
	slots, contract mem.Addr
	threads         []toldThread
}

type toldThread struct {
	id     uint64 // that the runtime gave it; 0: not recorded
	frames []toldFrame
}

type toldFrame struct {
	pc, start mem.Addr
	name      string // "?" of precompiled methods, which a map does not have
}

func readTold(t *testing.T, path string) told {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	return parseTold(t, path, f)
}

func parseTold(t *testing.T, path string, from io.Reader) (out told) {
	t.Helper()
	var err error
	for lines := bufio.NewScanner(from); lines.Scan(); {
		word, rest, _ := strings.Cut(lines.Text(), " ")
		switch word {
		case "version":
			_, err = fmt.Sscanf(rest, "%d.%d.%d", &out.version.Major, &out.version.Minor, &out.version.Patch)
		case "slots":
			_, err = fmt.Sscanf(rest, "%v", &out.slots)
		case "contract":
			_, err = fmt.Sscanf(rest, "%v", &out.contract)
		case "thread":
			var tid int
			out.threads = append(out.threads, toldThread{})
			fmt.Sscan(rest, &tid, &out.threads[len(out.threads)-1].id)
		default:
			var frame toldFrame
			_, err = fmt.Sscanf(lines.Text(), "%v %v %s", &frame.pc, &frame.start, &frame.name)
			last := &out.threads[len(out.threads)-1]
			last.frames = append(last.frames, frame)
		}
		if err != nil {
			t.Fatalf("%s: %q: %v", path, lines.Text(), err)
		}
	}
	return out
}

// TestReplay walks and names threads of busy servers that were recorded, without .NET, and compares each frame with
// what the server's own perf map said.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob(recorded)
	if err != nil || len(files) == 0 {
		t.Fatalf("no snapshots: %v", err)
	}
	for _, file := range files {
		t.Run(recordedName(file), func(t *testing.T) { replay(t, file) })
	}
}

// recordedName is the machine and the version of a recorded file.
func recordedName(file string) string {
	return filepath.Base(filepath.Dir(file)) + "/" + strings.TrimSuffix(filepath.Base(file), ".snapshot")
}

// TestNewCode: what was compiled since mappings and sections were read is walked and named all the same.
func TestNewCode(t *testing.T) {
	const file = "../../testdata/snapshots/amd64/dotnet-9.0.5"
	want := readTold(t, file+".txt")
	shot := recordedShot(t, file+".snapshot")
	old := slices.Clone(shot.Maps.All())
	for i := range old {
		if strings.Contains(old[i].Path, doubleMapper) {
			old[i].Perm = 0
		}
	}
	shot.Maps = maps.NewTable(old)
	w, r := walkerOf(t, shot, &want)
	for i := range r.sections.Load().list {
		h := &r.sections.Load().list[i].heap
		h.end = h.start
	}
	compareTold(t, &want, shot, w, r)
}

func replay(t *testing.T, file string) {
	want := readTold(t, strings.TrimSuffix(file, ".snapshot")+".txt")
	shot, w, r := reopened(t, file, &want)
	compareTold(t, &want, shot, w, r)
}

func compareTold(t *testing.T, want *told, shot *snapshot.Snapshot, w *unwind.Walker, r *Runtime) {
	t.Helper()
	named, unlisted := 0, 0
	facts := r.ThreadFacts(shot)
	for i := range shot.Threads {
		th := &shot.Threads[i]
		s := w.Walk(th, shot.Reader(th, nil), unwind.Options{})
		if id := want.threads[i].id; id != 0 && facts[th.TID].ID != id {
			t.Errorf("thread %d is number %d, want %d", th.TID, facts[th.TID].ID, id)
		}
		for k, f := range want.threads[i].frames {
			if k >= len(s.Frames) {
				t.Fatalf("thread %d ends after %d frames (%v: %v), want %s", th.TID, k, s.Stop, s.Err, f.name)
			}
			got := &s.Frames[k]
			frames := r.Frames(got.Site)
			if got.PC != f.pc || len(frames) != 1 || got.PC-mem.Addr(frames[0].Offset) != f.start {
				t.Fatalf("thread %d, frame %d: %#x, %+v (%s), want %#x in %#x %s", th.TID, k, uint64(got.PC), frames,
					got.Note, uint64(f.pc), uint64(f.start), f.name)
			}
			if f.name == "?" {
				unlisted++
				continue
			}
			raw := frames[0].Linkage
			if frames[0].Stub {
				raw = "dynamicClass::" + strings.Trim(frames[0].Func, "[]")
			}
			if _, after, ok := strings.Cut(raw, "] "); ok && strings.HasPrefix(raw, "[") {
				raw = after
			}
			if raw != f.name && !strings.HasPrefix(raw, f.name+"[") {
				t.Errorf("%#x is %q, the map says %q", uint64(f.pc), raw, f.name)
			}
			named++
		}
	}
	if named < 20 {
		t.Errorf("%d frames were compared: too few", named)
	}
	t.Logf("%d frames are as the map says, %d are not in it", named, unlisted)
}

// TestSecondTime: to name frames a second time nothing is read, but of code that may be freed.
func TestSecondTime(t *testing.T) {
	const file = "../../testdata/snapshots/amd64/dotnet-9.0.5"
	want := readTold(t, file+".txt")
	shot, w, r := reopened(t, file+".snapshot", &want)
	reader := &memory.Failing{Reader: r.names.memory}
	r.names.memory = reader
	var sites []unwind.Site
	for i := range shot.Threads {
		th := &shot.Threads[i]
		for _, f := range w.Walk(th, shot.Reader(th, nil), unwind.Options{}).Frames {
			if f.Site != 0 {
				sites = append(sites, f.Site)
				r.Frames(f.Site)
			}
		}
	}
	if first := reader.N; len(sites) == 0 || first == 0 {
		t.Fatalf("%d frames were named by %d reads", len(sites), first)
	}
	reader.N = 0
	for _, site := range sites {
		r.Frames(site)
	}
	if reader.N != 0 {
		t.Errorf("%d frames took %d reads the second time", len(sites), reader.N)
	}
}

// reopened returns a recorded snapshot with a walker and the runtime of its process.
func reopened(t testing.TB, file string, want *told) (*snapshot.Snapshot, *unwind.Walker, *Runtime) {
	t.Helper()
	shot := recordedShot(t, file)
	w, r := walkerOf(t, shot, want)
	return shot, w, r
}

func recordedShot(t testing.TB, file string) *snapshot.Snapshot {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	shot, err := snapshot.NewReader(f, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	return shot
}

// walkerOf returns what walks the threads of a recorded snapshot, and the runtime of its process.
func walkerOf(t testing.TB, shot *snapshot.Snapshot, want *told) (*unwind.Walker, *Runtime) {
	t.Helper()
	image := module.Image{Memory: shot.Reader(nil, nil), Mapping: func(*maps.Mapping) (*module.File, error) {
		return nil, errors.New("no file is here")
	}}
	w, r := walkerIn(t, shot, want, image)
	if r == nil {
		t.Fatal("the runtime does not say what it is")
	}
	return w, r
}

// walkerIn is walkerOf in that image; nil where that does not say what the runtime is.
func walkerIn(t testing.TB, shot *snapshot.Snapshot, want *told, image module.Image) (*unwind.Walker, *Runtime) {
	t.Helper()
	set := module.NewSet(shot.Maps, image)
	t.Cleanup(func() { set.Close() })
	var c *contract
	if want.contract != 0 {
		var err error
		v := view.Lasting(image.Memory, nil)
		if c, err = readContract(&v, want.contract); err != nil {
			return nil, nil
		}
	}
	o := onVersion(want.version)
	if shot.Threads[0].Arch == regs.ARM64 {
		o.port = &onARM64
	}
	l, err := layoutOf(o, c)
	if err != nil {
		t.Fatal(err)
	}
	r := newRuntime(o, want.slots, l, image)
	r.Mapped(set)
	w := unwind.NewWalker(set, nil)
	w.Use(alone{r})
	return w, r
}
