package view

import (
	"encoding/binary"
	"errors"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/work"
)

const here = mem.Addr(0x7000)

// running is a process whose memory has other words than it had in the stop.
type running struct{ asked []mem.Addr }

func (r *running) ReadMem(b []byte, a mem.Addr) (int, error) {
	r.asked = append(r.asked, a)
	if a < here || a+mem.Addr(len(b)) > here+0x100 {
		return 0, &mem.FaultError{Addr: a, Len: len(b), Err: mem.ErrUnmapped}
	}
	for i := range b {
		b[i] = 0xee
	}
	return len(b), nil
}

func words(at mem.Addr, ws ...uint64) mem.Range {
	var b []byte
	for _, w := range ws {
		b = binary.LittleEndian.AppendUint64(b, w)
	}
	return mem.Range{Start: at, Data: b}
}

func TestOver(t *testing.T) {
	stop := mem.NewOverlay(nil, words(here, 1, 2), words(here+16, 3), words(here+32, 5))
	core := mem.NewOverlay(&running{}, words(here, 1, 2))
	core.Still = true
	for _, row := range []struct {
		name string
		v    View
		at   mem.Addr
		want uint64
		held bool
		late bool
		err  error
	}{
		{"copied", Over(stop, &running{}, nil), here + 8, 2, true, false, nil},
		{"in two ranges", Over(stop, &running{}, nil), here + 12, 3 << 32, true, false, nil},
		{"not copied", Over(stop, &running{}, nil), here + 24, 0xeeeeeeeeeeeeeeee, false, true, nil},
		{"copied in part: of one moment or the other, not of both", Over(stop, &running{}, nil), here + 20,
			0xeeeeeeeeeeeeeeee, false, true, nil},
		{"not copied, and nothing else is to be had", Over(stop, nil, nil), here + 24, 0, false, false, ErrNotCopied},
		{"not mapped", Over(stop, &running{}, nil), 0x100, 0, false, true, mem.ErrUnmapped},
		{"a core is of one moment", Over(core, nil, nil), here + 64, 0xeeeeeeeeeeeeeeee, true, false, nil},
		{"a reader that is no overlay too", Over(&running{}, nil, nil), here, 0xeeeeeeeeeeeeeeee, true, false, nil},
		{"what does not move is not late", Lasting(&running{}, nil), here, 0xeeeeeeeeeeeeeeee, false, false, nil},
		{"copies alone", Copied(nil, words(here, 7)), here, 7, true, false, nil},
		{"behind copies alone", Copied(nil, words(here, 7)), here + 1, 0, false, false, ErrNotCopied},
	} {
		got, err := row.v.Word(row.at)
		if got != row.want || !errors.Is(err, row.err) {
			t.Errorf("%s: got %#x, %v, want %#x, %v", row.name, got, err, row.want, row.err)
		}
		if held := row.v.Held(row.at, 8); held != row.held {
			t.Errorf("%s: held is %t, want %t", row.name, held, row.held)
		}
		if late := row.v.TakeLate(); late != row.late || row.v.TakeLate() {
			t.Errorf("%s: late is %t, want %t, and once", row.name, late, row.late)
		}
		if row.v.Refused() != nil {
			t.Errorf("%s: refused: %v", row.name, row.v.Refused())
		}
	}
}

