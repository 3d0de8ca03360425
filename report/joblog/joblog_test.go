package joblog

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
)

const ages = time.Minute // longer than any test

// TestLog: what is written comes out in its order.
func TestLog(t *testing.T) {
	var out strings.Builder
	l := New(&out, 0)
	want := ""
	for i := range 100 {
		line := fmt.Sprintln("line", i)
		want += line
		if n, err := l.Write([]byte(line)); n != len(line) || err != nil {
			t.Fatal(n, err)
		}
	}
	if !l.Flush(ages, ages) || out.String() != want {
		t.Errorf("got %q", out.String())
	}
}

// TestNobodyReads: a pipe that takes nothing keeps nobody waiting, and memory stays bounded; what was lost is said when
// somebody reads again.
func TestNobodyReads(t *testing.T) {
	r, w := io.Pipe()
	l := New(w, 100)
	for range 30 {
		l.Write([]byte("0123456789"))
	}
	if l.Flush(time.Millisecond, ages) || l.Flush(ages, time.Millisecond) {
		t.Error("it says that all was taken")
	}
	ended := make(chan string)
	go func() {
		b, _ := io.ReadAll(r)
		ended <- string(b)
	}()
	if !l.Flush(ages, ages) {
		t.Error("it does not end")
	}
	w.Close()
	want := strings.Repeat("0123456789", 10) +
		"fpstack: the log took nothing for a while: 20 messages were lost here\n"
	if got := <-ended; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestGone: a log that is gone is an error of the writes that follow, and nobody waits for it.
func TestGone(t *testing.T) {
	r, w := io.Pipe()
	gone := errors.New("gone")
	r.CloseWithError(gone)
	l := New(w, 0)
	l.Write([]byte("a"))
	if l.Flush(ages, ages) {
		t.Error("it says that all was taken")
	}
	if _, err := l.Write([]byte("b")); !errors.Is(err, gone) {
		t.Errorf("got %v", err)
	}
}
