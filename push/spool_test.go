package push

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
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
	s, dropped, odd, err := OpenSpool(root(t, dir), collector, l)
	if err != nil || len(odd)+len(dropped) > 0 {
		t.Fatal(err, odd, dropped)
	}
	return s
}

// put keeps r in s, and returns what is dropped by that.
func put(t *testing.T, s *Spool, r *Request) []Dropped {
	t.Helper()
	e, dropped := s.reserve(r)
	if e == nil {
		return dropped
	}
	var err error
	if e.held == nil {
		err = s.store(e, r)
	}
	return append(dropped, s.keep(e, r, err)...)
}

// lend is what s lends at once.
func lend(t *testing.T, s *Spool) (*entry, *Request) {
	t.Helper()
	e, r, _, dropped := s.Lend(time.Now(), false)
	if dropped != nil {
		t.Errorf("dropped %v", dropped)
	}
	return e, r
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
		if d := put(t, s, request(b, int64(100-i))); d != nil { // the clock goes back
			t.Fatal(d)
		}
	}
	s = open(t, dir, limits)
	for i, b := range bodies {
		e, r := lend(t, s)
		if r == nil || !bytes.Equal(r.Body, []byte(b)) || r.Path != otlp.Path ||
			!r.Gzip || r.Profiles != 2 || !r.Made.Equal(time.Unix(int64(100-i), 0)) {
			t.Fatalf("request %d: %+v", i, r)
		}
		s.Settle(e)
	}
	if _, r := lend(t, s); r != nil {
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
		for _, d := range put(t, s, request("0123456789", int64(i))) {
			if d.Why != Full || d.Profiles != 2 {
				t.Errorf("dropped %+v", d)
			}
		}
		if _, size := s.Waiting(); size > limits.Bytes {
			t.Fatalf("%d bytes after %d requests", size, i)
		}
	}
	e, r := lend(t, s)
	if at := r.Made.Unix(); at == 0 {
		t.Errorf("the oldest is still there")
	}
	for i := range 20 { // what is being sent is not dropped meanwhile
		put(t, s, request("0123456789", int64(20+i)))
	}
	s.GiveBack(e, time.Time{})
	if _, again := lend(t, s); again == nil || !again.Made.Equal(r.Made) {
		t.Errorf("the request that was lent is gone: %+v", again)
	}
	s.Settle(e)
	waiting, _ := s.Waiting()
	dropped := s.Expire(time.Unix(39, 0).Add(limits.Age))
	if left, _ := s.Waiting(); left != 2 || 2*len(dropped) != waiting-2 || dropped[0].Why != TooOld {
		t.Errorf("%d profiles left of %d, dropped %v", left, waiting, dropped)
	}
	if d := put(t, s, request(string(make([]byte, limits.Bytes)), 1)); len(d) != 1 || d[0].Why != TooLarge {
		t.Errorf("larger than the spool: %v", d)
	}
}

