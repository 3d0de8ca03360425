//go:build linux

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"
)

// sleepers are the targets whose stacks are the same on every machine: what they sleep in they reach by one way.
var sleepers = []struct {
	name, file string
	args       []string
	options    []string
}{
	{"c", "bin/threads", []string{"3", "4"}, nil}, {"c-static", "bin/threads-static", []string{"3", "4"}, nil},
	{"c-fp", "bin/threads-fp", []string{"3", "4"}, nil}, {"python", "/usr/bin/python3", []string{"sleeper.py"}, nil},
	// An emulated machine takes its time while threads are stopped.
	{"go", "bin/threads-go", []string{"3", "4"}, []string{"--fibers=all", "--max-pause", "20s"}},
}

// shown is what a test reads of a dump.
type shown struct {
	Threads []struct {
		Name  string
		Stack struct {
			Complete bool
			Frames   []struct{ Function, Kind string }
		}
	}
	Problems []string
}

// stacks is what dumps of the targets show, by target: a stack a line, sorted.
type stacks map[string][]string

// own are the functions of targets. Those of libc have names where its debug files are, and Go's runtime has as many
// threads as it wants.
var own = regexp.MustCompile(`^(bottom|descend|thread_main|main|main\..*)$`)

// readStacks dumps the targets.
func (m *machine) readStacks() (stacks, error) {
	all := stacks{}
	for _, s := range sleepers {
		lines, err := m.readStack(s.name, s.file, s.args, s.options)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", s.name, err)
		}
		all[s.name] = lines
	}
	return all, nil
}

func (m *machine) readStack(name, file string, args, options []string) ([]string, error) {
	if !strings.HasPrefix(file, "/") {
		file = m.file(file)
	}
	if name == "python" {
		args = []string{m.file(args[0])}
	}
	t, err := m.start(0, name, file, args...)
	if err != nil {
		return nil, err
	}
	defer t.end()
	time.Sleep(200 * time.Millisecond) // what says that it is ready sleeps a moment later
	var r result
	// An emulated machine may need longer than a stop may take for what runtimes ask for.
	if !await(time.Minute, func() bool {
		r = root(m.fpstack(), append([]string{"-p", t.id(), "-f", "json"}, options...)...)
		return r.status == 0
	}) {
		return nil, errors.New(r.String())
	}
	var d shown
	if err := json.Unmarshal([]byte(r.out), &d); err != nil {
		return nil, err
	}
	var lines []string
	for _, thread := range d.Threads {
		var words []string
		for _, f := range thread.Stack.Frames {
			if f.Kind == "python" || own.MatchString(f.Function) {
				words = append(words, f.Kind+" "+f.Function)
			}
		}
		if words == nil {
			continue
		}
		line := fmt.Sprintf("%q complete %v: %s", thread.Name, thread.Stack.Complete, strings.Join(words, ", "))
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines, nil
}

// writeFrames writes what dumps show on this machine.
func (m *machine) writeFrames(w io.Writer) error {
	all, err := m.readStacks()
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(all)
}

// compareFrames says where dumps differ from those of the machine that booted this one.
func (m *machine) compareFrames() error {
	text, err := os.ReadFile(m.file("frames"))
	if err != nil {
		return err
	}
	var want stacks
	if err := json.Unmarshal(text, &want); err != nil {
		return err
	}
	got, err := m.readStacks()
	if err != nil {
		return err
	}
	var wrong []string
	for _, s := range sleepers {
		if len(want[s.name]) == 0 || !slices.Equal(got[s.name], want[s.name]) {
			wrong = append(wrong, s.name, "  here:  "+strings.Join(got[s.name], "\n         "),
				"  there: "+strings.Join(want[s.name], "\n         "))
		}
	}
	if wrong != nil {
		return errors.New("stacks differ\n" + strings.Join(wrong, "\n"))
	}
	return nil
}
