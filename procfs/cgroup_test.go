package procfs

import (
	"strings"
	"testing"
)

// TestParseCgroup: containers and pods as the runtimes and drivers name them, units, and what is neither.
func TestParseCgroup(t *testing.T) {
	id := strings.Repeat("0123456789abcdef", 4)
	pod := "12345678-90ab-cdef-1234-567890abcdef"
	under := strings.ReplaceAll(pod, "-", "_")
	docker, pods := "/system.slice/docker-"+id+".scope", "/kubepods.slice/kubepods-burstable.slice"
	cri := pods + "/kubepods-burstable-pod" + under + ".slice/cri-containerd-" + id + ".scope"
	both := "/kubepods/besteffort/pod" + pod + "/" + id
	ecs := id[:32] + "-123456"
	for text, want := range map[string]Cgroup{
		"":              {},
		"0::/\n":        {Path: "/"},
		"4:memory:/x\n": {Path: "/x"},
		"0::/pod" + pod: {Path: "/pod" + pod},
		"0::" + docker:  {Path: docker, Container: id},
		"0::" + cri:     {Path: cri, Container: id, Pod: pod},
		"0::/../../pod" + pod + "/" + id: {Path: "/../../pod" + pod + "/" + id, Container: id,
			Pod: pod},
		"0::" + both:                           {Path: both, Container: id, Pod: pod},
		"0::/x" + id:                           {Path: "/x" + id, Container: id},
		"0::/" + id + "-t":                     {Path: "/" + id + "-t"},
		"0::relative\ngarbage\n\x00":           {},
		"0::/docker/" + id + "/init\n":         {Path: "/docker/" + id + "/init", Container: id},
		"1:name=systemd:/ecs/task/" + ecs:      {Path: "/ecs/task/" + ecs, Container: ecs},
		"0::/system.slice/nginx.service\n":     {Path: "/system.slice/nginx.service", Unit: "nginx.service"},
		"2:pids:/a\n1:name=systemd:/b\n0::/\n": {Path: "/b"},
	} {
		if got := ParseCgroup([]byte(text)); got != want {
			t.Errorf("%q: %+v, want %+v", text, got, want)
		}
	}
}
