package symbol

import (
	"bytes"
	"debug/elf"
	"errors"
	"os"
	"os/exec"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/work"
)

const variablesSource = `
int counter = 7;
char table[40];
static long hidden[3] = {1, 2, 3};
extern int counter_of_another[];
int counter_of_another[2] = {1};
void work(void) { counter += hidden[1]; }
int main(int n, char **v) { hidden[n] = (long)v; work(); return table[n]; }
`

// TestVariables: data alone is found, by its whole name, where and as large as readelf says it is.
func TestVariables(t *testing.T) {
	for _, options := range [][]string{{"-O1", "-no-pie"}, {"-O1", "-pie", "-fPIE"}} {
		path := compile(t, "gcc", "variables.c", variablesSource, options...)
		f, err := elf.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		symbols, err := f.Symbols()
		if err != nil {
			t.Fatal(err)
		}
		want := map[string]Variable{}
		for _, y := range symbols {
			switch y.Name {
			case "counter", "table", "hidden":
				want[y.Name] = Variable{module.Vaddr(y.Value), y.Size}
			}
		}
		if len(want) != 3 || want["table"].Size != 40 || want["hidden"].Size != 24 {
			t.Fatalf("the program has %v", want)
		}
		m := load(t, path)
		// work and main are functions, count and counter_of_anothe no names, environ is another object's.
		got, err := Variables(m, "counter", "table", "hidden", "work", "main", "count", "counter_of_anothe", "",
			"stdin")
		if err != nil || len(got) != len(want) {
			t.Errorf("got %v (%v), want %v", got, err, want)
		}
		for name, v := range want {
			if got[name] != v {
				t.Errorf("%s: got %+v, want %+v", name, got[name], v)
			}
		}
		if got, err := Variables(m); len(got) != 0 || err != nil {
			t.Errorf("no name: got %v (%v)", got, err)
		}
	}
}

// TestLarge: what is large enough is found by its name, and nothing else.
func TestLarge(t *testing.T) {
	m := load(t, compile(t, "gcc", "variables.c", variablesSource, "-O1", "-no-pie"))
	all, err := Variables(m, "table", "hidden")
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	for _, tt := range []struct {
		name  string
		least uint64
		want  bool
	}{{"table", 40, true}, {"table", 0, true}, {"table", 41, false}, {"hidden", 24, true}, {"hidden", 40, false},
		{"tabl", 0, false}, {"tables", 0, false}, {"main", 0, false}, {"", 0, false}} {
		got, ok := Large(m, tt.name, tt.least)
		if ok != tt.want || ok && got != all[tt.name] || !ok && got != (Variable{}) {
			t.Errorf("%q of %d bytes: %+v, %v, want %v", tt.name, tt.least, got, ok, tt.want)
		}
	}
}

// TestVariablesMissing: what a file does not have is not found; what was not read is an error, and what was is there.
func TestVariablesMissing(t *testing.T) {
	harness.Need(t, "strip")
	path := compile(t, "gcc", "variables.c", variablesSource, "-no-pie")
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	budget := work.New(1<<40, work.Memory)
	m, stopped := within(t, data, path, budget), errors.New("of the test")
	if m == nil || m.Err != nil {
		t.Fatalf("module %+v", m)
	}
	budget.Stop(stopped)
	if got, err := Variables(m, "counter", "nothing"); !errors.Is(err, stopped) || len(got) > 0 {
		t.Errorf("with no work left: got %v (%v)", got, err)
	}
	ms, err := mappings(path)
	if err != nil {
		t.Fatal(err)
	}
	f, err := elf.NewFile(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	broken := bytes.Clone(data)
	table := f.Section(".symtab")
	names := f.Section(".strtab")
	for i := range table.Size / 24 { // each name begins at the last byte of the table, or behind it
		at := broken[table.Offset+24*i:]
		f.ByteOrder.PutUint32(at, uint32(names.Size-1+i%3))
	}
	if got, err := Variables(moduleOf(t, broken, ms), "counter", "table"); len(got) > 0 || err != nil {
		t.Errorf("names that lie nowhere: got %v (%v)", got, err)
	}

	if out, err := exec.Command("strip", path).CombinedOutput(); err != nil {
		t.Fatalf("strip: %v\n%s", err, out)
	}
	if got, err := Variables(load(t, path), "counter"); len(got) != 0 || err != nil {
		t.Errorf("stripped: got %v (%v), want none", got, err)
	}
}
