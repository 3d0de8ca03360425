package cmd

import (
	"fmt"
	"strconv"
	"strings"
)

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

// choice is the value of a flag that takes one of a few words.
type choice struct {
	word  string
	among []string
}

func (c *choice) Type() string   { return strings.Join(c.among, "|") }
func (c *choice) String() string { return c.word }

func (c *choice) Set(s string) error {
	for _, word := range c.among {
		if s == word {
			c.word = s
			return nil
		}
	}
	return fmt.Errorf("want one of %s", strings.Join(c.among, ", "))
}