// What is refused once stays refused, also where there is something left.
func TestBudget(t *testing.T) {
	for _, row := range []struct {
		name  string
		begin func(*running) View
		want  error
		asked int
	}{
		{"of the run", func(r *running) View { return Lasting(r, work.New(2*(liveCost+8)+100, 0)) }, work.ErrSpent, 2},
		{"of this list", func(r *running) View {
			v := Lasting(r, work.New(1<<30, 0))
			v.Within(3*(liveCost+8) + 100)
			return v
		}, work.ErrSpent, 3},
		{"what a walk holds is charged as copied", func(r *running) View {
			v := Lasting(mem.NewOverlay(r, words(here, 1)), work.New(2*(liveCost+8)+100, 0))
			for range 50 {
				if w, err := v.Word(here); w != 1 || err != nil {
					t.Fatal(w, err)
				}
			}
			return Lasting(mem.NewOverlay(r, words(here+16, 1)), v.budget)
		}, work.ErrSpent, 2},
		{"ended", func(r *running) View {
			b := work.New(1<<30, 0)
			b.Stop(errEnded)
			return Lasting(r, b.Share())
		}, errEnded, 0},
	} {
		r := &running{}
		v := row.begin(r)
		var err error
		for range 10 {
			_, err = v.Word(here)
		}
		if !errors.Is(err, row.want) || !errors.Is(v.Refused(), row.want) || len(r.asked) != row.asked {
			t.Errorf("%s: %d reads, %v, %v, want %d, %v", row.name, len(r.asked), err, v.Refused(), row.asked, row.want)
		}
		if v.Spend(0) {
			t.Errorf("%s: steps are left behind a read that was refused", row.name)
		}
	}
	v := Lasting(&running{}, nil)
	for range 1000 {
		if _, err := v.Word(here); err != nil {
			t.Fatal(err)
		}
	}
}

var errEnded = errors.New("ended")

func TestText(t *testing.T) {
	b := mem.Range{Start: here + 60, Data: []byte("abcdefgh\x00ij")}
	for _, row := range []struct {
		name  string
		at    mem.Addr
		most  int
		want  string
		whole bool
		err   error
	}{
		{"over the end of a piece", here + 60, 100, "abcdefgh", true, nil},
		{"as long as it may be", here + 60, 8, "abcdefgh", true, nil},
		{"longer", here + 60, 5, "abcde", false, nil},
		{"empty", here + 68, 5, "", true, nil},
	} {
		padded := mem.Range{Start: here, Data: append(make([]byte, 60), append(b.Data, make([]byte, 200)...)...)}
		v := Copied(nil, padded)
		got, whole, err := v.Text(row.at, row.most)
		if got != row.want || whole != row.whole || !errors.Is(err, row.err) {
			t.Errorf("%s: got %q, %t, %v, want %q, %t, %v", row.name, got, whole, err, row.want, row.whole, row.err)
		}
	}
	v := Copied(nil, b)
	if got, whole, err := v.Text(here+60, 100); got != "abcd" || whole || !errors.Is(err, ErrNotCopied) {
		t.Errorf("cut by a fault: got %q, %t, %v, want what comes before it", got, whole, err)
	}
}

func TestFields(t *testing.T) {
	v := Copied(nil, words(here, 1, 2))
	if r, ok := v.Around(here + 9); !ok || r.Start != here || len(r.Data) != 16 {
		t.Errorf("around the second word: %+v, %t", r, ok)
	}
	if _, ok := v.Around(here + 16); ok {
		t.Error("a range is around what was not copied")
	}
	f := v.Fields(here)
	if a, b := f.Word(0), f.Uint(8, 4); a != 1 || b != 2 || f.Err != nil {
		t.Errorf("got %d, %d, %v, want 1, 2", a, b, f.Err)
	}
	if a, b := f.Addr(16), f.Word(0); a != 0 || b != 0 || !errors.Is(f.Err, ErrNotCopied) {
		t.Errorf("behind what was copied: got %d, %d, %v, want nothing more", a, b, f.Err)
	}
	if list, err := v.Words(here, 3); list != nil || err == nil {
		t.Errorf("a list that is there in part: got %v, %v, want nothing and why", list, err)
	}
}

