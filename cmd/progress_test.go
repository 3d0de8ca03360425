package cmd

import (
	"bytes"
	"strings"
	"testing"
)

// screen gives the last line that a terminal of width cells shows of what was written to it:
// a carriage return goes to its begin, anything else takes a cell.
func screen(t *testing.T, written string, width int) string {
	t.Helper()
	line, at := make([]rune, width), 0
	for i := range line {
		line[i] = ' '
	}
	for _, r := range written {
		switch {
		case r == '\r':
			at = 0
		case r < ' ' || r == 0x7f:
			t.Fatalf("control character %q in %q", r, written)
		case at == width:
			t.Fatalf("more than %d cells in a line: %q", width, written)
		default:
			line[at] = r
			at++
		}
	}
	return strings.TrimSpace(string(line))
}

func always() bool { return true }

func TestProgress(t *testing.T) {
	const text = "recording 12.3 s of 30 s  1,203 samples  5 threads  overhead 0.4 %  lost 0"
	for _, tt := range []struct {
		width int
		want  string
	}{
		{120, "| " + text}, {80, "| " + text}, {40, "| recording 12.3 s of 30 s  1,203 sam…"}, {6, "| r…"}, {4, "|"}, {1, "|"},
	} {
		var out bytes.Buffer
		p := drawProgress(&out, func() int { return tt.width }, always)
		p.update(text)
		if got := screen(t, out.String(), max(5, tt.width)); got != tt.want {
			t.Errorf("%d cells: got %q, want %q", tt.width, got, tt.want)
		}
		p.update("short")
		if got := screen(t, out.String(), max(5, tt.width)); tt.width > 10 && got != "/ short" {
			t.Errorf("%d cells, then a shorter text: got %q", tt.width, got)
		}
		p.clear()
		if got := screen(t, out.String(), max(5, tt.width)); got != "" {
			t.Errorf("%d cells, cleared: got %q", tt.width, got)
		}
		p.update(text)
		if got := screen(t, out.String(), max(5, tt.width)); got == "" {
			t.Errorf("%d cells: the line does not come back", tt.width)
		}
	}
}

func TestProgressUnseen(t *testing.T) {
	var none *progress
	none.update("x")
	none.clear()
	if p := newProgress(&bytes.Buffer{}); p != nil {
		t.Error("a line on what is no terminal")
	}
	var out bytes.Buffer
	p := drawProgress(&out, func() int { return 80 }, func() bool { return false })
	p.update("x")
	p.clear()
	if out.Len() > 0 {
		t.Errorf("in the background: wrote %q", out.String())
	}
}
