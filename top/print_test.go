package top

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

func TestPrintOnce(t *testing.T) {
	for _, tc := range []struct {
		name string
		opt  Options
		how  PrintOptions
	}{
		{"once.txt", Options{}, PrintOptions{}},
		{"once-idle-thread.txt", Options{Idle: true, By: ByThread}, PrintOptions{}},
		{"once-2rows.txt", Options{Sort: SortTotal}, PrintOptions{Rows: 2}},
		{"once-80.txt", Options{}, PrintOptions{Width: 80}},
	} {
		var b bytes.Buffer
		tc.how.Once = time.Millisecond
		tc.opt.Title = "7 prog"
		src := &fakeSource{take: func() (*profile.Profile,
			error) {
			return testProfile(append(hostileNames(), program2()...)...), nil
		}, stats: testStats}
		if err := Print(t.Context(), src, &b, tc.opt, tc.how); err != nil {
			t.Errorf("%s: %v", tc.name, err)
		}
		golden(t, tc.name, sinceStart.ReplaceAllString(b.String(), "since start TIME"))
		if strings.ContainsAny(b.String(), "\x1b\a\r") {
			t.Errorf("%s: an escape in %q", tc.name, b.String())
		}
	}
}

func TestPrintJSON(t *testing.T) {
	var b bytes.Buffer
	if err := Print(t.Context(), steady(), &b, Options{Title: "7 prog"},
		PrintOptions{JSON: true, Once: time.Millisecond}); err != nil {
		t.Fatal(err)
	}
	var d struct {
		Schema, Title, Value, Unit, By string
		SinceStart                     bool `json:"since_start"`
		Total, Hidden                  int64
		HiddenIdle                     int64 `json:"hidden_idle"`
		Threads                        struct{ Ran, Waited, Gone int }
		Missing                        []string
		Rows                           []struct {
			Name, Module, File, Kind, Trend string
			Line                            int
			Self, Total                     int64
			SelfShare                       float64 `json:"self_share"`
		}
	}
	if err := json.Unmarshal(b.Bytes(), &d); err != nil {
		t.Fatalf("%v in %q", err, b.String())
	}
	if d.Schema != Schema || d.Title != "7 prog" || d.Value != "wall" || d.Unit != "nanoseconds" ||
		d.By != "function" ||
		!d.SinceStart {
		t.Errorf("got %+v", d)
	}
	if d.Total != int64(1200*msec) || d.HiddenIdle != int64(time.Second) || d.Threads.Ran != 2 ||
		d.Threads.Waited != 1 {
		t.Errorf("got total %d, hidden %d, threads %+v, want 1.2 s, 1 s, 2 ran, 1 waited", d.Total,
			d.HiddenIdle, d.Threads)
	}
	if len(d.Rows) != 4 || d.Rows[0].Name != "leaf" || d.Rows[0].Self != int64(900*msec) ||
		d.Rows[0].SelfShare != 0.75 ||
		d.Rows[0].Module != "/lib/libx.so.1" || d.Rows[0].File != "x.c" || d.Rows[0].Line != 5 ||
		d.Rows[0].Kind != "native" {
		t.Errorf("got rows %+v", d.Rows)
	}
	if len(d.Missing) == 0 {
		t.Error("what is missing is not reported")
	}
}

// TestPrintAgain: a block a take, until the sampling ends; the last one is written too.
func TestPrintAgain(t *testing.T) {
	sampling := make(chan error, 1)
	takes := 0
	src := &fakeSource{take: func() (*profile.Profile, error) {
		if takes++; takes == 3 {
			sampling <- nil
		}
		return program(), nil
	}}
	var b bytes.Buffer
	if err := Print(t.Context(), src, &b, Options{Title: "7 prog", Every: time.Millisecond, Ended: sampling},
		PrintOptions{}); err != nil {
		t.Fatal(err)
	}
	blocks := strings.Split(b.String(), "\n\n")
	if len(blocks) < 4 || !strings.Contains(blocks[len(blocks)-1], "what was sampled has ended") {
		t.Errorf("got %d blocks, want 4 and the end reported: %q", len(blocks), b.String())
	}
}

func TestPrintEndsEarly(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var b bytes.Buffer
	if err := Print(ctx, steady(), &b, Options{}, PrintOptions{Once: time.Hour}); err != nil ||
		!strings.Contains(b.String(), "leaf") {
		t.Errorf("once: got %v and %q, want what was seen so far", err, b.String())
	}
	b.Reset()
	if err := Print(ctx, steady(), &b, Options{}, PrintOptions{}); err != nil || b.Len() > 0 {
		t.Errorf("again and again: got %v and %q, want nothing", err, b.String())
	}
}

func TestPrintFails(t *testing.T) {
	if err := Print(t.Context(), steady(), brokenPipe{}, Options{},
		PrintOptions{Once: time.Millisecond}); !errors.Is(err, errPipe) {
		t.Errorf("got %v, want %v", err, errPipe)
	}
	var p *PanicError
	src := &fakeSource{take: func() (*profile.Profile, error) { panic(1) }}
	if err := Print(t.Context(), src, &bytes.Buffer{}, Options{}, PrintOptions{Once: time.Millisecond}); !errors.As(err,
		&p) {
		t.Errorf("got %v, want a panic", err)
	}
}

var errPipe = errors.New("broken pipe")

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }
