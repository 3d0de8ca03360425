package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/procfs"
)

// ReadFacts reads the facts about process pid from a proc file system, "/proc". It asks for nothing
// that an unprivileged reader may not; what it may not read stays unknown.
func ReadFacts(root string, pid int) *Facts {
	f := &Facts{PID: pid, FilesOwner: -1, Yama: -1}
	p := proc{root: root, dir: filepath.Join(root, strconv.Itoa(pid)), own: filepath.Join(root, "self")}
	own, _ := p.status(p.own)
	f.us(p, &own)
	target, ok := p.status(p.dir)
	f.Exists, f.TargetUID, f.Tracer = ok, target.UIDs[0], target.TracerPid
	if ok {
		f.them(p, &own, &target)
	}
	return f
}

// us reads what is known of ourselves and of the system.
func (f *Facts) us(p proc, own *procfs.Status) {
	f.OwnUID, f.Caps, f.Seccomp = own.UIDs[1], own.CapEff, own.Seccomp
	f.OwnLSM = p.label(p.own)
	f.Release = p.line(filepath.Join(p.root, "sys/kernel/osrelease"))
	f.InitialUserNS = p.initialUserNS()
	if scope, err := strconv.Atoi(p.line(filepath.Join(p.root, "sys/kernel/yama/ptrace_scope"))); err == nil {
		f.Yama = scope
	}
	f.HidePID = hidesProcesses(string(procfs.Read(filepath.Join(p.own, "mountinfo"), 1<<20)))
}

// them reads what is known of the process.
func (f *Facts) them(p proc, own, target *procfs.Status) {
	f.Comm = target.Name
	f.Self = own.TGID >= 0 && own.TGID == target.TGID
	ended := target.State == 'Z' || target.State == 'X'
	f.Zombie = ended && p.threads() <= 1 // a leader may end before its threads
	f.Parent = target.Parent
	f.Kernel = target.Kthread == 1 || target.Kthread < 0 && !target.Memory && !ended && f.Parent <= 2
	f.Dumping = target.CoreDumping
	f.IDsDiffer = differ(target.UIDs, own.UIDs[0]) || differ(target.GIDs, own.GIDs[0])
	f.IDsMixed = differ(target.UIDs, target.UIDs[0]) || differ(target.GIDs, target.GIDs[0])
	f.MoreCaps = target.CapPrm&^f.Caps != 0
	f.Dumpable = p.dumpable(target.UIDs[1])
	if owner, ok := ownerOf(filepath.Join(p.dir, "stat")); ok {
		f.FilesOwner = owner
	}
	f.UserNS, f.PIDNS = p.sameUserNS(), p.same("pid")
	f.TargetLSM = p.label(p.dir)
	f.Mutual = own.TracerPid >= 0 && own.TracerPid == target.PID
	if f.Tracer > 0 {
		f.TracerName = p.line(filepath.Join(p.root, strconv.Itoa(f.Tracer), "comm"))
	}
	f.Descendant = p.descends(f.PID, own.TGID)
}

// proc is one proc file system, with the folders of the process and of ourselves.
type proc struct{ root, dir, own string }

// line reads a file of one line.
func (p proc) line(path string) string { return strings.TrimSpace(string(procfs.Read(path, 256))) }

// status reads a status file; it is false if there is none, and its numbers are -1 then.
func (p proc) status(dir string) (procfs.Status, bool) {
	st, err := procfs.ParseStatus(procfs.Read(filepath.Join(dir, "status"), 64<<10))
	return st, err == nil
}

// label is the security label of the process in dir.
func (p proc) label(dir string) string {
	return strings.TrimRight(string(procfs.Read(filepath.Join(dir, "attr/current"), 4096)), "\x00\n")
}

// same reports whether the process is in our namespace of that kind, nil if one cannot be read.
func (p proc) same(kind string) *bool {
	ours, err := os.Readlink(filepath.Join(p.own, "ns", kind))
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

// sameUserNS reports whether the process is in our user namespace. Who may not trace it may not
// read the link either; anybody may read how its ids are mapped, and maps that differ are of two
// namespaces.
func (p proc) sameUserNS() *bool {
	if same := p.same("user"); same != nil {
		return same
	}
	if p.uidMap(p.own) == p.uidMap(p.dir) {
		return nil
	}
	no := false
	return &no
}

// uidMap is how the user namespace of the process in dir maps ids; user_namespaces(7).
func (p proc) uidMap(dir string) string {
	return strings.Join(strings.Fields(string(procfs.Read(filepath.Join(dir, "uid_map"), 64<<10))), " ")
}

// initialUser is what the link of the machine's user namespace reads. Others may map ids as it does, and none has its
// number. Source: PROC_USER_INIT_INO in linux/include/linux/proc_ns.h.
const initialUser = "user:[4026531837]"

// initialUserNS reports whether our user namespace is that of the machine, nil if that was not to be had.
func (p proc) initialUserNS() *bool {
	ours, err := os.Readlink(filepath.Join(p.own, "ns/user"))
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
// that is not dumpable to root. It is nil where that shows nothing.
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

// descends reports whether us is an ancestor of pid.
func (p proc) descends(pid, us int) *bool {
	found := false
	for range maxAncestors {
		status, _ := p.status(filepath.Join(p.root, strconv.Itoa(pid)))
		if status.Parent < 0 {
			return nil
		}
		pid = status.Parent
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

// differ reports whether the real, effective or saved id is not own.
func differ(ids [4]int, own int) bool { return ids[0] != own || ids[1] != own || ids[2] != own }

// String is for a person who reads a test's complaint.
func (g Gate) String() string { return fmt.Sprintf("%s %s: %s", g.Name, g.State, g.Says) }
