package choose

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// Scanner finds processes by rules. It is for one goroutine.
type Scanner struct {
	root    string
	rules   []Rule
	exclude []Rule
	self    int
	known   map[int]*decision
	round   uint64
}

// decision is what was decided of a process.
type decision struct {
	runs  Program // if a rule chooses the process
	start uint64  // when it began
	rule  int     // below 0: none
	name  string  // of Rule.Names, that it has
	again time.Duration
	every time.Duration
	round uint64 // of the scan that met it last
}

// Program is what a process runs, as far as one look tells it from what it ran before.
type Program struct {
	Exe  string // the link of /proc; "" if it may not be read
	Comm string // which exec sets to the name of the program or script, and a program may change
}

// What is known of a process is read again after a second, then after two, up to relearnEvery.
const (
	firstRelearn = time.Second
	relearnEvery = 30 * time.Second
)

// Chosen is a process that a rule chooses.
type Chosen struct {
	procfs.Identity
	Program
	Rule *Rule
	Name string // the one of Rule.Names that it has, "" if the rule has none
}

// NewScanner returns a Scanner of the processes below root ("/proc") that one of rules chooses, the first that does,
// and none of exclude. It never chooses process self.
func NewScanner(root string, rules, exclude []Rule, self int) *Scanner {
	return &Scanner{root: root, rules: rules, exclude: exclude, self: self, known: map[int]*decision{}}
}

// Scan returns the processes that are chosen now, by ascending id. now counts from any moment. The error says that root
// cannot be listed.
func (s *Scanner) Scan(now time.Duration) ([]Chosen, error) {
	ids, err := procfs.Processes(s.root)
	if err != nil {
		return nil, err
	}
	s.round++
	var chosen []Chosen
	for _, pid := range ids {
		if pid == s.self {
			continue
		}
		if d := s.decide(pid, now); d.rule >= 0 {
			chosen = append(chosen, Chosen{procfs.Identity{PID: pid, Start: d.start}, d.runs, &s.rules[d.rule], d.name})
		}
	}
	for pid, d := range s.known {
		if d.round != s.round {
			delete(s.known, pid)
		}
	}
	return chosen, nil
}

// decide returns what is decided of a process, which is decided again when it is time, or when the id is that of
// another process now or the process runs another program. Of one that is not chosen only the time says so.
func (s *Scanner) decide(pid int, now time.Duration) *decision {
	d, met := s.known[pid]
	same := false
	if met && d.rule >= 0 && now < d.again {
		start, runs, lives := Look(s.root, pid)
		same = lives && start == d.start && runs == d.runs
	}
	switch {
	case !met:
		d = &decision{every: firstRelearn}
		s.known[pid] = d
	case d.rule >= 0 && now < d.again && !same:
		d.every = firstRelearn
	case now < d.again:
		d.round = s.round
		return d
	default:
		d.every = min(2*d.every, relearnEvery)
	}
	p := &process{root: s.root, pid: pid}
	d.rule = -1
	if !slices.ContainsFunc(s.exclude, func(r Rule) bool { return r.matches(p) }) {
		d.rule = slices.IndexFunc(s.rules, func(r Rule) bool { return r.matches(p) })
	}
	if d.start = 0; d.rule >= 0 {
		var lives bool
		if d.start, d.runs, lives = Look(s.root, pid); lives && len(p.names()) > 0 {
			d.name = s.rules[d.rule].nameOf(p)
		} else { // it has ended, or has no program
			d.rule = -1
		}
	}
	d.again, d.round = now+d.every, s.round
	return d
}

// Look reads below root ("/proc") when a process began, and what it runs now.
func Look(root string, pid int) (start uint64, runs Program, lives bool) {
	st, err := procfs.ReadStat(root, pid)
	exe, _ := os.Readlink(filepath.Join(root, strconv.Itoa(pid), "exe"))
	return st.Start, Program{exe, st.Comm}, err == nil
}

// process is what is known of a process, read when a rule first asks for it.
type process struct {
	root   string
	pid    int
	called []string
	named  bool
	uid    int
	owned  bool
	cgroup *procfs.Cgroup
}

func (p *process) names() []string {
	if !p.named {
		p.named = true
		if program, ok := procfs.ReadProgram(p.root, p.pid); ok {
			p.called = program.Names
		}
	}
	return p.called
}

// user is the effective id, -1 if it is not known.
func (p *process) user() int {
	if !p.owned {
		p.owned = true
		s, err := procfs.ParseStatus(p.read("status"))
		if p.uid = s.UIDs[1]; err != nil {
			p.uid = -1
		}
	}
	return p.uid
}

func (p *process) group() procfs.Cgroup {
	if p.cgroup == nil {
		c := procfs.ParseCgroup(p.read("cgroup"))
		p.cgroup = &c
	}
	return *p.cgroup
}

func (p *process) read(file string) []byte {
	return procfs.Read(filepath.Join(p.root, strconv.Itoa(p.pid), file), 64<<10)
}
