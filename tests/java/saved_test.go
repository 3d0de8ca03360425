//go:build linux && (amd64 || arm64)

package java

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

var record = flag.Bool("record", false, "record testdata/snapshots/java anew")

const saved = "../../testdata/snapshots/java"

// TestRecord records processes for the tests of vm/hotspot: threads of Java, what was copied of them, what was read of
// the memory to recognise the JVM, to walk and to name; and where its symbols are.
func TestRecord(t *testing.T) {
	if !*record {
		t.Skip("with -record testdata/snapshots/java is recorded anew")
	}
	for _, row := range []struct {
		name, version, class string
		flags                []string
		method               string
		park                 bool // until the thread is in the JVM's code
	}{
		{"ring-17-interpreted", "17", "Ring", []string{"-Xint"}, "Ring.main", true},
		{"ring-25-tiered", "25", "Ring", nil, "Ring.main", true},
		{"ring-8-c1", "8", "Ring", []string{"-XX:TieredStopAtLevel=1"}, "Ring.main", true},
		{"chaos-17-tiered", "17", "Chaos", nil, "Chaos.main", true},
		{"ring-28-c2", "28", "Ring", []string{"-XX:-TieredCompilation"}, "Ring.main", true},
		{"dead-17", "17", "Dead", nil, "", false},
		{"dead-25", "25", "Dead", nil, "", false},
		{"dead-8", "8", "Dead", nil, "", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := start(t, row.version, append(slices.Clone(row.flags), row.class)...)
			walked.Pause(3)
			for i := range 50 {
				if saveOne(t, p, row.name, row.method, row.park) {
					return
				}
				walked.Pause(i)
			}
			t.Error("no thread was met where it should be")
		})
	}
}

// saveOne records one stop, unless no thread is in the JVM's code as it should be.
func saveOne(t *testing.T, p *program, name, method string, running bool) bool {
	t.Helper()
	live, err := tracer.Open(p.pid, tracer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer live.Close()
	table, err := live.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := live.Image()
	kept := mem.NewKeeper(image.Memory, 8<<20)
	image.Memory = kept
	set := module.NewSet(table, image)
	defer set.Close()
	runtimes := vm.NewTable(vm.Kinds, nil).Process(image)
	runtimes.Scan(set)
	s, err := live.Snapshot(t.Context(), tracer.StopOptions{Copiers: runtimes.DumpCopiers()})
	if err != nil {
		t.Fatal(err)
	}
	names := resolve.New(set, resolve.Options{})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	stacks := map[int]*unwind.Stack{}
	var threads []snapshot.Thread
	for i := range s.Threads {
		th := &s.Threads[i]
		stack := w.Walk(th, s.Reader(th, kept), unwind.Options{})
		stack.Frames = slices.Clone(stack.Frames)
		stacks[th.TID] = &stack
		shown := names.Stack(&stack)
		java := functions(javaFrames(&shown))
		if running && (!slices.Contains(java, method) || len(java) < 4 || shown.Frames[0].Kind != profile.Java) {
			continue
		}
		if len(java) > 0 {
			th.Stack.Data = th.Stack.Data[:min(len(th.Stack.Data), 16<<10)]
			if !running {
				th.Stack.Data = th.Stack.Data[:0]
			}
			threads = append(threads, *th)
		}
	}
	if len(threads) == 0 {
		return false
	}
	runtimes.ThreadFacts(s)
	runtimes.Locks(s, func(tid int) *unwind.Stack { return stacks[tid] })
	s.Threads, s.Running = threads, kept.Ranges()
	if err := os.MkdirAll(saved, 0o755); err != nil {
		t.Fatal(err)
	}
	f, err := os.Create(filepath.Join(saved, name+".snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if err := snapshot.Write(f, s); err != nil {
		t.Fatal(err)
	}
	saveSymbols(t, set, name)
	return true
}

// saveSymbols writes where the JVM's symbols are.
func saveSymbols(t *testing.T, set *module.Set, name string) {
	t.Helper()
	out := map[string]mem.Addr{}
	for _, m := range set.Table().All() {
		found := set.Find(m.Start)
		if found == nil || !strings.HasPrefix(filepath.Base(found.Path), "libjvm.so") {
			continue
		}
		d := symbol.OpenDynamic(found)
		for _, s := range symbolNames() {
			if v, _, ok := d.Lookup(s); ok {
				out[s] = found.Addr(v)
			}
		}
	}
	b, err := json.MarshalIndent(out, "", "\t")
	if err == nil {
		err = os.WriteFile(filepath.Join(saved, name+".json"), append(b, '\n'), 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// symbolNames are the names of what a JVM exports for debuggers.
func symbolNames() []string {
	out := []string{}
	for kind, columns := range map[string]string{"VMStruct": "TypeName FieldName TypeString IsStatic Offset Address",
		"VMType": "TypeName SuperclassName Size", "VMIntConstant": "Name Value", "VMLongConstant": "Name Value"} {
		entry := "gHotSpot" + kind + "Entry"
		for _, c := range strings.Fields(columns) {
			out = append(out, entry+c+"Offset")
		}
		out = append(out, entry+"ArrayStride", "gHotSpot"+kind+"s")
	}
	return out
}
