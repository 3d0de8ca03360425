package text

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// Integer is what Count and Thousands take.
type Integer interface {
	~int | ~int64 | ~uint32 | ~uint64
}

// Thousands writes n with a comma between groups of three digits.
func Thousands[N Integer](n N) string {
	s, sign := "", ""
	if n < 0 {
		s, sign = strconv.FormatInt(int64(n), 10)[1:], "-"
	} else {
		s = strconv.FormatUint(uint64(n), 10)
	}
	for at := len(s) - 3; at > 0; at -= 3 {
		s = s[:at] + "," + s[at:]
	}
	return sign + s
}

// Count writes n and what is counted, of which noun is one: "1 thread", "2,970 samples",
// "2 processes".
func Count[N Integer](n N, noun string) string { return Thousands(n) + " " + Plural(n, noun) }

// Plural is noun, of which there are n.
func Plural[N Integer](n N, noun string) string {
	switch {
	case n == 1:
		return noun
	case strings.HasSuffix(noun, "s"), strings.HasSuffix(noun, "ch"):
		return noun + "es"
	}
	return noun + "s"
}

// Duration writes d with three digits: "21.0 µs", "3.40 ms", "12.3 s". What is longer is written in
// seconds too, so that times can be compared at a glance.
func Duration(d time.Duration) string { return Quantity(float64(d), "nanoseconds") }

// Typed writes d as a person types it for an option: "25m", "1h30m", "500ms".
func Typed(d time.Duration) string {
	s := d.String()
	if strings.HasSuffix(s, "m0s") {
		s = strings.TrimSuffix(s, "0s")
	}
	if strings.HasSuffix(s, "h0m") {
		s = strings.TrimSuffix(s, "0m")
	}
	return s
}

// Quantity writes v in a unit of a profile's values, scaled to what a person reads; in a
// unit that it does not know as a whole number.
func Quantity(v float64, unit string) string {
	switch unit {
	case "nanoseconds":
		return scaled(v, []string{"ns", "µs", "ms", "s"}, 1000)
	case "microseconds":
		return scaled(v, []string{"µs", "ms", "s"}, 1000)
	case "milliseconds":
		return scaled(v, []string{"ms", "s"}, 1000)
	case "bytes":
		return scaled(v, []string{"B", "KiB", "MiB", "GiB", "TiB"}, 1024)
	}
	if v = math.Round(v); v >= math.MaxInt64 { // as a float that is one more than an int64 holds
		return Thousands(int64(math.MaxInt64))
	}
	return Thousands(int64(v))
}

// scaled writes v with three digits in the unit that suits it.
func scaled(v float64, units []string, step float64) string {
	i := 0
	for ; i < len(units)-1 && math.Abs(v) >= 0.9995*step; i++ {
		v /= step
	}
	digits := 2
	if math.Abs(v) >= 99.95 || i == 0 {
		digits = 0
	} else if math.Abs(v) >= 9.995 {
		digits = 1
	}
	return strconv.FormatFloat(v, 'f', digits, 64) + " " + units[i]
}

// Percent writes part of whole with so many digits behind the point, "12.3 %"; "-" where whole
// is 0: the share of nothing is not known.
func Percent(part, whole float64, digits int) string {
	if whole == 0 {
		return "-"
	}
	return strconv.FormatFloat(100*part/whole, 'f', digits, 64) + " %"
}

// Cell is Percent for a column of a table: "12.3%".
func Cell(part, whole float64) string {
	return strings.ReplaceAll(Percent(part, whole, 1), " ", "")
}
