package doctor

import (
	"fmt"
	"strings"
)

// Place is where a person works, as far as it changes what they have to type.
type Place uint8

// The places that remedies are worded for.
const (
	Shell Place = iota
	Container
	Kubernetes
	Service       // of systemd
	GitHubActions // a step of a job
)

var placeNames = [...]string{"shell", "container", "Kubernetes", "systemd service", "GitHub Actions"}

func (p Place) String() string { return placeNames[p] }

// PlaceFrom finds the place by the environment and by files that container engines leave. exists
// reports whether a path is there.
func PlaceFrom(getenv func(string) string, exists func(path string) bool) Place {
	switch {
	case getenv("GITHUB_ACTIONS") == "true":
		return GitHubActions
	case getenv("KUBERNETES_SERVICE_HOST") != "":
		return Kubernetes
	case exists("/.dockerenv") || exists("/run/.containerenv") || getenv("container") != "":
		return Container
	case getenv("INVOCATION_ID") != "" && getenv("SHLVL") == "":
		return Service
	}
	return Shell
}

// Advice is one remedy for one place.
type Advice struct {
	Place Place
	Line  string
}

// AllPlaces words what gives CAP_SYS_PTRACE, for every place.
func AllPlaces() []Advice {
	var all []Advice
	for p := Shell; p <= GitHubActions; p++ {
		all = append(all, Advice{p, p.allowPtrace()})
	}
	return all
}

// allowPtrace words what gives us CAP_SYS_PTRACE and lifts a filter on ptrace.
func (p Place) allowPtrace() string {
	switch p {
	case Container:
		return "Start the container with --cap-add SYS_PTRACE (Docker, Podman), or run fpstack on the host."
	case Kubernetes:
		return "kubectl debug -it POD --target=CONTAINER --profile=general gives SYS_PTRACE; or " +
			"securityContext.capabilities.add: [SYS_PTRACE] with shareProcessNamespace: true."
	case Service:
		return "AmbientCapabilities=CAP_SYS_PTRACE in the unit, and no SystemCallFilter= without @debug."
	case GitHubActions:
		return "sudo fpstack …; in a job's container: options: --cap-add SYS_PTRACE."
	}
	return "sudo fpstack …, or once: sudo setcap cap_sys_ptrace+ep fpstack."
}

// readFiles words what gives us CAP_DAC_READ_SEARCH beside CAP_SYS_PTRACE.
func (p Place) readFiles() string {
	switch p {
	case Container:
		return "Start the container with --cap-add SYS_PTRACE --cap-add DAC_READ_SEARCH and run fpstack as " +
			"root in it, or run it on the host."
	case Kubernetes:
		return "securityContext: runAsUser: 0 and capabilities.add: [SYS_PTRACE, DAC_READ_SEARCH], with " +
			"shareProcessNamespace: true."
	case Service:
		return "AmbientCapabilities=CAP_SYS_PTRACE CAP_DAC_READ_SEARCH in the unit, or SystemCallFilter= with " +
			"process_vm_readv."
	}
	return "sudo fpstack …, or once: sudo setcap cap_sys_ptrace,cap_dac_read_search+ep fpstack."
}

// becomeUser says how to sample a process of another user, whose ids are all uid.
func (p Place) becomeUser(uid int) string {
	switch p {
	case Container:
		if uid > 0 {
			return fmt.Sprintf("Run fpstack as uid %d or as root in the container (docker exec -u %d …), or as root "+
				"with --cap-add SYS_PTRACE.", uid, uid)
		}
		return "Run fpstack as root in the container (docker exec -u 0 …), or on the host."
	case Kubernetes, Service:
		return p.allowPtrace()
	}
	if uid > 0 {
		return fmt.Sprintf("Run with sudo, or as its user: sudo -u '#%d' fpstack ….", uid)
	}
	return "Run with sudo."
}

// relaxYama words how to pass ptrace_scope 1.
func (p Place) relaxYama() string {
	switch p {
	case Container, Kubernetes, Service:
		return p.allowPtrace()
	case GitHubActions:
		return "sudo fpstack …, or sudo sysctl kernel.yama.ptrace_scope=0 in a step before."
	}
	return "Run with sudo, or set it to 0 (sudo sysctl kernel.yama.ptrace_scope=0); what fpstack itself starts it " +
		"may sample (fpstack record -- CMD, fpstack run -- CMD)."
}

// leavePolicy words how to see whether a security module refused us, and how to be allowed. label is our own:
// AppArmor's ends with a mode in parentheses, SELinux's has colons.
func (p Place) leavePolicy(label string) string {
	profile, _, isAppArmor := strings.Cut(label, " (")
	switch {
	case isAppArmor && p == Container:
		return "AppArmor may have refused (on the host: journalctl -k | grep apparmor): start the container with " +
			"--security-opt apparmor=unconfined."
	case isAppArmor && p == Kubernetes:
		return "AppArmor may have refused (on the node: journalctl -k | grep apparmor): " +
			"securityContext.appArmorProfile.type: Unconfined."
	case isAppArmor:
		return fmt.Sprintf("AppArmor may have refused (journalctl -k | grep apparmor): its profile %s needs the rule "+
			"\"ptrace (trace, read),\", and that of the process, if it has one, \"ptrace (tracedby, readby),\"; "+
			"or run fpstack without a profile.", profile)
	case p == Container:
		return "SELinux may have refused (on the host: ausearch -m avc): start the container with " +
			"--security-opt label=disable."
	}
	return "The security module may have refused: the audit log says so (ausearch -m avc)."
}
