package doctor

import (
	"errors"

	"github.com/fpstack/fpstack/tests/harness"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func truth(b bool) *bool { return &b }

// ordinary is a process of the same user that nothing keeps us from.
func ordinary() *Facts {
	return &Facts{PID: 7, Comm: "victim", Exists: true, OwnUID: 1000, TargetUID: 1000, Dumpable: truth(true), Yama: 0,
		UserNS: truth(true), PIDNS: truth(true), Release: "6.1.0-18-amd64"}
}

func TestEachGateRefusesByItself(t *testing.T) {
	const sysPtrace = 1 << 19
	for name, c := range map[string]struct {
		change func(f *Facts)
		gate   string // "": all are open
		state  State
		remedy string
	}{
		"nothing is in the way": {func(f *Facts) {}, "", Open, ""},
		"no such process":       {func(f *Facts) { f.Exists = false }, "process", Closed, "pid namespace"},
		"ourselves":             {func(f *Facts) { f.Self = true }, "process", Closed, "second fpstack"},
		"zombie":                {func(f *Facts) { f.Zombie, f.Parent = true, 42 }, "process", Closed, "42"},
		"thread of the kernel":  {func(f *Facts) { f.Kernel = true }, "process", Closed, "/proc/7/stack"},
		"dumping core":          {func(f *Facts) { f.Dumping = true }, "process", Closed, "core file"},
		"Linux 3.2":             {func(f *Facts) { f.Release = "3.2.0" }, "kernel", Closed, "3.4"},
		"Linux 2.6.32":          {func(f *Facts) { f.Release = "2.6.32-5" }, "kernel", Closed, "3.4"},
		"release not known":     {func(f *Facts) { f.Release = "" }, "kernel", Unknown, ""},
		"filter that refuses ptrace": {func(f *Facts) { f.Seccomp, f.PtraceRefused = 2, truth(true) }, "seccomp",
			Closed, "cap_sys_ptrace"},
		"filter that allows it": {func(f *Facts) { f.Seccomp, f.PtraceRefused = 2, truth(false) },
			"", Open, ""},
		"filter that was not tried": {func(f *Facts) { f.Seccomp = 2 }, "seccomp", Unknown, ""},
		"hidden": {func(f *Facts) { f.Exists, f.Hidden, f.HidePID = false, true, true },
			"hidepid", Closed, "gid="},
		"not in this /proc": {func(f *Facts) { f.Exists, f.Hidden = false, true }, "hidepid", Closed,
			"mount -t proc"},
		"another user": {func(f *Facts) { f.TargetUID, f.IDsDiffer = 33, true }, "uid",
			Closed, "sudo"},
		"another user, we have the right": {func(f *Facts) { f.TargetUID, f.IDsDiffer, f.Caps = 33, true, sysPtrace },
			"", Open, ""},
		"another group alone":   {func(f *Facts) { f.IDsDiffer = true }, "uid", Closed, "sudo"},
		"setuid, started by us": {func(f *Facts) { f.IDsDiffer, f.IDsMixed = true, true }, "uid", Closed, "setcap"},
		"setuid, started by another": {func(f *Facts) { f.TargetUID, f.IDsDiffer, f.IDsMixed = 33, true, true }, "uid",
			Closed, "setcap"},
		"another user namespace": {func(f *Facts) { f.UserNS = truth(false) }, "user namespace", Unknown,
			"nsenter"},
		"another user namespace, refused": {func(f *Facts) { f.UserNS, f.Refused = truth(false), true },
			"user namespace", Closed, "nsenter"},
		"another, and we are root in ours": {func(f *Facts) {
			f.UserNS, f.InitialUserNS, f.Caps, f.OwnUID, f.TargetUID = truth(false), truth(false), sysPtrace, 0, 0
		}, "user namespace", Unknown, "nsenter"},
		"namespace below, seen by root of the machine": {func(f *Facts) {
			f.UserNS, f.InitialUserNS, f.Caps, f.OwnUID, f.TargetUID, f.IDsDiffer, f.MoreCaps = truth(false),
				truth(true), sysPtrace, 0, 33, true, true
		}, "", Open, ""},
		"an identity map is not the machine's namespace": {func(f *Facts) {
			f.UserNS, f.InitialUserNS, f.Caps, f.OwnUID, f.TargetUID, f.Refused = nil, truth(false),
				sysPtrace, 0, 0, true
		}, "user namespace", Closed, "nsenter"},
		"files of another user, we have the right": {func(f *Facts) {
			f.TargetUID, f.FilesOwner, f.IDsDiffer, f.Caps = 33, 33, true, sysPtrace
		}, "", Open, ""},
		"and process_vm_readv is refused": {func(f *Facts) {
			f.TargetUID, f.FilesOwner, f.IDsDiffer, f.Caps, f.Refused, f.CallRefused = 33, 33, true,
				sysPtrace, true, true
		}, "files of /proc", Closed, "cap_dac_read_search"},
		"and it is, but files may be read": {func(f *Facts) {
			f.TargetUID, f.FilesOwner, f.IDsDiffer, f.Caps, f.CallRefused = 33, 33, true, sysPtrace|1<<2, true
		}, "", Open, ""},
		"whose its files are is not known": {func(f *Facts) { f.FilesOwner = -1 }, "files of /proc", Unknown, ""},
		"user namespace not known":         {func(f *Facts) { f.UserNS = nil }, "user namespace", Unknown, ""},
		"more capabilities in a namespace below": {func(f *Facts) { f.UserNS, f.MoreCaps = truth(false), true },
			"user namespace", Unknown, "nsenter"},
		"not dumpable": {func(f *Facts) { f.Dumpable = truth(false) }, "dumpable", Closed, "sudo"},
		"not dumpable, we have the right": {func(f *Facts) { f.Dumpable, f.Caps = truth(false), sysPtrace },
			"", Open, ""},
		"more capabilities than we": {func(f *Facts) { f.MoreCaps = true }, "capabilities of the process",
			Closed, "sudo"},
		"Yama 1":                         {func(f *Facts) { f.Yama = 1 }, "Yama", Closed, "ptrace_scope=0"},
		"Yama 1 with our own descendant": {func(f *Facts) { f.Yama, f.Descendant = 1, truth(true) }, "", Open, ""},
		"Yama 1, we have the right":      {func(f *Facts) { f.Yama, f.Caps = 1, sysPtrace }, "", Open, ""},
		"Yama 2":                         {func(f *Facts) { f.Yama = 2 }, "Yama", Closed, "cap_sys_ptrace+ep"},
		"Yama 3, even with the right":    {func(f *Facts) { f.Yama, f.Caps = 3, sysPtrace }, "Yama", Closed, "boot"},
		"no Yama":                        {func(f *Facts) { f.Yama = -1 }, "", Open, ""},
		"label that confines us": {func(f *Facts) { f.OwnLSM = "docker-default (enforce)" },
			"security module", Unknown, "profile docker-default needs the rule"},
		"the same label on both": {func(f *Facts) {
			f.OwnLSM, f.TargetLSM = "docker-default (enforce)",
				"docker-default (enforce)"
		}, "security module", Unknown, "journalctl -k"},
		"a label that refuses nothing": {func(f *Facts) { f.OwnLSM = "usr.bin.fpstack (complain)" }, "", Open, ""},
		"a label of SELinux": {func(f *Facts) { f.OwnLSM = "system_u:system_r:container_t:s0:c1,c2" },
			"security module", Unknown, "ausearch"},
		"one that confines nobody": {func(f *Facts) {
			f.OwnLSM = "unconfined_u:unconfined_r:unconfined_t:s0"
		}, "", Open, ""},
		"a label of the process alone": {func(f *Facts) {
			f.OwnLSM, f.TargetLSM = "unconfined", "guarded (enforce)"
		}, "", Open, ""},
		"it traces us": {func(f *Facts) { f.Mutual = true }, "tracer", Closed, "another one"},
		"traced by another": {func(f *Facts) { f.Tracer, f.TracerName = 99, "gdb" }, "tracer",
			Closed, "99"},
		"whether it is traced is not known": {func(f *Facts) { f.Tracer = -1 }, "tracer", Unknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			f := ordinary()
			c.change(f)
			state, gate := Verdict(Judge(f, Shell))
			if state != c.state || (gate == nil) != (c.gate == "") || gate != nil && gate.Name != c.gate {
				t.Fatalf("verdict %v by %v, want %v by %q", state, gate, c.state, c.gate)
			}
			if gate != nil && (!strings.Contains(gate.Remedy, c.remedy) || gate.State == Closed && gate.Remedy == "") {
				t.Errorf("remedy %q, want one with %q", gate.Remedy, c.remedy)
			}
		})
	}
}

