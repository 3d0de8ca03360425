package cmd

import "testing"

func TestShare(t *testing.T) {
	for _, tc := range []struct {
		in   string
		want share
		text string
		ok   bool
	}{
		{"5%", 0.05, "5%", true}, {"0.05", 0.05, "5%", true}, {"0", 0, "0%", true}, {"1", 1, "100%", true},
		{" 2.5% ", 0.025, "2.5%", true}, {"100%", 1, "100%", true},
		{"5", 0, "", false}, {"101%", 0, "", false}, {"-1%", 0, "", false}, {"NaN", 0, "", false},
		{"Inf", 0, "", false},
		{"", 0, "", false}, {"%", 0, "", false}, {"five", 0, "", false},
	} {
		var got share
		err := got.Set(tc.in)
		if (err == nil) != tc.ok || tc.ok && (got != tc.want || got.String() != tc.text) {
			t.Errorf("Set(%q): got %v (%s), %v; want %v (%s), ok %v", tc.in, float64(got), got.String(), err,
				float64(tc.want), tc.text, tc.ok)
		}
	}
}

func TestChoice(t *testing.T) {
	c := choice{"MODE", "wall", []word{{"wall", "time"}, {"cpu", "CPU time"}, {"both", "both"}}}
	if err := c.Set("cpu"); err != nil || c.String() != "cpu" || c.Type() != "MODE" {
		t.Errorf("Set(cpu): got %q of %q, %v", c.String(), c.Type(), err)
	}
	if err := c.Set("gpu"); err == nil || err.Error() != "want wall, cpu or both" || c.String() != "cpu" {
		t.Errorf("Set(gpu): got %q, %v; want cpu and an error with the words", c.String(), err)
	}
}
