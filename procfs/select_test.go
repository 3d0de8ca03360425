package procfs

import (
	"errors"

	"github.com/fpstack/fpstack/tests/harness"
	"path/filepath"
	"slices"
	"testing"
)

func TestNamed(t *testing.T) {
	root := harness.Tree(t, map[string]string{
		"1/comm": "init\n", "1/exe": "->/usr/lib/systemd/systemd", "1/cmdline": "/sbin/init\x00splash\x00",
		// The kernel cuts comm to 15 bytes.
		"10/comm": "a-very-long-nam\n", "10/exe": "->/opt/a-very-long-name", "10/cmdline": "/opt/a-very-long-name\x00",
		"11/comm": "server\n", "11/exe": "->/opt/server (deleted)", "11/cmdline": "server\x00-v\x00",
		// A program that wrote over its arguments.
		"12/comm": "worker\n", "12/exe": "->/opt/server", "12/cmdline": "server: worker process",
		"13/comm": "python3\n", "13/exe": "->/usr/bin/python3.11", "13/cmdline": "python3\x00server\x00",
		"9/comm": "odd\nname\n", "9/exe": "->/opt/odd", "9/cmdline": "\x00",
		// Neither has a program.
		"2/comm": "kthreadd\n", "2/stat": "2 (kthreadd) S 0", "2/cmdline": "", "2/task/2/cmdline": "",
		"20/comm": "server\n", "20/stat": "20 (server) Z 1", "20/cmdline": "", "20/task/20/cmdline": "",
		// A leader that has ended, and a thread that has not.
		"30/comm": "half\n", "30/stat": "30 (half) Z 1", "30/cmdline": "", "30/task/30/cmdline": "",
		"30/task/31/cmdline": "/opt/whole\x00", "30/task/31/exe": "->/opt/whole",
		"self/comm": "server\n", "self/exe": "->/opt/server", "meminfo": "", "0/comm": "server\n",
		"0/cmdline": "server\x00",
	})
	programs, err := Programs(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string][]int{
		"init":              {1},
		"systemd":           {1},
		"a-very-long-name":  {10},
		"a-very-long-nam":   {10},
		"a-very-long-names": nil,
		"a-very-long":       nil,
		"server":            {11, 12},
		"worker":            {12},
		"SERVER":            nil,
		"python3":           {13},
		"python3.11":        {13},
		"python":            nil,
		"odd\nname":         {9},
		"odd":               {9},
		"kthreadd":          nil,
		"half":              {30},
		"whole":             {30},
		"":                  nil,
		".":                 nil,
		"/opt/server":       nil,
	} {
		if got := Named(programs, name); !slices.Equal(got, want) {
			t.Errorf("%q: %v, want %v", name, got, want)
		}
	}
	if _, err := Programs(filepath.Join(root, "none")); err == nil {
		t.Error("no error where nothing can be listed")
	}
}

func TestTree(t *testing.T) {
	below := map[int][]int{1: {2, 5}, 2: {3, 4}, 5: {6}, 7: {8}, 9: {9}, 10: {11}, 11: {10}}
	children := func(pid int) ([]int, error) {
		if pid == 6 {
			return []int{99}, errors.New("it has ended")
		}
		return below[pid], nil
	}
	for _, c := range []struct {
		name string
		pids []int
		want []int
	}{
		{"none", nil, nil},
		{"a leaf", []int{3}, []int{3}},
		{"parents first, each with all that is below it", []int{1}, []int{1, 2, 3, 4, 5, 6}},
		{"two trees", []int{7, 2}, []int{7, 8, 2, 3, 4}},
		{"one within the other", []int{1, 2}, []int{1, 2, 3, 4, 5, 6}},
		{"one before the tree it lies in", []int{2, 1}, []int{2, 3, 4, 1, 5, 6}},
		{"one twice", []int{3, 3}, []int{3}},
		{"an id given again makes a circle", []int{9, 10}, []int{9, 10, 11}},
	} {
		given := slices.Clone(c.pids)
		if got := Tree(c.pids, children); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
		if !slices.Equal(given, c.pids) || !slices.Equal(below[1], []int{2, 5}) {
			t.Errorf("%s: the caller's list was changed", c.name)
		}
	}
}