func TestRemediesFitThePlace(t *testing.T) {
	none := func(string) bool { return false }
	for name, c := range map[string]struct {
		env    map[string]string
		exists func(string) bool
		place  Place
		want   string
	}{
		"a shell":        {nil, none, Shell, "setcap"},
		"Docker":         {nil, func(p string) bool { return p == "/.dockerenv" }, Container, "--cap-add SYS_PTRACE"},
		"Podman":         {map[string]string{"container": "podman"}, none, Container, "--cap-add SYS_PTRACE"},
		"Kubernetes":     {map[string]string{"KUBERNETES_SERVICE_HOST": "10.0.0.1"}, none, Kubernetes, "kubectl debug"},
		"systemd":        {map[string]string{"INVOCATION_ID": "x"}, none, Service, "AmbientCapabilities"},
		"GitHub Actions": {map[string]string{"GITHUB_ACTIONS": "true", "SHLVL": "1"}, none, GitHubActions, "options:"},
	} {
		place := PlaceFrom(func(k string) string { return c.env[k] }, c.exists)
		f := ordinary()
		f.Seccomp, f.PtraceRefused = 2, truth(true)
		_, gate := Verdict(Judge(f, place))
		if place != c.place || gate == nil || !strings.Contains(gate.Remedy, c.want) {
			t.Errorf("%s: place %v, gate %v with remedy %q, want %v and %q", name, place, gate, gate.Remedy,
				c.place, c.want)
		}
	}
	if len(AllPlaces()) != int(GitHubActions)+1 {
		t.Errorf("%d places have advice", len(AllPlaces()))
	}
}

