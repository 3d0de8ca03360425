package perprocess

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push/otlp"
)

// two is a recording of two processes: 10 with threads of these names, and 20, a script.
func two(threads ...string) *profile.Profile {
	b := profile.NewBuilder(profile.SamplesCount, profile.WallTime, profile.CPUTime)
	p := b.Profile()
	p.Start, p.Duration, p.Period, p.PeriodType = time.Unix(100, 0), time.Second, time.Millisecond, profile.WallTime
	p.Modules = []profile.Module{{Path: "/bin/app", BuildID: "ab", Base: 0x400000, Start: 0x400000, End: 0x500000},
		{Path: "/bin/python3", BuildID: "cd", Base: 0x600000, Start: 0x600000, End: 0x700000}}
	work := b.Child(0, b.Frame(profile.Frame{Func: "work", Module: 0, Addr: 0x401000, ModuleAddr: 0x1000}))
	call := b.Child(0, b.Frame(profile.Frame{Func: "eval", Module: 1, Addr: 0x601000, ModuleAddr: 0x1000}))
	for i, name := range threads {
		b.Add(work, b.Task(profile.Task{PID: 10, TID: 100 + i, Process: "app", Thread: name}), 1, 10, 5)
	}
	b.Add(call, b.Task(profile.Task{PID: 20, TID: 20, Process: "python3", Thread: "python3"}), 2, 20, 0)
	return p
}

func identities(process procfs.Identity) Identity {
	return map[int]Identity{10: {Service: "shop", Exe: "/bin/app", Container: "c0ffee", Pod: "uid"},
		20: {Exe: "/bin/python3"}}[process.PID]
}

// TestIDGivenAgain: two processes that had one id are two.
func TestIDGivenAgain(t *testing.T) {
	p := two("app", "app")
	p.Tasks[0].Began, p.Tasks[1].Began = 5, 7
	var asked []procfs.Identity
	all, err := Recorded(p, &Options{Identity: func(process procfs.Identity) Identity {
		asked = append(asked, process)
		return Identity{Service: fmt.Sprint(process.Start)}
	}})
	if err != nil || len(all) != 3 || fmt.Sprint(asked) != "[{10 5} {10 7} {20 0}]" {
		t.Fatalf("%d profiles of %v: %v", len(all), asked, err)
	}
	for i, want := range []string{"5", "7", "0"} {
		if got := all[i].Attributes[0].Value; got != want || len(all[i].Of.Sample) != 1 {
			t.Errorf("profile %d is of %q with %d samples, want %q and one", i, got, len(all[i].Of.Sample), want)
		}
	}
}

// TestRecorded: each process has its own samples and attributes, without ids; threads of one name are one.
func TestRecorded(t *testing.T) {
	labels := []otlp.Attribute{{Key: "team", Value: "x"}}
	all, err := Recorded(two("worker", "worker", "main"), &Options{Version: "v1", Host: Host{"vm", "node-1"},
		Labels: labels, Identity: identities})
	if err != nil || len(all) != 2 {
		t.Fatal(all, err)
	}
	want := "[{service.name shop false} {process.executable.name app false} {host.name vm false} " +
		"{container.id c0ffee false} {k8s.pod.uid uid false} {k8s.node.name node-1 false} {team x false}]"
	if got := fmt.Sprint(all[0].Attributes); got != want {
		t.Errorf("attributes %s", got)
	}
	if got := fmt.Sprint(all[1].Attributes[0]); got != "{service.name python3 false}" {
		t.Errorf("attributes %s", got)
	}
	app := all[0].Of
	if len(app.Sample) != 2 || len(app.Mapping) != 1 || app.Mapping[0].File != "/bin/app" {
		t.Fatalf("profile of the first: %v", app)
	}
	var threads []string
	var sum int64
	for _, s := range app.Sample {
		sum += s.Value[slices.IndexFunc(app.SampleType, func(v *pprof.ValueType) bool { return v.Type == "cpu" })]
		threads = append(threads, s.Label["thread"]...)
		for name := range s.Label {
			if strings.HasSuffix(name, "_id") {
				t.Errorf("label %s", name)
			}
		}
	}
	slices.Sort(threads)
	if sum != 15 || fmt.Sprint(threads) != "[main worker]" {
		t.Errorf("cpu %d of threads %q, want 15", sum, threads)
	}
	if base, ok := all[0].Base(app.Mapping[0]); !ok || base != 0x400000 {
		t.Errorf("base %#x, %v", base, ok)
	}
	if len(all[0].IDs) != 2 || all[0].IDs[0] == all[1].IDs[0] || all[0].IDs[0] == all[0].IDs[1] {
		t.Errorf("ids %x, %x", all[0].IDs, all[1].IDs)
	}
}

