package flame

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"
)

// pprofTestdata gives every file of google/pprof's testdata that its own library reads.
func pprofTestdata(t testing.TB) map[string][]byte {
	t.Helper()
	out, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/google/pprof").Output()
	if err != nil {
		t.Fatalf("find the module of pprof: %v", err)
	}
	root, files := strings.TrimSpace(string(out)), map[string][]byte{}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.Contains(path, "/testdata/") {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := pprof.ParseData(data); err == nil {
			name, _ := filepath.Rel(root, path)
			files[name] = data
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 { // 16 of profile/testdata, and those of internal/driver
		t.Fatalf("%d profiles in the testdata of pprof at %s, want 20 at least", len(files), root)
	}
	return files
}

var (
	rawTypes  = regexp.MustCompile(`(?m)^Samples:\n(.*)\n`)
	rawSample = regexp.MustCompile(`(?m)^ *((?:-?\d+ +)*-?\d+):`)
)

// rawTotals gives what `go tool pprof -raw` shows: the types, the default one marked, and their sums.
func rawTotals(t *testing.T, path string) (types []string, sums []int64) {
	t.Helper()
	out, err := exec.Command("go", "tool", "pprof", "-symbolize=none", "-raw", path).Output()
	if err != nil {
		t.Fatalf("go tool pprof: %v", err)
	}
	m := rawTypes.FindSubmatchIndex(out)
	if m == nil {
		t.Fatalf("go tool pprof shows no samples:\n%s", out)
	}
	types = strings.Fields(strings.ReplaceAll(string(out[m[2]:m[3]]), "[dflt]", ""))
	sums = make([]int64, len(types))
	samples, _, _ := bytes.Cut(out[m[3]:], []byte("\nLocations\n"))
	for _, s := range rawSample.FindAllSubmatch(samples, -1) {
		values := strings.Fields(string(s[1]))
		if len(values) != len(types) {
			t.Fatalf("go tool pprof shows %q for %q", values, types)
		}
		for i, v := range values {
			n, err := strconv.ParseInt(v, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			sums[i] += n
		}
	}
	return types, sums
}

func TestTotalsOfPprofsTestdata(t *testing.T) {
	for name, data := range pprofTestdata(t) {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "profile")
			if err := os.WriteFile(path, data, 0o644); err != nil {
				t.Fatal(err)
			}
			types, want := rawTotals(t, path)
			p, err := read(bytes.NewReader(data))
			if err != nil {
				t.Fatal(err)
			}
			checkValid(t, p)
			totals := p.Totals()
			if len(totals) != len(want) {
				t.Fatalf("types %v, pprof shows %q", p.Types, types)
			}
			for k, typ := range p.Types {
				if got := typ.Type + "/" + typ.Unit; got != types[k] || totals[k] != want[k] {
					t.Errorf("value %d is %s: %d, pprof shows %s: %d", k, got, totals[k], types[k], want[k])
				}
			}
			truth, err := pprof.ParseData(data)
			if err != nil {
				t.Fatal(err)
			}
			if i, err := truth.SampleIndexByName(""); err != nil || i != p.Default {
				t.Errorf("shown first is value %d, pprof shows %d, %v", p.Default, i, err)
			}
		})
	}
}

// legacyCPU is a CPU profile of words of 32 bits, what follows being the list of mappings.
func legacyCPU(words []uint32, list string) []byte {
	var b []byte
	for _, w := range append([]uint32{0, 3, 0, 10000, 0}, words...) {
		b = binary.LittleEndian.AppendUint32(b, w)
	}
	return append(b, list...)
}

func TestLegacyBounds(t *testing.T) {
	const heap = "heap profile: 1: 2 [ 1: 2] @ heapz_v2/524288\n  1: 2 [ 1: 2] @ 0x400001\n\nMAPPED_LIBRARIES:\n"
	end := []uint32{0, 1, 0}
	for _, tt := range []struct {
		name string
		data []byte
		want string
	}{
		{"attributes that double", []byte(heap + "a=xx\nb=$a$a\nc=$b$b\n$c\n"), "refers to others"},
		{"attributes that double, behind words", legacyCPU(end, "a=xx\nb=$a$a\n"), "refers to others"},
		{"many attributes", []byte(heap + strings.Repeat("a=x\n", 1001)), "more than 1000 attributes"},
		{"a long attribute used often",
			[]byte(heap + "a=" + strings.Repeat("x", 60000) + "\n" + strings.Repeat("400000-500000: $a\n", 5000)),
			"would take 286 MiB"},
		{"many places and mappings", []byte("heap profile: 1: 2 [ 1: 2] @ heapz_v2/524288\n" +
			strings.Repeat("  1: 2 [ 1: 2] @ 0x400001\n", 50000) +
			"MAPPED_LIBRARIES:\n" + strings.Repeat("1-2: x\n", 50000)), "too many"},
		{"a large file", append([]byte(heap), make([]byte, 65<<20)...), "more than 64 MiB"},
		{"a sample that is none", []byte("goroutine profile: total 5\nhello world 5\n"), "malformed profile"},
	} {
		begin := time.Now()
		if p, err := read(bytes.NewReader(tt.data)); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, %v, want %q", tt.name, p != nil, err, tt.want)
		}
		if took := time.Since(begin); took > 20*time.Second {
			t.Errorf("%s took %v", tt.name, took)
		}
	}
}

func TestLegacyBehindComments(t *testing.T) {
	p, err := read(strings.NewReader("# written by hand\n\ngoroutine profile: total 7\n3 @ 0x44cb3 0x45045\n" +
		"#\t0x44cb2\tmain.work+0x12\t/src/main.go:5\n4 @ 0x44cb3\n"))
	if err != nil {
		t.Fatal(err)
	}
	checkValid(t, p)
	if got := folded(t, p, FoldedOptions{}); got != "0x44cb2 4\n0x45045;0x44cb2 3\n" {
		t.Errorf("got %q", got)
	}
}