// TestRightHelps: CAP_SYS_PTRACE is recommended to those who lack it, and for a process that is there.
func TestRightHelps(t *testing.T) {
	const sysPtrace = 1 << 19
	for name, c := range map[string]struct {
		change func(f *Facts)
		want   bool
	}{
		"another user's": {func(f *Facts) { f.TargetUID, f.IDsDiffer = 33, true }, true},
		"refused without a reason that shows, and we have it": {func(f *Facts) { f.Caps = sysPtrace }, false},
		"a filter on ptrace, and we have it": {func(f *Facts) {
			f.Caps, f.Seccomp, f.PtraceRefused = sysPtrace, 2, truth(true)
		}, true},
		"no such process": {func(f *Facts) { f.Exists = false }, false},
	} {
		f := ordinary()
		f.Refused = true
		c.change(f)
		gates := Judge(f, Shell)
		if RightHelps(gates) != c.want {
			t.Errorf("%s: %v, want %v: %v", name, !c.want, c.want, gates)
		}
		if state, _ := Verdict(gates); state != Closed {
			t.Errorf("%s: refused, and no gate is closed: %v", name, gates)
		}
	}
}

func TestLookReadsWhatProcSays(t *testing.T) {
	root := harness.Tree(t, map[string]string{
		"self/status": "Name:\tfpstack\nTgid:\t50\nPPid:\t40\nUid:\t1000\t1000\t1000\t1000\n" +
			"Gid:\t1000\t1000\t1000\t1000\nCapEff:\t0000000000080000\nSeccomp:\t2\n",
		"self/attr/current":            "docker-default (enforce)\n",
		"self/ns/user":                 "->user:[4026531837]",
		"self/ns/pid":                  "->pid:[1]",
		"self/mountinfo":               "22 1 0:20 / /proc rw shared:5 - proc proc rw,hidepid=invisible\n",
		"sys/kernel/osrelease":         "5.10.0-28-amd64\n",
		"sys/kernel/yama/ptrace_scope": "1\n",
		"60/status": "Name:\tvictim\nState:\tS (sleeping)\nTgid:\t60\nPPid:\t50\nTracerPid:\t99\n" +
			"Uid:\t1000\t1000\t0\t1000\nGid:\t1000\t1000\t1000\t1000\nVmSize:\t 1 kB\nCapPrm:\t0000000000000001\n" +
			"CoreDumping:\t0\n",
		"60/stat":         "",
		"60/ns/user":      "->user:[2]",
		"60/ns/pid":       "->pid:[1]",
		"60/attr/current": "unconfined\x00",
		"99/comm":         "gdb\n",
		"2/status":        "Name:\tkthreadd\nState:\tS\nTgid:\t2\nPPid:\t0\nUid:\t0 0 0 0\nGid:\t0 0 0 0\n",
		"62/status": "Name:\tleaderless\nState:\tZ (zombie)\nTgid:\t62\nPid:\t62\nPPid:\t1\n" +
			"Uid:\t1000\t1000\t1000\t1000\nGid:\t1000\t1000\t1000\t1000\n",
		"62/task/62/stat": "", "62/task/63/stat": "",
		"62/uid_map":   "         0       1000          1\n",
		"self/uid_map": "         0          0 4294967295\n",
		"61/status": "Name:\tdone\nState:\tZ (zombie)\nTgid:\t61\nPPid:\t44\nUid:\t1000\t1000\t1000\t1000\n" +
			"Gid:\t1000\t1000\t1000\t1000\n",
	})
	f := ReadFacts(root, 60)
	if !f.Exists || f.Comm != "victim" || f.OwnUID != 1000 || f.TargetUID != 1000 || !f.IDsDiffer || !f.IDsMixed ||
		f.Caps != 1<<19 || !f.MoreCaps ||
		f.Yama != 1 || f.Seccomp != 2 || f.OwnLSM != "docker-default (enforce)" || f.TargetLSM != "unconfined" ||
		f.Tracer != 99 ||
		f.TracerName != "gdb" || f.Release != "5.10.0-28-amd64" || !f.HidePID || f.Zombie || f.Kernel ||
		f.Dumping || f.Self {
		t.Errorf("facts %+v", f)
	}
	if f.UserNS == nil || *f.UserNS || f.PIDNS == nil || !*f.PIDNS || f.Descendant == nil || !*f.Descendant {
		t.Errorf("namespaces %v %v, descends %v", f.UserNS, f.PIDNS, f.Descendant)
	}
	if f := ReadFacts(root, 2); !f.Kernel {
		t.Errorf("kthreadd: %+v", f)
	}
	if f := ReadFacts(root, 61); !f.Zombie || f.Parent != 44 || f.Kernel {
		t.Errorf("zombie: %+v", f)
	}
	if f := ReadFacts(root, 62); f.Zombie || f.Kernel || f.UserNS == nil || *f.UserNS || f.InitialUserNS == nil ||
		!*f.InitialUserNS {
		t.Errorf("a leader that ended before its threads, in a user namespace that may be known by its map alone: %+v",
			f)
	}
	if err := errors.Join(os.Remove(filepath.Join(root, "self/ns/user")),
		os.Symlink("user:[4026532001]", filepath.Join(root, "self/ns/user"))); err != nil {
		t.Fatal(err)
	}
	if f := ReadFacts(root, 62); f.InitialUserNS == nil || *f.InitialUserNS {
		t.Errorf("another user namespace that maps ids as the machine's does: %+v", f)
	}
	if f := ReadFacts(root, 1234); f.Exists {
		t.Errorf("no process: %+v", f)
	}
	if f := ReadFacts(filepath.Join(root, "none"), 60); f.Exists || f.Yama != -1 || f.Seccomp != -1 || f.OwnUID != -1 {
		t.Errorf("no proc: %+v", f)
	}
}

