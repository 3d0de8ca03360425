//go:build linux

package dotnet

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/fpstack/fpstack/waits"
)

// bundleMark is behind the word of a single-file program that says where its list of files is.
// Source: src/native/corehost/apphost/bundle_marker.cpp of dotnet/runtime.
var bundleMark = []byte("\x8b\x12\x02\xb9\x6a\x61\x20\x38\x72\x7b\x93\x02\x14\xd7\xa0\x32" +
	"\x13\xf5\xb9\xe6\xef\xae\x33\x18\xee\x3b\x2d\xce\x24\xb3\x6a\xae")

// replaced is a single-file program with another assembly in the place of the one of that name: its runtime runs it.
// Source: src/native/corehost/bundle/header.h and file_entry.h.
func replaced(t *testing.T, program, name string, assembly []byte) []byte {
	t.Helper()
	i := bytes.Index([]byte(program), bundleMark)
	if i < 8 {
		t.Fatal("the program has no list of files")
	}
	b := []byte(program)
	at := int(binary.LittleEndian.Uint64(b[i-8:]))
	text := func() string {
		size, n := binary.Uvarint(b[at:])
		at += n + int(size)
		return string(b[at-int(size) : at])
	}
	files := binary.LittleEndian.Uint32(b[at+8:])
	at += 12
	text()
	at += 40 // two files of their own, and flags
	for range files {
		entry := b[at : at+24] // offset, size, size when compressed
		at += 25
		if text() == name {
			binary.LittleEndian.PutUint64(entry, uint64(len(b)+4095)&^4095)
			binary.LittleEndian.PutUint64(entry[8:], uint64(len(assembly)))
			binary.LittleEndian.PutUint64(entry[16:], 0)
			b = append(b, make([]byte, (4096-len(b)%4096)%4096)...)
			return append(b, assembly...)
		}
	}
	t.Fatalf("the program has no %s", name)
	return nil
}

// inPlace is the program of a single file with one of our assemblies in the place of its own.
func inPlace(t *testing.T, version, assembly string, arguments ...string) *exec.Cmd {
	t.Helper()
	return inPlaceOf(t, version, programs[version].name, assembly, arguments...)
}

func inPlaceOf(t *testing.T, version, name, assembly string, arguments ...string) *exec.Cmd {
	t.Helper()
	program, err := os.ReadFile(filepath.Join(fetched, version, name))
	code, err2 := os.ReadFile(filepath.Join(own, assembly))
	if err = errors.Join(err, err2); err != nil {
		t.Skipf("%v: scripts/build-dotnet brings it", err)
	}
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, replaced(t, string(program), name+".dll", code), 0o755); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, arguments...)
	cmd.Env = append(os.Environ(), "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT=1")
	return cmd
}

// TestSingleFile: monitors, a task and names of threads in the runtimes that come as single files.
func TestSingleFile(t *testing.T) {
	for _, version := range []string{"10.0.9", "9.0.7"} {
		if !*full && version != "10.0.9" {
			continue
		}
		t.Run(version, func(t *testing.T) {
			cmd := inPlace(t, version, "azmcp.dll")
			s := startWaiting(t, cmd)
			s.open(t, cmd)
			var locks []waits.Lock
			named := false
			for end := time.Now().Add(patience); (len(locks) < 2 || !named) && time.Now().Before(end); {
				time.Sleep(10 * time.Millisecond) // it begins
				s.Forget(t)
				shot := s.Stop(t)
				locks = s.locks(shot)
				for _, f := range s.Runtimes.ThreadFacts(shot) {
					named = named || f.Name == "a task that never ends"
				}
			}
			if len(locks) != 2 || !named {
				t.Fatalf("locks %+v, want two; the name is found: %t", locks, named)
			}
			for i, l := range locks {
				other := locks[1-i]
				if len(l.Waiters) != 1 || l.Owner == 0 || l.Owner != other.Waiters[0] || l.Owner == l.Waiters[0] {
					t.Errorf("%q: waiters %v, owner %d; the other one's waiters %v", l.Name, l.Waiters, l.Owner,
						other.Waiters)
				}
			}
		})
	}
}
