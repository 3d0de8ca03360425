package push

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/fpstack/fpstack/push/otlp"
)

// limits have room for nine small files.
var limits = Limits{Bytes: 9*block + 1, Age: time.Hour}

// collector is a target of the requests of these tests.
var collector = &Target{Kind: OTLPHTTP}

func root(t *testing.T, dir string) *os.Root {
	t.Helper()
	r, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

func open(t *testing.T, dir string, l Limits) *Spool {
	t.Helper()
	s, odd, err := OpenSpool(root(t, dir), collector, l)
	if err != nil || len(odd) > 0 {
		t.Fatal(err, odd)
	}
	return s
}

func request(body string, at int64) *Request {
	path, contentType := collector.Form()
	return &Request{Path: path, ContentType: contentType, Gzip: true, Body: []byte(body), Profiles: 2,
		Made: time.Unix(at, 0).UTC()}
}

// TestSpoolKeeps: what was put in comes out in its order, after another start too, to the byte.
func TestSpoolKeeps(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, limits)
	bodies := []string{"first\nline", "", "\x00\xff"}
	for i, b := range bodies {
		if d := s.Put(request(b, int64(100-i))); d != nil { // the clock goes back
			t.Fatal(d)
		}
	}
	s = open(t, dir, limits)
	for i, b := range bodies {
		r, _, dropped := s.Lend()
		if r == nil || dropped != nil || !bytes.Equal(r.Body, []byte(b)) || r.Path != otlp.Path ||
			!r.Gzip || r.Profiles != 2 || !r.Made.Equal(time.Unix(int64(100-i), 0)) {
			t.Fatalf("request %d: %+v, dropped %v", i, r, dropped)
		}
		s.GiveBack(true)
	}
	if r, _, _ := s.Lend(); r != nil {
		t.Errorf("one more: %+v", r)
	}
	if files, _ := os.ReadDir(dir); len(files) > 0 {
		t.Errorf("files left: %v", files)
	}
}

// TestSpoolBounds: the oldest go first, by bytes and by age, and are counted.
func TestSpoolBounds(t *testing.T) {
	s := open(t, t.TempDir(), limits)
	for i := range 20 {
		for _, d := range s.Put(request("0123456789", int64(i))) {
			if d.Why != Full || d.Profiles != 2 {
				t.Errorf("dropped %+v", d)
			}
		}
		if _, size := s.Waiting(); size > limits.Bytes {
			t.Fatalf("%d bytes after %d requests", size, i)
		}
	}
	r, _, _ := s.Lend()
	if at := r.Made.Unix(); at == 0 {
		t.Errorf("the oldest is still there")
	}
	for i := range 20 { // what is being sent is not dropped meanwhile
		s.Put(request("0123456789", int64(20+i)))
	}
	s.GiveBack(false)
	if again, _, _ := s.Lend(); again == nil || !again.Made.Equal(r.Made) {
		t.Errorf("the request that was lent is gone: %+v", again)
	}
	s.GiveBack(true)
	waiting, _ := s.Waiting()
	dropped := s.Expire(time.Unix(39, 0).Add(limits.Age))
	if left, _ := s.Waiting(); left != 2 || 2*len(dropped) != waiting-2 || dropped[0].Why != TooOld {
		t.Errorf("%d profiles left of %d, dropped %v", left, waiting, dropped)
	}
	if d := s.Put(request(string(make([]byte, limits.Bytes)), 1)); len(d) != 1 || d[0].Why != TooLarge {
		t.Errorf("larger than the spool: %v", d)
	}
}

// TestSpoolOdd: files that are not ours, and what a writer left that was killed, harm nothing.
func TestSpoolOdd(t *testing.T) {
	dir := t.TempDir()
	whole := open(t, dir, limits)
	whole.Put(request("body", 5))
	for name, text := range map[string]string{"notes.txt": "x", "00000000000000000001.push": "{",
		unfinished + "1": "half", "00000000000000000002.push": "{\"Profiles\":-1}\nx", "x.push": "{}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("/etc/passwd", filepath.Join(dir, "00000000000000000003.push"))
	s, odd, err := OpenSpool(root(t, dir), collector, limits)
	if err != nil || len(odd) != 5 {
		t.Fatalf("%v, %d odd files: %v", err, len(odd), odd)
	}
	if n, _ := s.Waiting(); n != 2 {
		t.Errorf("%d profiles", n)
	}
	if _, err := os.Stat(filepath.Join(dir, unfinished+"1")); err == nil {
		t.Error("an unfinished file is left")
	}
	if _, err := os.Stat(filepath.Join(dir, "notes.txt")); err != nil {
		t.Error("a file that is not ours is gone")
	}
	os.Remove(filepath.Join(dir, s.entries[0].name))
	if r, _, dropped := s.Lend(); r != nil || len(dropped) != 1 || dropped[0].Why != Unread {
		t.Errorf("a request that is gone: %v, %v", r, dropped)
	}
}
