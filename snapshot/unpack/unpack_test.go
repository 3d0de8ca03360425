package unpack

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/pierrec/lz4/v4"
)

// sample is a megabyte with holes in it.
func sample() []byte {
	b := make([]byte, 1<<20+77)
	random := rand.New(rand.NewPCG(1, 2))
	for i := 0; i < len(b); i++ {
		if i/100_000%3 == 1 {
			b[i] = byte(random.Uint32() & 7)
		}
	}
	return b
}

// packed is b as each writer packs it.
func packed(t testing.TB, b []byte) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	for kind, writer := range map[string]func(io.Writer) io.WriteCloser{
		"gzip": func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		"lz4": func(w io.Writer) io.WriteCloser {
			z := lz4.NewWriter(w)
			if err := z.Apply(lz4.BlockSizeOption(lz4.Block64Kb)); err != nil {
				t.Fatal(err)
			}
			return z
		},
		"zstd": func(w io.Writer) io.WriteCloser {
			z, err := zstd.NewWriter(w)
			if err != nil {
				t.Fatal(err)
			}
			return z
		},
	} {
		var p bytes.Buffer
		w := writer(&p)
		if _, err := w.Write(b); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		out[kind] = p.Bytes()
	}
	return out
}

func file(t testing.TB) *os.File {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "plain"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return f
}

// unpacked copies what p holds into a new file and returns that.
func unpacked(t testing.TB, p []byte, most int64) ([]byte, error) {
	t.Helper()
	r, err := NewReader(Kind(p), bytes.NewReader(p))
	if err != nil {
		return nil, err
	}
	defer r.Close()
	f := file(t)
	size, err := copyUpTo(f, r, most)
	got, rerr := os.ReadFile(f.Name())
	if rerr != nil || int64(len(got)) != size {
		t.Fatalf("file has %d bytes, Copy says %d (%v)", len(got), size, rerr)
	}
	return got, err
}

func TestCopy(t *testing.T) {
	want := sample()
	for kind, p := range packed(t, want) {
		if Kind(p) != kind {
			t.Errorf("%s is taken for %q", kind, Kind(p))
		}
		if got, err := unpacked(t, p, MaxSize); err != nil || !bytes.Equal(got, want) {
			t.Errorf("%s: %d bytes, %v; want the %d that were packed", kind, len(got), err, len(want))
		}
		twice := append(bytes.Clone(p), p...)
		if got, err := unpacked(t, twice, MaxSize); err != nil || len(got) != 2*len(want) {
			t.Errorf("%s: two streams behind each other give %d bytes, %v", kind, len(got), err)
		}
	}
	if got, err := unpacked(t, append([]byte("\x7fELF"), want...), MaxSize); err != nil || len(got) != len(want)+4 {
		t.Errorf("what is not compressed: %d bytes, %v", len(got), err)
	}
}

// TestCopyCut: a stream that is cut gives what came before, and the reason.
func TestCopyCut(t *testing.T) {
	want := sample()
	for kind, p := range packed(t, want) {
		some := false
		for i := 1; i < 16; i++ {
			got, err := unpacked(t, p[:max(8, len(p)*i/16)], MaxSize)
			if err == nil || !bytes.HasPrefix(want, got) {
				t.Errorf("%s cut at %d of 16: %d bytes, %v", kind, i, len(got), err)
			}
			some = some || len(got) > 0
		}
		if !some {
			t.Errorf("%s: nothing of any cut stream", kind)
		}
	}
}

func TestCopyBounds(t *testing.T) {
	for kind, p := range packed(t, make([]byte, 8<<20)) {
		got, err := unpacked(t, p, 1<<20+5)
		if !errors.Is(err, ErrTooLarge) || len(got) != 1<<20+5 {
			t.Errorf("%s of 8 MiB into 1: %d bytes, %v", kind, len(got), err)
		}
	}
	for _, head := range []string{"\xfd7zXZ\x00......", "BZh9......"} {
		if _, err := unpacked(t, []byte(head), 1); err == nil || !strings.Contains(err.Error(), "unpack it first") {
			t.Errorf("%q: %v", head, err)
		}
	}
}

func FuzzCopy(f *testing.F) {
	for _, p := range packed(f, sample()[90_000:120_000]) {
		f.Add(p)
	}
	f.Fuzz(func(t *testing.T, p []byte) {
		got, err := unpacked(t, p, 1<<20)
		if len(got) > 1<<20 {
			t.Errorf("%d bytes, %v", len(got), err)
		}
	})
}
