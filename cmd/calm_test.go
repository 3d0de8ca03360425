package cmd

import "testing"

func TestHasty(t *testing.T) {
	for _, tt := range []struct {
		args []string
		want bool
	}{
		{[]string{"-p", "12"}, false},
		{[]string{"-F", "0", "-p", "12"}, true},
		{[]string{"-F0"}, true},
		{[]string{"-F=0"}, true},
		{[]string{"--rate", "0"}, true},
		{[]string{"--rate=5000"}, true},
		{[]string{"-F", "999"}, false},
		{[]string{"-F", "-p", "0"}, false},
		{[]string{"-F"}, false},
		{[]string{"-o", "x", "--", "prog", "-F", "0"}, false},
	} {
		if got := hasty(tt.args); got != tt.want {
			t.Errorf("%q: got %v", tt.args, got)
		}
	}
}
