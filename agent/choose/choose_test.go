package choose

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"
)

// drawn is a process of a drawn /proc.
type drawn struct {
	comm, exe, cgroup string
	uid               int
	start             int
}

// draw writes the files of a process.
func draw(t *testing.T, root string, pid int, d drawn) {
	t.Helper()
	dir := filepath.Join(root, strconv.Itoa(pid))
	os.RemoveAll(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if d.exe != "" {
		os.Symlink(d.exe, filepath.Join(dir, "exe"))
	}
	for name, text := range map[string]string{"comm": d.comm + "\n", "cmdline": d.exe + "\x00-x\x00",
		"cgroup": "0::" + d.cgroup + "\n",
		"status": fmt.Sprintf("Name:\t%s\nTgid:\t%d\nPid:\t%[2]d\nUid:\t0\t%d\t0\t0\n", d.comm, pid, d.uid),
		"stat": fmt.Sprintf("%d (%s) S 1 1 1 0 -1 0 0 0 0 0 1 1 0 0 20 0 1 0 %d 0", pid, d.comm,
			d.start)} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const (
	pod       = "0a1b2c3d-1111-2222-3333-444455556666"
	container = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	podGroup  = "/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod0a1b2c3d_1111_2222_3333_444455556666" +
		".slice/cri-containerd-" + container + ".scope"
)

func TestRules(t *testing.T) {
	root := t.TempDir()
	draw(t, root, 10, drawn{"nginx", "/usr/sbin/nginx", "/system.slice/nginx.service", 33, 100})
	draw(t, root, 11, drawn{"postgres", "/usr/lib/postgresql/15/bin/postgres",
		"/system.slice/system-postgresql.slice/postgresql@15-main.service", 110, 101})
	draw(t, root, 12, drawn{"java", "/opt/jdk/bin/java", podGroup, 1000, 102})
	draw(t, root, 13, drawn{"bash", "/bin/bash", "/user.slice/user-1000.slice/session-1.scope", 1000, 103})
	for _, tt := range []struct {
		name string
		rule Rule
		want []int
	}{
		{"a name", Rule{Names: []string{"nginx"}}, []int{10}},
		{"two names", Rule{Names: []string{"nginx", "bash"}}, []int{10, 13}},
		{"a part of a name is none", Rule{Names: []string{"ngin"}}, nil},
		{"a pid", Rule{PIDs: []int{13, 99}}, []int{13}},
		{"a unit", Rule{Units: []string{"nginx"}}, []int{10}},
		{"a unit with its kind", Rule{Units: []string{"nginx.service"}}, []int{10}},
		{"instances of a unit", Rule{Units: []string{"postgresql@*"}}, []int{11}},
		{"any unit", Rule{Units: []string{"*"}}, []int{10, 11}},
		{"a group and those below", Rule{Cgroups: []string{"/system.slice"}}, []int{10, 11}},
		{"a pattern of groups", Rule{Cgroups: []string{"/user.slice/user-*.slice/"}}, []int{13}},
		{"no part of a group's name", Rule{Cgroups: []string{"/system"}}, nil},
		{"all groups", Rule{Cgroups: []string{"/"}}, []int{10, 11, 12, 13}},
		{"a container", Rule{Containers: []string{container}}, []int{12}},
		{"how its id begins", Rule{Containers: []string{container[:12]}}, []int{12}},
		{"any container", Rule{Containers: []string{"*"}}, []int{12}},
		{"a pod", Rule{Pods: []string{pod}}, []int{12}},
		{"any pod", Rule{Pods: []string{"*"}}, []int{12}},
		{"a user by the effective id", Rule{Users: []int{1000}}, []int{12, 13}},
		{"a name of a user", Rule{Users: []int{1000}, Names: []string{"java"}}, []int{12}},
		{"kinds that no process has together", Rule{Users: []int{33}, Pods: []string{"*"}}, nil},
		{"nothing", Rule{}, nil},
	} {
		chosen, err := NewScanner(root, []Rule{tt.rule}, nil, 1).Scan(0)
		if err != nil {
			t.Fatal(err)
		}
		var got []int
		for _, c := range chosen {
			got = append(got, c.PID)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestRulesThatMakeNoSense(t *testing.T) {
	for _, r := range []Rule{{Cgroups: []string{"system.slice"}}, {Units: []string{"["}}, {Containers: []string{"01"}},
		{Names: []string{""}}, {Pods: []string{""}}} {
		if r.Check() == nil {
			t.Errorf("%+v is taken", r)
		}
	}
}

// TestScansFollow: processes come and go, begin other programs, and ids are given again.
func TestScansFollow(t *testing.T) {
	root := t.TempDir()
	rules := []Rule{{Names: []string{"web"}, Service: "first"}, {Users: []int{7}}}
	exclude := []Rule{{Names: []string{"secret"}}}
	s := NewScanner(root, rules, exclude, 50)
	scan := func(at time.Duration, want ...string) {
		t.Helper()
		chosen, err := s.Scan(at)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range chosen {
			got = append(got, fmt.Sprint(c.PID, "/", c.Start, c.Rule.Service, c.Name))
		}
		if !slices.Equal(got, want) {
			t.Errorf("at %v: %v, want %v", at, got, want)
		}
	}
	draw(t, root, 10, drawn{"sh", "/bin/sh", "/", 0, 1})
	draw(t, root, 11, drawn{"web", "/web", "/", 7, 2})
	draw(t, root, 12, drawn{"secret", "/secret", "/", 7, 3})
	draw(t, root, 50, drawn{"web", "/web", "/", 7, 4}) // we
	scan(0, "11/2firstweb")
	draw(t, root, 10, drawn{"web", "/web", "/", 0, 1}) // it began its program
	draw(t, root, 13, drawn{"other", "/other", "/", 7, 5})
	scan(500*time.Millisecond, "11/2firstweb", "13/5")
	scan(1001*time.Millisecond, "10/1firstweb", "11/2firstweb", "13/5")
	draw(t, root, 13, drawn{"secret", "/secret", "/", 7, 5}) // it began one that is excluded
	scan(1200*time.Millisecond, "10/1firstweb", "11/2firstweb")
	draw(t, root, 13, drawn{"other", "/other", "/", 7, 5})
	scan(2300*time.Millisecond, "10/1firstweb", "11/2firstweb", "13/5")
	draw(t, root, 11, drawn{"cat", "/bin/cat", "/", 0, 9}) // the id of another process now
	scan(2500*time.Millisecond, "10/1firstweb", "13/5")
	os.RemoveAll(filepath.Join(root, "13"))
	scan(2700*time.Millisecond, "10/1firstweb")
	if len(s.known) != 3 {
		t.Errorf("%d processes are known, want 3: those that are gone are forgotten", len(s.known))
	}
	reads := 0
	for at := 3 * time.Second; at < 200*time.Second; at += time.Second {
		before := s.known[12].again
		scan(at, "10/1firstweb")
		if s.known[12].again != before {
			reads++
		}
	}
	if reads > 12 {
		t.Errorf("a process that does not change was read %d times in 200 s", reads)
	}
}
