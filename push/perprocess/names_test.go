package perprocess

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const (
	podUID  = "12345678-90ab-cdef-1234-567890abcdef"
	another = "ffffffff-90ab-cdef-1234-567890abcdef"
)

// host is a /proc with process 7 in a control group, and files of the host.
func host(t *testing.T, cgroup string, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	files["../../7/cgroup"] = "0::" + cgroup + "\n"
	for name, text := range files {
		path := filepath.Join(root, "1", "root", name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestNames: names that container runtimes and the kubelet have beside the id; what is of another id, of another pod,
// damaged or in the container itself is no proof.
func TestNames(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	alone, inPod := "/system.slice/docker-"+id+".scope", "/kubepods/burstable/pod"+podUID+"/"+id
	containerd := "run/containerd/io.containerd.runtime.v2.task/k8s.io/" + id + "/config.json"
	annotations := `{"process":{"env":["SECRET=x"]},"hostname":"h","annotations":{
		"io.kubernetes.cri.container-name":"web",
		"io.kubernetes.cri.sandbox-name":"shop-0","io.kubernetes.cri.sandbox-namespace":"prod",
		"io.kubernetes.cri.sandbox-uid":"` + podUID + `"}}`
	pod := Names{PodContainer: "web", Pod: "shop-0", Namespace: "prod"}
	const storage = "var/lib/containers/storage/overlay-containers/containers.json"
	crio := "run/containers/storage/overlay-containers/" + id + "/userdata/config.json"
	docker := "var/lib/docker/containers/" + id + "/config.v2.json"
	for _, c := range []struct {
		name, cgroup string
		files        map[string]string
		want         Names
	}{
		{"containerd", inPod, map[string]string{containerd: annotations}, pod},
		{"containerd, of another pod", inPod, map[string]string{
			containerd: strings.ReplaceAll(annotations, podUID, another)}, Names{}},
		{"CRI-O", inPod, map[string]string{crio: `
			{"annotations":{"io.kubernetes.container.name":"web","io.kubernetes.pod.name":"shop-0",
			"io.kubernetes.pod.namespace":"prod","io.kubernetes.pod.uid":"` + podUID + `"}}`}, pod},
		{"Docker", alone, map[string]string{docker: `{"ID":"` + id + `","Name":"/web","Config":{"Env":["A=b"]}}`},
			Names{Container: "web"}},
		{"Docker, another id", alone, map[string]string{docker: `{"ID":"x","Name":"/web"}`}, Names{}},
		{"Docker below the kubelet", inPod, map[string]string{
			docker: `{"ID":"` + id + `","Name":"/k8s_web_shop-0_prod_` + podUID + `_3"}`}, pod},
		{"Docker below the kubelet, of another pod", inPod, map[string]string{
			docker: `{"ID":"` + id + `","Name":"/k8s_web_shop-0_prod_` + another + `_3"}`}, Names{}},
		{"Podman", alone, map[string]string{storage: `[{"id":"x","names":["no"]},{"id":"` + id + `","names":["web"]}]`},
			Names{Container: "web"}},
		{"Podman, damaged", alone, map[string]string{storage: `[{"id":"` + id}, Names{}},
		{"the kubelet's logs", inPod, map[string]string{"var/log/pods/prod_shop-0_" + podUID + "/web/0.log": ""},
			Names{Pod: "shop-0", Namespace: "prod"}},
		{"the kubelet's logs, of another pod", inPod, map[string]string{
			"var/log/pods/prod_shop-0_" + another + "/web/0.log": ""}, Names{}},
		{"LXC", "/lxc.payload.web/init.scope", map[string]string{}, Names{Container: "web"}},
		{"LXC, made by a user", "/user.slice/lxc.payload.web", map[string]string{}, Names{}},
		{"nspawn", "/machine.slice/machine-web.scope/payload", map[string]string{}, Names{Container: "web"}},
		{"only in the container", alone, map[string]string{"../../7/root/run/.containerenv": `name="evil"`,
			"../../7/root/etc/hostname": "evil", "../../7/environ": "HOSTNAME=evil\x00"}, Names{}},
	} {
		root := host(t, c.cgroup, c.files)
		if got := Identify(root, 7).Names; got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}

// TestNamesByLink: what a link out of the host's files leads to is not read, and neither is a pipe, which nobody
// writes.
func TestNamesByLink(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	root := host(t, "/docker/"+id, map[string]string{"var/lib/docker/containers/x": ""})
	outside := filepath.Join(t.TempDir(), id)
	if err := os.Mkdir(outside, 0o755); err != nil {
		t.Fatal(err)
	}
	text := `{"ID":"` + id + `","Name":"/evil"}`
	if err := os.WriteFile(filepath.Join(outside, "config.v2.json"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(root, "1/root/var/lib/docker/containers", id)); err != nil {
		t.Fatal(err)
	}
	if got := Identify(root, 7).Names; got != (Names{}) {
		t.Errorf("by a link: %+v", got)
	}
}

// TestRelabel: a rule matches as a whole, has groups, and overrides; without a match nothing is set.
func TestRelabel(t *testing.T) {
	rule := func(from, match, to, value string) *Relabel {
		r, err := NewRelabel(from, match, to, value)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	o := &Options{Relabel: []*Relabel{
		rule("hostname", `(.+)-[0-9a-f]+-[a-z0-9]{5}`, "k8s.deployment.name", "$1"),
		rule("hostname", `shop`, "never", ""),
		rule("cgroup", `/slurm/uid_\d+/job_(\d+)/.*`, "job", "slurm-${1}"),
		rule("k8s.deployment.name", ``, "service.name", ""),
		rule("no.such", ``, "never", "x"),
	}}
	id := &Identity{Service: "node", Cgroup: "/slurm/uid_7/job_42/step_0", Hostname: "shop-7d9f8b6c5d-x2x4z"}
	got := map[string]string{}
	for _, a := range o.attributes(id, "node") {
		got[a.Key] = a.Value
	}
	for key, want := range map[string]string{"k8s.deployment.name": "shop", "job": "slurm-42", "service.name": "shop",
		"never": ""} {
		if got[key] != want {
			t.Errorf("%s is %q, want %q", key, got[key], want)
		}
	}
	for _, bad := range [][4]string{{"", "", "a", ""}, {"hostname", "(", "a", ""}, {"hostname", "", "", ""},
		{"hostname", "", "host.name", ""}, {"hostname", "", "a b", ""}} {
		if _, err := NewRelabel(bad[0], bad[1], bad[2], bad[3]); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

// TestHostname: HOSTNAME of the environment, if it is one.
func TestHostname(t *testing.T) {
	for environ, want := range map[string]string{"A=b\x00HOSTNAME=shop-0\x00": "shop-0", "XHOSTNAME=x\x00": "",
		"HOSTNAME=a b\x00": "", "HOSTNAME=" + strings.Repeat("x", 300): "", "": "", "HOSTNAME=\x1b[31m\x00": ""} {
		root := host(t, "/", map[string]string{"../../7/environ": environ})
		if got := Hostname(root, 7); got != want {
			t.Errorf("%q: %q, want %q", environ, got, want)
		}
	}
}
