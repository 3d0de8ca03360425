package perprocess

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/procfs"
)

// Names are what a container and its pod are called. What is not proven is empty.
type Names struct {
	Container    string // container.name, outside of Kubernetes
	PodContainer string // k8s.container.name
	Pod          string // k8s.pod.name
	Namespace    string // k8s.namespace.name
}

// maxNote bounds a file of a container runtime.
const maxNote = 4 << 20

// nameOf finds the names of a group's container and pod in what container runtimes and the kubelet leave on the host,
// whose files are below root/1/root. A name is proven where a file of theirs, in a place that no container may
// write to, has it beside the id of the container, or the uid of the pod, that the kernel has. What is in the
// container itself is not asked: its hostname, its environment, and what is mounted there, which a process in a
// user namespace may change.
//
// Source: pkg/cri/annotations of containerd, internal/annotations of CRI-O, daemon/container of moby,
// containers/storage, pkg/kubelet/kuberuntime (BuildPodLogsDirectory), as they were in 2025.
func nameOf(root string, group procfs.Cgroup) (n Names) {
	n.Container = machineName(group.Path)
	if group.Container == "" && group.Pod == "" {
		return n
	}
	host, err := os.OpenRoot(filepath.Join(root, "1", "root"))
	if err != nil {
		return n
	}
	defer host.Close()
	if id := group.Container; id != "" {
		for _, find := range []func(*os.Root, procfs.Cgroup) (Names, bool){bundled, byDocker, byStorage} {
			if found, ok := find(host, group); ok {
				n = found
				break
			}
		}
	}
	if group.Pod != "" && n.Pod == "" {
		n.Namespace, n.Pod = byKubelet(host, group.Pod)
	}
	return n
}

// machineName is the name of a container of LXC or systemd-nspawn, which is that of a group directly below those that
// the host alone makes.
func machineName(group string) string {
	first, rest, _ := strings.Cut(strings.TrimPrefix(group, "/"), "/")
	second, _, _ := strings.Cut(rest, "/")
	if name, ok := strings.CutPrefix(first, "lxc.payload."); ok {
		return name
	}
	if first == "lxc" {
		return second
	}
	name, ok := strings.CutPrefix(second, "machine-")
	name, ends := strings.CutSuffix(name, ".scope")
	if first == "machine.slice" && ok && ends && !strings.Contains(name, `\x`) { // escaped: systemd.unit(5)
		return name
	}
	return ""
}

// bundled reads the OCI configuration that containerd and CRI-O start a container by.
func bundled(host *os.Root, group procfs.Cgroup) (n Names, ok bool) {
	const containerd = "run/containerd/io.containerd.runtime.v2.task/"
	for _, path := range []string{containerd + "k8s.io/" + group.Container, containerd + "default/" + group.Container,
		"run/containers/storage/overlay-containers/" + group.Container + "/userdata"} {
		var oci struct {
			Annotations map[string]string `json:"annotations"`
		}
		if !readNote(host, path+"/config.json", &oci) {
			continue
		}
		first := func(keys ...string) string {
			for _, key := range keys {
				if v := oci.Annotations[key]; v != "" {
					return v
				}
			}
			return ""
		}
		uid := first("io.kubernetes.cri.sandbox-uid", "io.kubernetes.pod.uid")
		if uid != "" && group.Pod != "" && uid != group.Pod {
			continue
		}
		n = Names{first("nerdctl/name"), first("io.kubernetes.cri.container-name", "io.kubernetes.container.name"),
			first("io.kubernetes.cri.sandbox-name", "io.kubernetes.pod.name"),
			first("io.kubernetes.cri.sandbox-namespace", "io.kubernetes.pod.namespace")}
		if n != (Names{}) {
			return n, true
		}
	}
	return Names{}, false
}

// byDocker reads what Docker keeps of a container.
func byDocker(host *os.Root, group procfs.Cgroup) (Names, bool) {
	var c struct{ ID, Name string }
	ok := readNote(host, "var/lib/docker/containers/"+group.Container+"/config.v2.json", &c)
	if !ok || c.ID != group.Container {
		return Names{}, false
	}
	return called(strings.TrimPrefix(c.Name, "/"), group)
}

// byStorage reads the list of containers of Podman and CRI-O.
func byStorage(host *os.Root, group procfs.Cgroup) (Names, bool) {
	for _, path := range []string{"var/lib/containers/storage/overlay-containers/containers.json",
		"run/containers/storage/overlay-containers/volatile-containers.json"} {
		var all []struct {
			ID    string   `json:"id"`
			Names []string `json:"names"`
		}
		if !readNote(host, path, &all) {
			continue
		}
		for _, c := range all {
			if c.ID == group.Container && len(c.Names) > 0 {
				return called(c.Names[0], group)
			}
		}
	}
	return Names{}, false
}

// called reads the name of a container. Those of the kubelet are k8s_CONTAINER_POD_NAMESPACE_UID_ATTEMPT.
func called(name string, group procfs.Cgroup) (Names, bool) {
	if group.Pod == "" {
		return Names{Container: name}, name != ""
	}
	parts := strings.Split(name, "_")
	if len(parts) != 6 || parts[0] != "k8s" || parts[4] != group.Pod {
		return Names{}, false
	}
	return Names{PodContainer: parts[1], Pod: parts[2], Namespace: parts[3]}, true
}

// byKubelet finds the folder of a pod's logs, NAMESPACE_POD_UID.
func byKubelet(host *os.Root, uid string) (namespace, pod string) {
	dir, err := host.Open("var/log/pods")
	if err != nil {
		return "", ""
	}
	defer dir.Close()
	const most = 10_000
	names, _ := dir.Readdirnames(most)
	i := slices.IndexFunc(names, func(name string) bool { return strings.HasSuffix(name, "_"+uid) })
	if i < 0 {
		return "", ""
	}
	parts := strings.Split(names[i], "_")
	if len(parts) != 3 {
		return "", ""
	}
	return parts[0], parts[1]
}

// readNote reads JSON from a regular file. Links that lead out of host are not followed.
func readNote(host *os.Root, path string, into any) bool {
	info, err := host.Lstat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxNote {
		return false
	}
	f, err := host.Open(path)
	if err != nil {
		return false
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxNote))
	return err == nil && json.Unmarshal(b, into) == nil
}
