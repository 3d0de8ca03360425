package pdb_test

import (
	"bufio"
	"flag"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/coreclr/pdb"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

var truth = flag.String("truth", "../metadata/testdata/shapes.txt",
	"what testdata/dotnet/truth.cs printed: its lines are compared")

// TestTruth compares each sequence point of assemblies with what System.Reflection.Metadata says.
func TestTruth(t *testing.T) {
	f, err := os.Open(*truth)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var file *pdb.File
	var points []string
	at, token, compared := "", "", 0
	for lines := bufio.NewScanner(f); lines.Scan(); {
		words := strings.Split(lines.Text(), "\t")
		if words[0] != "L" {
			continue
		}
		if words[1] != at {
			at, file = words[1], open(t, words[1])
		}
		rid, _ := strconv.Atoi(words[2])
		if words[2] != token {
			if len(points) > 0 {
				t.Errorf("%s: method %s has %d points more", at, token, len(points))
			}
			token, points = words[2], all(t, file, uint32(rid))
		}
		if want := strings.Join(words[3:], "\t"); len(points) == 0 || points[0] != want {
			t.Fatalf("%s: method %d: points %q, want %q", at, rid, points, want)
		}
		points = points[1:]
		compared++
	}
	if compared == 0 {
		t.Error("no point was compared")
	}
	t.Logf("%d points", compared)
}

// all is the points of a method as testdata/dotnet/truth.cs prints them.
func all(t *testing.T, f *pdb.File, rid uint32) (out []string) {
	t.Helper()
	err := f.Points(rid, func(p pdb.Point) bool {
		name, err := f.Document(p.Document)
		if err != nil {
			t.Error(err)
		}
		out = append(out, strconv.Itoa(int(p.Offset))+"\t"+strconv.Itoa(p.Line)+"\t"+name)
		return true
	})
	if err != nil {
		t.Error(err)
	}
	return out
}

func open(t *testing.T, path string) *pdb.File {
	t.Helper()
	if !filepath.IsAbs(path) {
		path = filepath.Join("../metadata", path)
	}
	image, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b := work.New(work.Steps, work.Memory)
	v := view.Copied(b, mem.Range{Start: 0x1000, Data: image})
	im, err := metadata.OpenImage(&v, 0x1000)
	if err != nil {
		t.Fatal(err)
	}
	data, err := pdb.Embedded(im, b)
	if err != nil {
		t.Fatal(err)
	}
	if data == nil {
		if data, err = os.ReadFile(strings.TrimSuffix(path, ".dll") + ".pdb"); err != nil {
			t.Fatal(err)
		}
	}
	f, err := pdb.Parse(data, b)
	if err != nil {
		t.Fatal(err)
	}
	if ref, ok, err := pdb.Beside(im); err != nil || !ok || ref.ID != f.ID() {
		t.Errorf("%s: the image names %q, %t, %v; its PDB has id %x", path, ref, ok, err, f.ID())
	}
	return f
}
