package cmd

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/fpstack/fpstack/unwind"
)

// ids is the value of --pid and --tid: comma separated or repeated.
type ids []int

func (v *ids) Type() string { return "N[,N…]" }

func (v *ids) String() string {
	s := make([]string, len(*v))
	for i, n := range *v {
		s[i] = strconv.Itoa(n)
	}
	return strings.Join(s, ",")
}

func (v *ids) Set(s string) error {
	all := *v
	for _, text := range strings.Split(s, ",") {
		n, err := strconv.Atoi(strings.TrimSpace(text))
		if err != nil || n <= 0 || n > 1<<22 { // PID_MAX_LIMIT
			return fmt.Errorf("%q is not an id; -n takes names", text)
		}
		all = append(all, n)
	}
	*v = all
	return nil
}

// seconds is the value of a flag that takes a time above 0: seconds, or a number with its unit, as 10, 10s or 1m.
type seconds time.Duration

func (s *seconds) Type() string { return "TIME" }

// String is empty for 0, which means that no time is given.
func (s *seconds) String() string {
	if *s == 0 {
		return ""
	}
	return time.Duration(*s).String()
}

func (s *seconds) Set(text string) error {
	d, err := time.ParseDuration(text)
	if n, numberErr := strconv.ParseFloat(text, 64); numberErr == nil && n < 1e9 {
		d, err = time.Duration(n*float64(time.Second)), nil
	}
	if err != nil || d < time.Microsecond {
		return fmt.Errorf("want seconds above 0, or a time with its unit, as 10, 500ms or 5m")
	}
	*s = seconds(d)
	return nil
}

// share is the value of a flag that takes a part of a whole: 5% and 0.05 are the same.
type share float64

func (s *share) Type() string { return "SHARE" }

func (s *share) String() string {
	return strconv.FormatFloat(float64(*s)*100, 'g', -1, 64) + "%"
}

func (s *share) Set(text string) error {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(number, 64)
	if percent {
		v /= 100
	}
	if err != nil || !(v >= 0 && v <= 1) { // so that NaN is refused too
		return fmt.Errorf("want a share from 0%% to 100%%, as 5%% or 0.05")
	}
	*s = share(v)
	return nil
}

// word is one that a flag takes, and what it means: help, manual pages and completion show both.
type word struct{ word, means string }

// chooser is the value of a flag that takes only certain words.
type chooser interface{ words() []word }

// choice is the value of a flag that takes one of a few words.
type choice struct {
	kind  string // what the word is, for help: "MODE"
	word  string // "" if there is no default and none was given
	among []word
}

func (c *choice) Type() string   { return c.kind }
func (c *choice) String() string { return c.word }
func (c *choice) words() []word  { return c.among }

func (c *choice) Set(s string) error {
	for _, w := range c.among {
		if s == w.word {
			c.word = s
			return nil
		}
	}
	return fmt.Errorf("want %s", orList(c.among))
}

// textOrJSON is the value of --format of commands that answer a question.
func textOrJSON() choice {
	return choice{"FORMAT", "text", []word{{"text", "for people"},
		{"json", "for programs, a document for each process"}}}
}

// unwindMode is the value of --unwind.
type unwindMode struct{ choice }

func newUnwindMode() unwindMode {
	return unwindMode{choice{"HOW", "auto", []word{
		{"auto", "unwind tables, then frame pointers and the instructions"}, {"fp", "frame pointers only"}}}}
}

func (m *unwindMode) mode() unwind.Mode {
	if m.word == "fp" {
		return unwind.FramePointersOnly
	}
	return unwind.Auto
}
