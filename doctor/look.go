package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Look reads the facts about process pid from a proc file system, "/proc". It asks for nothing
// that an unprivileged reader may not; what it may not read stays unknown.
func Look(root string, pid int) *Facts {
	f := &Facts{PID: pid, OwnUID: -1, TargetUID: -1, FilesOwner: -1, Yama: -1, Seccomp: -1, Tracer: -1}
	p := proc{root: root, dir: filepath.Join(root, strconv.Itoa(pid))}
	own := p.status(filepath.Join(root, "self"))
	f.us(p, own)
	target := p.status(p.dir)
	f.Exists = len(target) > 0
	if !f.Exists {
		return f
	}
	f.them(p, own, target)
	return f
}

// us reads what is known of ourselves and of the system.
func (f *Facts) us(p proc, own map[string]string) {
	f.OwnUID = firstNumber(own["Uid"], 1)
	f.Caps, _ = strconv.ParseUint(own["CapEff"], 16, 64)
	if s, ok := own["Seccomp"]; ok {
		f.Seccomp = firstNumber(s, 0)
	}
	f.OwnLSM = p.label(filepath.Join(p.root, "self"))
	f.Release = strings.TrimSpace(p.read(filepath.Join(p.root, "sys/kernel/osrelease"), 256))
	f.InitialUserNS = p.initialUserNS()
	if s := strings.TrimSpace(p.read(filepath.Join(p.root, "sys/kernel/yama/ptrace_scope"), 64)); s != "" {
		f.Yama = firstNumber(s, 0)
	}
	f.HidePID = hidesProcesses(p.read(filepath.Join(p.root, "self/mountinfo"), 1<<20))
}

// them reads what is known of the process.
func (f *Facts) them(p proc, own, target map[string]string) {
	f.Comm = target["Name"]
	f.Self = own["Tgid"] != "" && own["Tgid"] == target["Tgid"]
	state := strings.TrimSpace(target["State"])
	ended := strings.HasPrefix(state, "Z") || strings.HasPrefix(state, "X")
	f.Zombie = ended && p.threads() <= 1 // a leader may end before its threads
	f.Parent = firstNumber(target["PPid"], 0)
	f.Kernel = target["Kthread"] == "1" || target["Kthread"] == "" && target["VmSize"] == "" && !ended && f.Parent <= 2
	f.Dumping = target["CoreDumping"] == "1"
	f.TargetUID = firstNumber(target["Uid"], 0)
	f.IDsDiffer = differ(target["Uid"], firstNumber(own["Uid"], 0)) || differ(target["Gid"], firstNumber(own["Gid"], 0))
	permitted, _ := strconv.ParseUint(target["CapPrm"], 16, 64)
	f.MoreCaps = permitted&^f.Caps != 0
	f.Dumpable = p.dumpable(firstNumber(target["Uid"], 1))
	if owner, ok := ownerOf(filepath.Join(p.dir, "stat")); ok {
		f.FilesOwner = owner
	}
	f.UserNS, f.PIDNS = p.sameUserNS(), p.same("pid")
	f.TargetLSM = p.label(p.dir)
	f.Tracer = firstNumber(target["TracerPid"], 0)
	f.Mutual = own["TracerPid"] != "" && own["TracerPid"] == target["Pid"]
	if f.Tracer > 0 {
		f.TracerName = strings.TrimSuffix(p.read(filepath.Join(p.root, strconv.Itoa(f.Tracer), "comm"), 64), "\n")
	}
	f.Descendant = p.descends(f.PID, firstNumber(own["Tgid"], 0))
}

// proc reads one proc file system.
type proc struct{ root, dir string }

// read returns at most limit bytes of a file, "" if it cannot be read.
func (p proc) read(path string, limit int64) string {
	file, err := os.Open(path)
	if err != nil {
		return ""
	}
	defer file.Close()
	b := make([]byte, limit)
	n := 0
	for n < len(b) {
		m, err := file.Read(b[n:])
		n += m
		if err != nil || m == 0 {
			break
		}
	}
	return string(b[:n])
}

// status reads the fields of a status file; proc_pid_status(5).
func (p proc) status(dir string) map[string]string {
	fields := map[string]string{}
	for line := range strings.Lines(p.read(filepath.Join(dir, "status"), 64<<10)) {
		if name, value, ok := strings.Cut(line, ":"); ok {
			fields[name] = strings.TrimSpace(value)
		}
	}
	return fields
}

