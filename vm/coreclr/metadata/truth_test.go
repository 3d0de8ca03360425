package metadata_test

import (
	"bufio"
	"flag"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

var truth = flag.String("truth", "testdata/shapes.txt",
	"what testdata/dotnet/truth.cs printed: its methods are compared")

// TestTruth compares each method of assemblies with what System.Reflection.Metadata says about it.
func TestTruth(t *testing.T) {
	f, err := os.Open(*truth)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var tables *metadata.Tables
	methods, assemblies := 0, 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Split(lines.Text(), "\t")
		switch words[0] {
		case "A":
			assemblies++
			tables = openFile(t, words[1])
			if name, err := tables.Assembly(); err != nil || name != words[2] {
				t.Errorf("%s: assembly %q, %v, want %q", words[1], name, err, words[2])
			}
		case "M":
			methods++
			rid, _ := strconv.Atoi(words[2])
			m, err := tables.Method(uint32(rid))
			if err != nil {
				t.Fatalf("%s: method %d: %v", words[1], rid, err)
			}
			if got := strings.Join(described(m), "\t"); got != strings.Join(words[3:], "\t") {
				t.Errorf("%s: method %d is %q, want %q", words[1], rid, got, words[3:])
			}
		}
	}
	if methods == 0 {
		t.Error("no method was compared")
	}
	t.Logf("%d methods of %d assemblies", methods, assemblies)
}

func openFile(t *testing.T, path string) *metadata.Tables {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	v := view.Copied(work.New(work.Steps, work.Memory), mem.Range{Start: 0x1000, Data: data})
	im, err := metadata.OpenImage(&v, 0x1000)
	if err != nil {
		t.Fatal(err)
	}
	tables, err := metadata.Open(&v, im.Metadata())
	if err != nil {
		t.Fatal(err)
	}
	return tables
}

// described is a method as testdata/dotnet/truth.cs prints it.
func described(m *metadata.Method) []string {
	var names []string
	for i := range m.Path {
		names = append(names, m.Path[i].Name)
	}
	path := strings.Join(names, "+")
	if space := m.Path[0].Namespace; space != "" {
		path = space + "." + path
	}
	special := "0"
	if m.Special {
		special = "1"
	}
	ofType := m.Path[len(m.Path)-1].Parameters
	return []string{path, m.Name, special, strings.Join(ofType, ","), strings.Join(m.Parameters, ",")}
}
