//go:build linux

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// recorded is what one `fpstack record` cost and found.
type recorded struct {
	run
	cpu    time.Duration // user and system time of fpstack
	stacks map[string]int64
}

// record runs fpstack record into folded stacks of the wanted value.
func (b *bench) record(value string, args ...string) (*recorded, error) {
	dir, err := os.MkdirTemp("", "bench")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "out.pb.gz")
	c := exec.Command(b.fpstack, append([]string{"record", "-o", file}, args...)...)
	var complaint strings.Builder
	c.Stderr = &complaint
	begun := time.Now()
	if err := c.Run(); err != nil {
		return nil, fmt.Errorf("run %q: %w: %s", c.Args, err, complaint.String())
	}
	out := &recorded{run: run{wall: time.Since(begun), rss: int64(c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss)},
		cpu: c.ProcessState.UserTime() + c.ProcessState.SystemTime()}
	out.output = []byte(complaint.String())
	folded, err := exec.Command(b.fpstack, "flame", file, "-f", "folded", "--type", value).Output()
	if err != nil {
		return nil, fmt.Errorf("fold %s: %w", file, err)
	}
	out.stacks, err = parseFolded(string(folded))
	return out, err
}

func parseFolded(text string) (map[string]int64, error) {
	stacks := map[string]int64{}
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		at := strings.LastIndexByte(line, ' ')
		n, err := strconv.ParseInt(line[at+1:], 10, 64)
		if at < 0 || err != nil {
			return nil, fmt.Errorf("no folded line: %q", line)
		}
		stacks[line[:at]] += n
	}
	return stacks, nil
}

// sum adds the values of all stacks that hold a frame that contains name.
func (r *recorded) sum(name string) int64 {
	var sum int64
	for stack, n := range r.stacks {
		if strings.Contains(stack, name) {
			sum += n
		}
	}
	return sum
}

// speaker is a target that answers a byte by a line, or speaks by itself.
type speaker struct {
	*exec.Cmd
	in    io.WriteCloser
	lines *bufio.Reader
}

// speak starts a target and waits for its "R".
func speak(argv ...string) (*speaker, error) { return speakWith(os.Environ(), argv...) }

// speakWith is speak with another environment.
func speakWith(environment []string, argv ...string) (*speaker, error) {
	s := &speaker{Cmd: exec.Command(argv[0], argv[1:]...)}
	s.Env = environment
	s.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	var err error
	if s.in, err = s.StdinPipe(); err != nil {
		return nil, err
	}
	out, err := s.StdoutPipe()
	if err != nil {
		return nil, err
	}
	s.lines = bufio.NewReader(out)
	if err := s.Start(); err != nil {
		return nil, err
	}
	if line, err := s.lines.ReadString('\n'); err != nil || line != "R\n" {
		s.stop()
		return nil, fmt.Errorf("wait for %q: said %q: %w", argv, line, err)
	}
	return s, nil
}

func (s *speaker) stop() { s.Process.Kill(); s.Wait() }

func (s *speaker) pid() string { return strconv.Itoa(s.Process.Pid) }

// rounds asks a target how far it is.
func (s *speaker) rounds() (float64, error) {
	if _, err := s.in.Write([]byte{'\n'}); err != nil {
		return 0, err
	}
	line, err := s.lines.ReadString('\n')
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(line), 64)
}

// verdict prints one line of the table for a figure with a bound of its own.
func verdict(what string, got, most float64, unit, note string) {
	word := "ok"
	if got > most {
		word = "MISSED"
	}
	fmt.Printf("| %s | %.2f %s | | | %.2f %s | %s; %s |\n", what, got, unit, most, unit, word, note)
}

// parked records a thousand sleepers and one that computes.
func (b *bench) parked() error {
	s, err := speak(filepath.Join(b.live, "spin"), "28", "1000")
	if err != nil {
		return err
	}
	defer s.stop()
	before := switches(s.Process.Pid)
	r, err := b.record("samples", "-q", "-F", "99", "-d", "20s", "-p", s.pid())
	if err != nil {
		return err
	}
	after, most, all := switches(s.Process.Pid), uint64(0), uint64(0)
	for tid, n := range after {
		if tid == s.Process.Pid {
			continue
		}
		most = max(most, (n-before[tid])/2) // a stop puts a sleeper on a CPU twice
		all += (n - before[tid]) / 2
	}
	verdict("1,000 parked threads and one busy at 99 Hz, CPU of fpstack in % of a core", 100*r.cpu.Seconds()/20, 5, "%",
		fmt.Sprintf("with the naming; stops of a parked thread: %d at most, %d in all; %.1f MiB", most, all,
			float64(r.rss)/1024))
	if most > 1 {
		return fmt.Errorf("a parked thread was stopped %d times", most)
	}
	return nil
}

// switches reads how often each thread of a process was put on a CPU.
func switches(pid int) map[int]uint64 {
	out := map[int]uint64{}
	names, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", pid))
	for _, name := range names {
		b, err := os.ReadFile(name)
		fields := strings.Fields(string(b))
		tid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
		if err == nil && len(fields) == 3 {
			out[tid], _ = strconv.ParseUint(fields[2], 10, 64)
		}
	}
	return out
}

// memoryOfMany records a program whose stack is always another one.
func (b *bench) memoryOfMany() error {
	r, err := b.record("samples", "-q", "-F", "2000", "--max-overhead", "0", "--", filepath.Join(b.live, "manystacks"),
		strconv.Itoa(b.many))
	if err != nil {
		return err
	}
	verdict(fmt.Sprintf("peak memory of a recording with %d unique stacks", len(r.stacks)), float64(r.rss)/1024,
		200, "MiB",
		fmt.Sprintf("%d s at 2,000 Hz", b.many))
	return nil
}
