package procfs

import "testing"

const mountText = `22 1 254:0 / / rw,relatime - ext4 /dev/root rw
25 22 0:23 / /tmp rw,nosuid shared:5 - tmpfs tmpfs rw
40 25 0:50 / /tmp/sshfs rw - fuse.sshfs host:/ rw
41 22 0:51 / /mnt/with\040space rw - nfs4 server:/x rw
42 22 0:52 / /srv rw - fuse.x x rw
43 22 0:53 / /srv rw master:1 - tmpfs over rw
junk
`

// TestMounts: the last mount at a place decides, and all on the way count.
func TestMounts(t *testing.T) {
	mounts := ParseMounts([]byte(mountText))
	if len(mounts) != 6 || mounts[3] != (Mount{41, MakeDevice(0, 51), "/", "/mnt/with space", "nfs4", "server:/x"}) {
		t.Fatalf("got %+v", mounts)
	}
	for path, want := range map[string]string{
		"/tmp/perf-1.map": "", "/tmp/sshfs/perf-1.map": "fuse.sshfs", "/tmp/sshfsx": "", "/mnt/with space/x/y": "nfs4",
		"/srv/perf-1.map": "", "/tmp/sshfs": "fuse.sshfs",
	} {
		m, ok := Served(mounts, path)
		if m.Type != want || ok != (want != "") {
			t.Errorf("%s: got %+v, want %q", path, m, want)
		}
	}
	if m, ok := Served([]Mount{{Point: "/", Type: "fuse.overlay"}, {Point: "/tmp", Type: "tmpfs"}}, "/tmp/x"); !ok {
		t.Errorf("a root that a process answers for is not met on the way: %+v", m)
	}
}