// label is the security label of the process in dir.
func (p proc) label(dir string) string {
	return strings.TrimRight(p.read(filepath.Join(dir, "attr/current"), 4096), "\x00\n")
}

// same tells whether the process is in our namespace of that kind, nil if one cannot be read.
func (p proc) same(kind string) *bool {
	ours, err := os.Readlink(filepath.Join(p.root, "self/ns", kind))
	if err != nil {
		return nil
	}
	theirs, err := os.Readlink(filepath.Join(p.dir, "ns", kind))
	if err != nil {
		return nil
	}
	same := ours == theirs
	return &same
}

// sameUserNS tells whether the process is in our user namespace. Who may not look into it may not
// read the link either; anybody may read how its ids are mapped, and maps that differ are of two
// namespaces.
func (p proc) sameUserNS() *bool {
	if same := p.same("user"); same != nil {
		return same
	}
	ours, theirs := p.uidMap(filepath.Join(p.root, "self")), p.uidMap(p.dir)
	if ours == theirs {
		return nil
	}
	no := false
	return &no
}

// uidMap is how the user namespace of the process in dir maps ids; user_namespaces(7).
func (p proc) uidMap(dir string) string {
	return strings.Join(strings.Fields(p.read(filepath.Join(dir, "uid_map"), 64<<10)), " ")
}

// initialUser is what the link of the machine's user namespace reads. Others may map ids as it does, and none has its number.
// Source: PROC_USER_INIT_INO in linux/include/linux/proc_ns.h.
const initialUser = "user:[4026531837]"

// initialUserNS tells whether our user namespace is that of the machine, nil if that was not to be had.
func (p proc) initialUserNS() *bool {
	ours, err := os.Readlink(filepath.Join(p.root, "self/ns/user"))
	if err != nil {
		return nil
	}
	yes := ours == initialUser
	return &yes
}

// threads counts the threads of the process.
func (p proc) threads() int {
	entries, err := os.ReadDir(filepath.Join(p.dir, "task"))
	if err != nil {
		return 0
	}
	return len(entries)
}

// dumpable reads the attribute from the owner of a file: the kernel gives the files of a process
// that is not dumpable to root. It is nil where that tells nothing.
// Source: task_dump_owner in linux/fs/proc/base.c.
func (p proc) dumpable(euid int) *bool {
	owner, ok := ownerOf(filepath.Join(p.dir, "stat"))
	if euid <= 0 || !ok {
		return nil
	}
	yes := owner == euid
	return &yes
}

// maxAncestors bounds the way up to the first process.
const maxAncestors = 1 << 12

// descends tells whether us is an ancestor of pid.
func (p proc) descends(pid, us int) *bool {
	found := false
	for range maxAncestors {
		status := p.status(filepath.Join(p.root, strconv.Itoa(pid)))
		parent, ok := status["PPid"]
		if !ok {
			return nil
		}
		pid = firstNumber(parent, 0)
		if pid <= 1 || pid == us {
			found = pid == us && us > 0
			break
		}
	}
	return &found
}

// hidesProcesses reads mountinfo(5): whether proc is mounted with hidepid at /proc.
func hidesProcesses(mountinfo string) bool {
	hides := false
	for line := range strings.Lines(mountinfo) {
		fields := strings.Fields(line)
		if len(fields) < 6 || fields[4] != "/proc" {
			continue
		}
		hides = false // the last mount there counts
		for _, option := range strings.Split(fields[len(fields)-1], ",") {
			value, ok := strings.CutPrefix(option, "hidepid=")
			hides = hides || ok && value != "0" && value != "off"
		}
	}
	return hides
}

// firstNumber is the field with index i of text, -1 if it is no number.
func firstNumber(text string, i int) int {
	fields := strings.Fields(text)
	if i >= len(fields) {
		return -1
	}
	n, err := strconv.Atoi(fields[i])
	if err != nil {
		return -1
	}
	return n
}

// differ tells whether the real, effective or saved id of the four in text is not own.
func differ(text string, own int) bool {
	for i := range 3 {
		if firstNumber(text, i) != own {
			return true
		}
	}
	return false
}

// String is for a person who reads a test's complaint.
func (g Gate) String() string { return fmt.Sprintf("%s %s: %s", g.Name, g.State, g.Says) }
