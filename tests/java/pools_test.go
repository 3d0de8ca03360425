//go:build linux && amd64

package java

import (
	"path/filepath"
	"strconv"
	"testing"
)

// TestIdlePools: threads of pools of libraries that have no task are idle, and those in a task that waits are not.
func TestIdlePools(t *testing.T) {
	jars, err := filepath.Abs(filepath.Join(fetched, "jars"))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"jetty-util", "tomcat-util", "netty-common", "kafka-server-common"} {
		if found, _ := filepath.Glob(filepath.Join(jars, name+"-*.jar")); len(found) == 0 {
			t.Skipf("%s is not here: scripts/build-java pools gets it", name)
		}
	}
	for _, version := range versions(t) {
		if version != "17" && version != "25" { // only those can run a source file
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "-cp", jars+"/*", "../../testdata/java/pools/Pools.java")
			p.idle(t, map[string]string{"jetty": "Java thread pool", "reserved": "Java thread pool",
				"tomcat": "Java thread pool", "netty": "Java thread pool", "jdk": "Java thread pool",
				"kafka": "Java services", "wheel": "Java timers", "reaper": "Java timers"},
				"jetty works", "tomcat works", "netty works", "kafka works", "jdk works")
		})
	}
}

// TestIdleVirtual: the threads of the JDK that take virtual threads which may go on, or have slept long enough, wait
// for that by right.
func TestIdleVirtual(t *testing.T) {
	for _, version := range versions(t) {
		if n, _ := strconv.Atoi(version); n < 25 { // they came with 24 and 25
			continue
		}
		t.Run(version, func(t *testing.T) {
			p := start(t, version, "Held")
			p.idle(t, map[string]string{"VirtualThread-unblocker": "Java services",
				"ForkJoinPool-1-delayScheduler": "Java timers"})
		})
	}
}