// TestServiceLabel: a service that the user gives is that of all.
func TestServiceLabel(t *testing.T) {
	all, err := Recorded(two("main"), &Options{Labels: []otlp.Attribute{{Key: "service.name", Value: "mine"}},
		Identity: identities})
	if err != nil || len(all) != 2 {
		t.Fatal(err)
	}
	for _, r := range all {
		if r.Attributes[0].Value != "mine" || len(r.Attributes) > 4 {
			t.Errorf("attributes %v", r.Attributes)
		}
	}
}

// TestManyThreadNames: names of threads stay few, and no sample is lost for it.
func TestManyThreadNames(t *testing.T) {
	var numbered, random []string
	for i := range 200 {
		numbered = append(numbered, fmt.Sprintf("pool-%d-thread-%d", i/10, i))
		random = append(random, strings.Repeat("x", i%50+1)+string(rune('a'+i/50)))
	}
	for _, c := range []struct {
		names []string
		want  string
	}{{numbered, "pool-#-thread-#"}, {random, ""}} {
		all, err := Recorded(two(c.names...), &Options{Identity: identities})
		if err != nil {
			t.Fatal(err)
		}
		s := all[0].Of.Sample
		if len(s) != 1 || strings.Join(s[0].Label["thread"], "") != c.want {
			t.Errorf("%d samples, labels %v, want %q", len(s), s[0].Label, c.want)
			continue
		}
		if n := s[0].Value[0]; n != 200 {
			t.Errorf("%d samples of 200", n)
		}
	}
}

// TestIdentify: who a process is, from files as /proc has them.
func TestIdentify(t *testing.T) {
	root := t.TempDir()
	id := strings.Repeat("0123456789abcdef", 4)
	for _, c := range []struct {
		pid, cgroup, exe string
		want             Identity
	}{
		{"1", "0::/system.slice/nginx.service\n", "/usr/sbin/nginx",
			Identity{Service: "nginx", Exe: "/usr/sbin/nginx"}},
		{"2", "0::/user.slice/user-0.slice/user@0.service/app.slice/x.service\n", "/bin/x (deleted)",
			Identity{Exe: "/bin/x"}},
		{"3", "0::/system.slice/docker-" + id + ".scope\n", "", Identity{Container: id}},
		{"4", "0::/kubepods.slice/kubepods-pod01234567_89ab_cdef_0123_456789abcdef.slice/" +
			"cri-containerd-" + id + ".scope\n",
			"/app", Identity{Exe: "/app", Container: id, Pod: "01234567-89ab-cdef-0123-456789abcdef"}},
		{"5", "", "", Identity{}},
	} {
		dir := filepath.Join(root, c.pid)
		os.Mkdir(dir, 0o700)
		if c.cgroup != "" {
			os.WriteFile(filepath.Join(dir, "cgroup"), []byte(c.cgroup), 0o600)
		}
		if c.exe != "" {
			os.Symlink(c.exe, filepath.Join(dir, "exe"))
		}
		c.want.Cgroup = procfs.ParseCgroup([]byte(c.cgroup)).Path
		if got := Identify(root, int(c.pid[0]-'0')); !reflect.DeepEqual(got, c.want) {
			t.Errorf("process %s: %+v, want %+v", c.pid, got, c.want)
		}
	}
}
