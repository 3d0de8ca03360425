package deploy

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	kyaml "k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// least are the capabilities that it takes to sample processes of another user.
var least = []string{"DAC_READ_SEARCH", "SYS_PTRACE"}

// documents are those of a file of Kubernetes, by their kind.
func documents(t *testing.T, path string) map[string][]byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string][]byte{}
	reader := kyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(data)))
	for {
		doc, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return out
		}
		if err != nil {
			t.Fatal(err)
		}
		var kind metav1.TypeMeta
		if err := yaml.Unmarshal(doc, &kind); err != nil {
			t.Fatal(err)
		}
		if out[kind.Kind] != nil {
			t.Fatalf("%s is there twice", kind.Kind)
		}
		out[kind.Kind] = doc
	}
}

// strictly reads a document as the API server does: each field must be known, by its exact case, and be there once.
func strictly(doc []byte, into any) error {
	data, err := yaml.YAMLToJSONStrict(doc)
	if err != nil {
		return err
	}
	odd, err := json.UnmarshalStrict(data, into)
	return errors.Join(append(odd, err)...)
}

// TestDaemonSet reads each document by the types of Kubernetes, which know every field, and holds what it may do.
func TestDaemonSet(t *testing.T) {
	docs := documents(t, "daemonset.yaml")
	var namespace corev1.Namespace
	var config corev1.ConfigMap
	var set appsv1.DaemonSet
	for kind, into := range map[string]any{"Namespace": &namespace, "ConfigMap": &config, "DaemonSet": &set} {
		if err := strictly(docs[kind], into); err != nil || docs[kind] == nil {
			t.Fatalf("%s: %v", kind, err)
		}
	}
	if len(docs) != 3 || config.Namespace != namespace.Name || set.Namespace != namespace.Name {
		t.Errorf("%d documents in namespaces %q, %q and %q", len(docs), namespace.Name, config.Namespace, set.Namespace)
	}
	pod := set.Spec.Template
	for name, value := range set.Spec.Selector.MatchLabels {
		if pod.Labels[name] != value {
			t.Errorf("the selector wants %s=%s, the pod has %q", name, value, pod.Labels)
		}
	}
	spec, c := pod.Spec, pod.Spec.Containers[0]
	if !spec.HostPID || spec.HostNetwork || spec.HostIPC || spec.AutomountServiceAccountToken == nil ||
		*spec.AutomountServiceAccountToken || spec.SecurityContext.SeccompProfile.Type !=
		corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod may do more than it needs, or less: %+v", spec)
	}
	s := c.SecurityContext
	var added []string
	for _, capability := range s.Capabilities.Add {
		added = append(added, string(capability))
	}
	slices.Sort(added)
	if !slices.Equal(added, least) || len(s.Capabilities.Drop) != 1 || s.Capabilities.Drop[0] != "ALL" ||
		s.Privileged != nil || *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || *s.RunAsUser != 0 {
		t.Errorf("the container may do more than it needs, or less: %+v", s)
	}
	if c.Resources.Limits.Memory().IsZero() || !c.Resources.Limits.Cpu().IsZero() {
		t.Errorf("limits are %v, want one of memory and none of the CPU", c.Resources.Limits)
	}
	checkSpool(t, &spec)
	if c.Env[0].Name != "NODE_NAME" || c.Env[0].ValueFrom.FieldRef.FieldPath != "spec.nodeName" {
		t.Errorf("the node's name comes from %+v", c.Env[0])
	}
}

// checkSpool holds that every mount has a volume, no volume is of the node, and the spool is bounded and holds what
// waits.
func checkSpool(t *testing.T, spec *corev1.PodSpec) {
	t.Helper()
	volumes, spool := map[string]corev1.Volume{}, ""
	for _, v := range spec.Volumes {
		volumes[v.Name] = v
		if v.HostPath != nil {
			t.Errorf("%s is a folder of the node", v.Name)
		}
	}
	args := spec.Containers[0].Args
	if i := slices.Index(args, "--spool"); i >= 0 {
		spool = args[i+1]
	}
	for _, m := range spec.Containers[0].VolumeMounts {
		v, ok := volumes[m.Name]
		if !ok {
			t.Errorf("%s is mounted and no volume", m.Name)
		}
		if !strings.HasPrefix(spool, m.MountPath+"/") {
			continue
		}
		if v.EmptyDir == nil || v.EmptyDir.SizeLimit == nil || v.EmptyDir.SizeLimit.Value() <= 256<<20 {
			t.Errorf("the spool is in %+v, want a bounded emptyDir of more than 256 MiB", v)
		}
		return
	}
	t.Errorf("the spool %q is in no volume", spool)
}

// TestDaemonSetIsReadStrictly holds that a field that Kubernetes does not know would be found.
func TestDaemonSetIsReadStrictly(t *testing.T) {
	doc := bytes.Replace(documents(t, "daemonset.yaml")["DaemonSet"], []byte("hostPID:"), []byte("hostPid:"), 1)
	if err := strictly(doc, &appsv1.DaemonSet{}); err == nil {
		t.Error("hostPid was taken")
	}
}

func project(t *testing.T, data []byte) (*types.Project, error) {
	t.Helper()
	return loader.LoadWithContext(t.Context(), types.ConfigDetails{Environment: types.Mapping{},
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: data}}})
}

// TestCompose reads the file as docker compose does, by the schema of the specification, and holds what the agent may
// do.
func TestCompose(t *testing.T) {
	data, err := os.ReadFile("compose.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := project(t, data)
	if err != nil {
		t.Fatal(err)
	}
	a := p.Services["agent"]
	added := slices.Sorted(slices.Values(a.CapAdd))
	if a.Pid != "host" || !a.ReadOnly || a.Privileged || !slices.Equal(a.CapDrop, []string{"ALL"}) ||
		!slices.Equal(added, least) || !slices.Contains(a.SecurityOpt, "no-new-privileges:true") || a.MemLimit == 0 {
		t.Errorf("the agent may do more than it needs, or less: %+v", a)
	}
	for _, port := range p.Services["store"].Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("the store is offered to the network: %+v", port)
		}
	}
	if _, err := project(t, bytes.Replace(data, []byte("cap_drop:"), []byte("cap_dropped:"), 1)); err == nil {
		t.Error("a word that compose does not know was taken")
	}
}
