package text

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"
)

func TestQuantity(t *testing.T) {
	for _, c := range []struct {
		v    float64
		unit string
		want string
	}{
		{1234567, "count", "1,234,567"}, {-1234, "count", "-1,234"}, {999, "", "999"},
		{math.Inf(1), "", "9,223,372,036,854,775,807"},
		{999, "nanoseconds", "999 ns"}, {1500, "nanoseconds", "1.50 µs"}, {12.34e9, "nanoseconds", "12.3 s"},
		{4e12, "nanoseconds", "4000 s"}, {9.999e6, "nanoseconds", "10.0 ms"}, {99.94e6, "nanoseconds", "99.9 ms"},
		{99.96e6, "nanoseconds", "100 ms"}, {999.9e6, "nanoseconds", "1.00 s"},
		{2048, "bytes", "2.00 KiB"}, {3 << 30, "bytes", "3.00 GiB"}, {2500, "microseconds", "2.50 ms"},
		{20, "milliseconds", "20 ms"},
	} {
		if got := Quantity(c.v, c.unit); got != c.want {
			t.Errorf("Quantity(%v, %q) = %q, want %q", c.v, c.unit, got, c.want)
		}
	}
	if got := Duration(210 * time.Microsecond); got != "210 µs" {
		t.Errorf("Duration: got %q", got)
	}
}

func TestCount(t *testing.T) {
	got := []string{Count(1, "thread"), Count(0, "thread"), Count(uint64(2970), "sample"), Count(2, "process"),
		Count(int64(1), "process"),
		Thousands(-1234567), Thousands(uint64(math.MaxUint64)), Thousands(int64(math.MinInt64))}
	want := []string{"1 thread", "0 threads", "2,970 samples", "2 processes", "1 process", "-1,234,567",
		"18,446,744,073,709,551,615", "-9,223,372,036,854,775,808"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPercent(t *testing.T) {
	for _, c := range []struct {
		part, whole float64
		want, cell  string
	}{{97, 100, "97.0 %", "97.0%"}, {0, 3, "0.0 %", "0.0%"}, {1, 0, "-", "-"}} {
		if got, cell := Percent(c.part, c.whole, 1), Cell(c.part, c.whole); got != c.want || cell != c.cell {
			t.Errorf("%v of %v: got %q and %q, want %q and %q", c.part, c.whole, got, cell, c.want, c.cell)
		}
	}
}

func TestTable(t *testing.T) {
	rows := [][]string{{"kept", "name", "path"},
		{"DWARF", "server::part::handle_request", "/usr/src/redis/src/networking.c:97"}}
	columns := []Column{nil, Shorten, ShortenPath}
	for _, c := range []struct {
		width int
		want  string
	}{
		{0, "kept   name                          path\n" +
			"DWARF  server::part::handle_request  /usr/src/redis/src/networking.c:97"},
		{50, "kept   name                   path\n" +
			"DWARF  serv…::handle_request  …/networking.c:97"},
		{10, "kept   name      path\nDWARF  handle_…  …ng.c:97"}, // no column is less than eight
	} {
		got := strings.Join(Table(rows, columns, c.width), "\n")
		if got != c.want {
			t.Errorf("at %d cells: got\n%s, want\n%s", c.width, got, c.want)
		}
	}
}

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in            string
		width, indent int
		want          string
	}{
		{"one two three four", 9, 2, "one two\n  three\n  four"},
		{"  ! a reason", 20, 4, "  ! a reason"},
		{"  ! a reason that is long", 14, 4, "  ! a reason\n    that is\n    long"},
		{"averyverylongword and", 8, 2, "averyverylongword\n  and"},
		{"one two", 0, 2, "one two"},
		{"\x1b[1mone\x1b[22m two", 7, 2, "\x1b[1mone\x1b[22m two"},
		{"\x1b[1mone two\x1b[22m three", 9, 2, "\x1b[1mone two\x1b[22m\n  three"},
	} {
		if got := Wrap(c.in, c.width, c.indent); got != c.want {
			t.Errorf("Wrap(%q, %d, %d): got %q, want %q", c.in, c.width, c.indent, got, c.want)
		}
	}
}

func TestTyped(t *testing.T) {
	for d, want := range map[time.Duration]string{
		25 * time.Minute: "25m", 90 * time.Minute: "1h30m", 2 * time.Hour: "2h", 10 * time.Second: "10s",
		500 * time.Millisecond: "500ms", time.Hour + time.Second: "1h0m1s", 0: "0s",
	} {
		if got := Typed(d); got != want {
			t.Errorf("Typed(%d): got %q, want %q", d, got, want)
		}
	}
}