// In a stop the View copies by the Fetcher, whose budget is its own.
func TestStopped(t *testing.T) {
	c := copier(func(f *snapshot.Fetcher) {
		v := Stopped(f, 32)
		got, err := v.Word(here)
		if err != nil || got != 0xeeeeeeeeeeeeeeee || !v.Held(here+16, 16) || v.Held(here+32, 8) {
			t.Errorf("got %#x, %v, want it and 32 bytes copied", got, err)
		}
		if _, err := v.Word(0x100); !errors.Is(err, ErrNotCopied) || v.Refused() != nil {
			t.Errorf("not mapped: got %v, %v", err, v.Refused())
		}
		for a := here + 32; a < here+0x100; a += 32 {
			_, _ = v.Word(a)
		}
		if !errors.Is(v.Refused(), snapshot.ErrSpent) {
			t.Errorf("spent: got %v, want %v", v.Refused(), snapshot.ErrSpent)
		}
	})
	f := snapshot.Fetcher{Budget: snapshot.Budget{Calls: 4, Ranges: 9, Bytes: 999, Time: 1 << 40}}
	th := &snapshot.Thread{}
	f.Run([]snapshot.Copier{c}, th, pieces{})
	if len(th.Shortfalls) != 1 || len(th.Copied) != 3 {
		t.Errorf("got %d ranges and %v, want 3 and that something is missing", len(th.Copied), th.Shortfalls)
	}
}

type copier func(*snapshot.Fetcher)

func (c copier) Copy(_ *snapshot.Thread, f *snapshot.Fetcher) { c(f) }

type pieces struct{}

func (pieces) ReadPieces(all []snapshot.Piece) error {
	for i := range all {
		all[i].Got, _ = (&running{}).ReadMem(all[i].Data, all[i].Addr)
	}
	return nil
}

// source gives the word that is its address, up to an end.
type source struct{ err error }

func (s source) Bytes(a mem.Addr, n int) ([]byte, bool) {
	if s.err != nil || a >= here+16 {
		return nil, false
	}
	return words(a, uint64(a)).Data[:n], true
}

func (s source) Err() error { return s.err }

// What another way of reading in the stop gives is of the stop; why it gives no more is told.
func TestFrom(t *testing.T) {
	v := From(source{})
	if got, err := v.Word(here + 8); got != uint64(here+8) || err != nil || !v.Held(here, 8) || v.TakeLate() {
		t.Errorf("got %#x, %v", got, err)
	}
	if _, err := v.Word(here + 16); !errors.Is(err, ErrNotCopied) || v.Held(here+16, 8) || v.Refused() != nil {
		t.Errorf("behind its end: %v, %v", err, v.Refused())
	}
	v = From(source{err: errEnded})
	if _, err := v.Word(here); err == nil || !errors.Is(v.Refused(), errEnded) {
		t.Errorf("ended: %v, %v", err, v.Refused())
	}
	v.Within(10)
	if v.Spend(4); v.Left() != 6 {
		t.Errorf("%d steps are left of 10 behind 4", v.Left())
	}
}

// TestNothingIsLeft: a read that fails gives nothing, not what an earlier one has left.
func TestNothingIsLeft(t *testing.T) {
	v := Lasting(mem.NewOverlay(nil, mem.Range{Start: 0x1000, Data: []byte("abcdefgh")}), nil)
	if b, ok := v.Bytes(0x1000, 8); !ok || string(b) != "abcdefgh" {
		t.Fatalf("%q, %t", b, ok)
	}
	if b, ok := v.Bytes(0x2000, 4); ok || b != nil {
		t.Errorf("where nothing is: %q, %t", b, ok)
	}
}

// TestNear: fields of one object take one read; of one that cannot be read whole there is what can be.
func TestNear(t *testing.T) {
	live := &running{}
	v := Over(nil, live, nil)
	near := v.Near(here, 32)
	for at := here; at < here+32; at += wordSize {
		if n, err := near.Word(at); err != nil || n != 0xeeeeeeeeeeeeeeee {
			t.Errorf("%#x: got %#x, %v", uint64(at), n, err)
		}
	}
	if len(live.asked) != 1 || !v.TakeLate() {
		t.Errorf("%d reads, want one, which is late", len(live.asked))
	}
	near = v.Near(here+0xf8, 32)
	if n, err := near.Word(here + 0xf8); err != nil || n != 0xeeeeeeeeeeeeeeee {
		t.Errorf("at the end: got %#x, %v", n, err)
	}
	if _, err := near.Word(here + 0x100); err == nil {
		t.Error("what cannot be read is read")
	}
}
