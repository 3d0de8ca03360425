// Package perprocess parts a recording into what stores get: a profile of each process, with who it is.
//
// Who a process is comes from files of /proc alone ([Identify]), which are read while it lives. Nothing of a process is
// sent but the names here, its stacks and the names of its threads: no ids, no arguments, no environment.
package perprocess

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	pprof "github.com/google/pprof/profile"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/otlp"
)

// Identity is who a process is. What is not known is empty.
type Identity struct {
	Service   string // service.name; where it is empty the executable takes its place
	Exe       string // path of the program, as the process sees it
	Container string // id
	Pod       string // uid
	Names     Names
	Cgroup    string           // path, for rules
	Hostname  string           // for rules
	Labels    []otlp.Attribute // of this process alone; a service.name among them is its
}

// Called is the name of the service as far as id has it: "" if it does not.
func (id *Identity) Called() string {
	for _, a := range id.Labels {
		if a.Key == "service.name" {
			return a.Value
		}
	}
	if id.Service == "" && id.Exe != "" {
		return filepath.Base(id.Exe)
	}
	return id.Service
}

// Identify reads who process pid is from root, "/proc". What cannot be read is empty. The service is the systemd unit
// that it was started by, if it has one.
func Identify(root string, pid int) Identity {
	dir := filepath.Join(root, strconv.Itoa(pid))
	var id Identity
	if b, err := os.ReadFile(filepath.Join(dir, "cgroup")); err == nil {
		group := procfs.ParseCgroup(b)
		id.Container, id.Pod, id.Cgroup = group.Container, group.Pod, group.Path
		id.Names = nameOf(root, group)
		if group.Container == "" && strings.HasPrefix(group.Path, "/system.slice/") {
			id.Service = strings.TrimSuffix(group.Unit, ".service")
		}
	}
	if exe, err := os.Readlink(filepath.Join(dir, "exe")); err == nil {
		id.Exe = strings.TrimSuffix(exe, " (deleted)")
	}
	return id
}

// Host is what all processes of a machine have in common.
type Host struct {
	Name string // host.name
	Node string // k8s.node.name, "" outside of Kubernetes
}

// Identifier says who a process is, by its id and when it began, which is 0 where the recording does not know it.
type Identifier func(procfs.Identity) Identity

// Options say how a recording is parted.
type Options struct {
	Version  string // of fpstack
	Host     Host
	Labels   []otlp.Attribute // of the user's own; a service.name among them is that of all processes
	Identity Identifier
	Relabel  []*Relabel
}

// Recorded parts p by process, in the order of their ids. Processes of one executable in the same place have the same
// identity, and stay apart. Where one of them fails the others are returned with the error.
//
// Precondition: p passes [profile.Profile.CheckValid].
func Recorded(p *profile.Profile, o *Options) (all []push.Recorded, first error) {
	tasks := map[procfs.Identity][]int{}
	for i := range p.Tasks {
		process := procfs.Identity{PID: p.Tasks[i].PID, Start: p.Tasks[i].Began}
		tasks[process] = append(tasks[process], i)
	}
	parter := profile.NewParter(p)
	failed := 0
	inOrder := slices.SortedFunc(maps.Keys(tasks), func(a, b procfs.Identity) int {
		return cmp.Or(cmp.Compare(a.PID, b.PID), cmp.Compare(a.Start, b.Start))
	})
	for _, process := range inOrder {
		of := tasks[process]
		id := o.Identity(process)
		shown, comments := shorterNames(p, of)
		part := parter.Part(of, shown, id.Exe)
		if len(part.Samples) == 0 {
			continue
		}
		part.Comments = comments
		made, err := flame.Pprof(part, flame.PprofOptions{Version: o.Version, NoIDs: true})
		if err != nil {
			if failed++; failed == 1 {
				first = fmt.Errorf("make profile of process %d: %w", process.PID, err)
			}
			continue
		}
		last := of[len(of)-1]
		all = append(all, push.Recorded{Attributes: o.attributes(&id, p.Tasks[last].Process), Of: made,
			Base: bases(part.Modules), IDs: push.NewIDs()})
	}
	if failed > 1 {
		first = fmt.Errorf("%w; and of %d more", first, failed-1)
	}
	return all, first
}

// bases gives where modules were loaded, by the lowest address of the mapping that flame.Pprof makes of each.
func bases(modules []profile.Module) func(*pprof.Mapping) (uint64, bool) {
	base := map[uint64]uint64{}
	for i := range modules {
		if m := &modules[i]; m.Start != 0 {
			base[m.Start] = m.Base
		}
	}
	return func(m *pprof.Mapping) (uint64, bool) {
		b, ok := base[m.Start]
		return b, ok
	}
}

// attributes words an identity as OpenTelemetry does.
// Source: opentelemetry.io/docs/specs/semconv/resource.
func (o *Options) attributes(id *Identity, comm string) []otlp.Attribute {
	executable := comm
	if id.Exe != "" {
		executable = filepath.Base(id.Exe)
	}
	attributes := []otlp.Attribute{{Key: "service.name", Value: cmp.Or(id.Service, executable, "unknown")}}
	for _, a := range []otlp.Attribute{{Key: "process.executable.name", Value: executable},
		{Key: "host.name", Value: o.Host.Name}, {Key: "container.id", Value: id.Container},
		{Key: "container.name", Value: id.Names.Container}, {Key: "k8s.container.name", Value: id.Names.PodContainer},
		{Key: "k8s.pod.name", Value: id.Names.Pod}, {Key: "k8s.namespace.name", Value: id.Names.Namespace},
		{Key: "k8s.pod.uid", Value: id.Pod}, {Key: "k8s.node.name", Value: o.Host.Node}} {
		if a.Value != "" {
			attributes = append(attributes, a)
		}
	}
	for _, a := range slices.Concat(o.Labels, id.Labels) {
		attributes = set(attributes, a)
	}
	return o.relabel(id, attributes)
}
