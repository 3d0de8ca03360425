package procfs

import "strings"

// Cgroup is where a process is in the tree of control groups, and whose that is.
type Cgroup struct {
	Path      string // "" if it is not known, "/" at the root, or in a namespace of its own that hides it
	Container string // the id, lower-case hex; "" outside of one
	Pod       string // the uid of a Kubernetes pod with dashes, "" outside of one
	Unit      string // of systemd, as "nginx.service"; "" for none
}

// ParseCgroup reads /proc/PID/cgroup: the line of the unified hierarchy, else that of systemd's own, else the first
// that is not the root. Source: cgroups(7).
func ParseCgroup(b []byte) Cgroup {
	return describeCgroup(cgroupPath(string(b)))
}

func cgroupPath(text string) string {
	var unified, own, any string
	for line := range strings.Lines(text) {
		parts := strings.SplitN(strings.TrimSuffix(line, "\n"), ":", 3)
		if len(parts) < 3 || !strings.HasPrefix(parts[2], "/") {
			continue
		}
		switch path := parts[2]; {
		case parts[0] == "0" && parts[1] == "":
			unified = path
		case parts[1] == "name=systemd":
			own = path
		case any == "" && path != "/":
			any = path
		}
	}
	for _, path := range []string{unified, own, any} {
		if path != "" && path != "/" {
			return path
		}
	}
	return unified
}

// beside begins the path of another pod as a container sees it that has a namespace of its own, whose root is its own
// group. With the cgroupfs driver nothing else of Kubernetes is in it. Source: cgroup_namespaces(7).
const beside = "/../"

// describeCgroup reads the names that containerd, CRI-O, Docker, Podman and Amazon ECS give, with the cgroupfs and the
// systemd driver, and those of systemd.unit(5).
func describeCgroup(path string) Cgroup {
	c := Cgroup{Path: path}
	for part := range strings.SplitSeq(path, "/") {
		if pod := podUID(part); pod != "" && (strings.Contains(path, "kubepods") || strings.HasPrefix(path, beside)) {
			c.Pod = pod
		}
		if id := containerID(strings.TrimSuffix(part, ".scope")); id != "" {
			c.Container = id
		}
		if strings.HasSuffix(part, ".service") {
			c.Unit = part
		}
	}
	return c
}

// containerID is the id that ends a name: 64 hex digits, or for ECS 32 with a number; "" if none does.
func containerID(name string) string {
	if n := len(name); n >= 64 && isHex(name[n-64:]) {
		return name[n-64:]
	}
	if id, number, ok := strings.Cut(name, "-"); ok && len(id) == 32 && isHex(id) && number != "" &&
		strings.Trim(number, "0123456789") == "" {
		return name
	}
	return ""
}

// podUID is the uid behind "pod" in a name, its parts joined by - or _; "" if there is none.
func podUID(name string) string {
	const uuid = 36
	for rest := name; ; {
		_, behind, ok := strings.Cut(rest, "pod")
		if !ok {
			return ""
		}
		rest = behind
		if len(rest) < uuid {
			return ""
		}
		parts := strings.Split(strings.ReplaceAll(rest[:uuid], "_", "-"), "-")
		if len(parts) == 5 && len(parts[0]) == 8 && len(parts[1]) == 4 && len(parts[2]) == 4 && len(parts[3]) == 4 &&
			isHex(strings.Join(parts, "")) {
			return strings.Join(parts, "-")
		}
	}
}

// isHex reports whether s has lower-case hex digits alone.
func isHex(s string) bool { return strings.Trim(s, "0123456789abcdef") == "" }