// TestSpoolOdd: files that are not ours, and what a writer left that was killed, harm nothing.
func TestSpoolOdd(t *testing.T) {
	dir := t.TempDir()
	put(t, open(t, dir, limits), request("body", 5))
	for name, text := range map[string]string{"notes.txt": "x", unfinished + "1": "half", "x.push": "{}\n"} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	os.Symlink("/etc/passwd", filepath.Join(dir, "00000000000000000003.push"))
	s, dropped, odd, err := OpenSpool(root(t, dir), collector, limits)
	if err != nil || len(odd) != 3 || dropped != nil {
		t.Fatalf("%v, dropped %v, %d odd files: %v", err, dropped, len(odd), odd)
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
	if _, r, _, dropped := s.Lend(time.Now(), false); r != nil || len(dropped) != 1 || dropped[0].Why != Unread {
		t.Errorf("a request that is gone: %v, %v", r, dropped)
	}
}

// TestSpoolDamaged: a file that a crash or a bad disk left damaged is removed when the spool is opened and when it is
// met, and its profiles are dropped; what another version wrote takes room, and goes when that is needed.
func TestSpoolDamaged(t *testing.T) {
	dir := t.TempDir()
	whole := open(t, dir, limits)
	for i := range 4 {
		put(t, whole, request("body"+strings.Repeat("x", i*block*3/4), int64(5+i)))
	}
	path := func(i int) string { return filepath.Join(dir, whole.entries[i].name) }
	damage := func(i int, change func([]byte) []byte) {
		t.Helper()
		b, err := os.ReadFile(path(i))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path(i), change(b), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	flip := func(b []byte) []byte { b[len(b)-1] ^= 1; return b }
	damage(0, flip)
	damage(1, func(b []byte) []byte { return b[:len(b)/2] })
	damage(2, func(b []byte) []byte { return bytes.Replace(b, []byte(`"Format":1`), []byte(`"Format":9`), 1) })
	empty := filepath.Join(dir, "00000000000000000001.push") // as after a crash of a machine whose disk lost it
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s, dropped, odd, err := OpenSpool(root(t, dir), collector, limits)
	if err != nil || len(odd) != 4 || len(dropped) != 3 {
		t.Fatalf("%v, dropped %v, %d odd files: %v", err, dropped, len(odd), odd)
	}
	lost := 0
	for _, d := range dropped {
		if lost += d.Profiles; d.Why != Unread {
			t.Errorf("dropped %+v", d)
		}
	}
	if n, size := s.Waiting(); n != 2 || size != 5*block || lost != 4 {
		t.Errorf("%d profiles wait in %d bytes, %d are lost", n, size, lost)
	}
	for _, gone := range []string{path(0), path(1), empty} {
		if _, err := os.Stat(gone); err == nil {
			t.Errorf("%s is still there", gone)
		}
	}
	damage(3, flip)
	if _, r, _, dropped := s.Lend(time.Now(), false); r != nil || len(dropped) != 1 || dropped[0].Profiles != 2 {
		t.Errorf("a request that was damaged meanwhile: %v, %v", r, dropped)
	}
	if _, err := os.Stat(path(3)); err == nil {
		t.Error("a request that was damaged meanwhile is still there")
	}
	for i := range 9 { // more than fits beside what another version wrote
		if d := put(t, s, request("new", int64(100+i))); d != nil {
			t.Errorf("dropped %v", d)
		}
	}
	if _, err := os.Stat(path(2)); err == nil {
		t.Error("what another version wrote holds room that is needed")
	}
}

// TestSpoolUnremovable: what cannot be removed takes room still: the limit is one of the disk.
func TestSpoolUnremovable(t *testing.T) {
	dir := t.TempDir()
	s := open(t, dir, limits)
	for i := range 5 {
		put(t, s, request("x", int64(i)))
	}
	s.folder.Close() // nothing can be removed, or written, from now on
	s.Expire(time.Unix(100, 0).Add(limits.Age))
	if n, size := s.Waiting(); n != 0 || size != 5*block {
		t.Errorf("%d profiles wait in %d bytes, and 5 files are there", n, size)
	}
}

// TestSpoolOrder: of one series the next is lent when the one before is settled, and those of one interval together;
// one that failed often lets the next go first; in a trial the one that was tried least does.
func TestSpoolOrder(t *testing.T) {
	s := open(t, t.TempDir(), roomy)
	for _, r := range []struct {
		body   string
		at     int64
		series []uint32
	}{{"a1", 1, []uint32{1, 2}}, {"b1", 1, []uint32{2, 3}}, {"a2", 2, []uint32{1}}, {"c2", 2, []uint32{4}},
		{"b2", 2, []uint32{3, 4}}} {
		q := request(r.body, r.at)
		q.Series = r.series
		put(t, s, q)
	}
	s, _, _, err := OpenSpool(s.folder, collector, roomy) // the series are in the files
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(1000, 0)
	lent := map[string]*entry{}
	expect := func(trial bool, want string) {
		t.Helper()
		e, r, _, _ := s.Lend(now, trial)
		got := ""
		if r != nil {
			got = string(r.Body)
			lent[got] = e
		}
		if got != want {
			t.Errorf("lent %q, want %q", got, want)
		}
	}
	expect(false, "a1")
	expect(false, "b1") // of the same interval
	expect(false, "c2") // a2 waits for a1
	expect(false, "")
	s.Settle(lent["b1"])
	expect(false, "b2")
	for range turn - 1 {
		s.GiveBack(lent["a1"], now.Add(time.Minute))
		if e, _, again, _ := s.Lend(now, false); e != nil || !again.Equal(now.Add(time.Minute)) {
			t.Errorf("lent %+v, again at %v", e, again)
		}
		expect(true, "a1")
	}
	s.GiveBack(lent["a1"], now.Add(time.Minute))
	expect(false, "a2")
}
