package cmd

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/snapshot/unpack"
)

// TestUnpackAsksForRoom: what is unpacked ends where the disk is nearly full, and says so; it is asked again before
// what it had said is used up.
func TestUnpackAsksForRoom(t *testing.T) {
	f, err := os.Create(filepath.Join(t.TempDir(), "core"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	asked := 0
	r := &roomy{File: f, room: func() (int64, error) { asked++; return int64(3-asked) << 17, nil }}
	size, err := unpack.Copy(r, bytes.NewReader(bytes.Repeat([]byte{7}, 1<<20)))
	if !errors.Is(err, corefile.ErrRoom) || size != 3<<17 || asked != 3 {
		t.Errorf("%d bytes, asked %d times, %v; want %d bytes by what was said twice, and why there are no more", size,
			asked, err, 3<<17)
	}
}