func TestHidesProcessesTakesTheLastMount(t *testing.T) {
	for text, want := range map[string]bool{
		"":                                      false,
		"22 1 0:20 / /proc rw - proc proc rw\n": false,
		"22 1 0:20 / /proc rw - proc proc rw,gid=3,hidepid=2\n":                                           true,
		"22 1 0:20 / /proc rw - proc proc rw,hidepid=2\n23 22 0:21 / /proc rw - proc proc rw,hidepid=0\n": false,
		"22 1 0:20 / /mnt rw - proc proc rw,hidepid=2\n":                                                  false,
	} {
		if got := hidesProcesses(text); got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestCulpritIsNeverNothing(t *testing.T) {
	for name, c := range map[string]struct {
		change func(f *Facts)
		gate   string
		remedy string
	}{
		"a gate that is closed": {func(f *Facts) { f.Yama = 2 }, "Yama", "sudo"},
		"one that is not known, with a remedy": {func(f *Facts) { f.OwnLSM = "docker-default (enforce)" },
			"security module", "AppArmor may have refused"},
		"one that is not known, without remedy": {func(f *Facts) { f.Dumpable = nil }, "answer", "cap_sys_ptrace"},
		"all are open":                          {func(f *Facts) {}, "answer", "cap_sys_ptrace"},
	} {
		f := ordinary()
		f.Refused = true
		c.change(f)
		if g := Culprit(f, Shell); g.Name != c.gate || g.Says == "" || !strings.Contains(g.Remedy, c.remedy) {
			t.Errorf("%s: %v with remedy %q, want %q and %q", name, g, g.Remedy, c.gate, c.remedy)
		}
	}
}

// TestNobodyBecomesWhoTheyAre: where another user would be refused as well no remedy is to be one, in any place.
func TestNobodyBecomesWhoTheyAre(t *testing.T) {
	for name, change := range map[string]func(f *Facts){
		"setuid, started by us":      func(f *Facts) { f.IDsDiffer, f.IDsMixed = true, true },
		"setuid, started by another": func(f *Facts) { f.TargetUID, f.IDsDiffer, f.IDsMixed = 33, true, true },
		"another group":              func(f *Facts) { f.IDsDiffer = true },
		"not dumpable":               func(f *Facts) { f.Dumpable = truth(false) },
		"Yama 2":                     func(f *Facts) { f.Yama = 2 },
	} {
		for place := Shell; place <= GitHubActions; place++ {
			f := ordinary()
			f.OwnUID, f.TargetUID = 65534, 65534
			change(f)
			_, gate := Verdict(Judge(f, place))
			if gate == nil || gate.State != Closed || gate.Remedy != place.allowPtrace() {
				t.Errorf("%s, %s: got %+v, want the remedy %q", name, place, gate, place.allowPtrace())
			}
		}
	}
}
