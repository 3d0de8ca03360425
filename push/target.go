package push

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/parca"
	"github.com/fpstack/fpstack/push/pyroscope"
)

// Kind is a sort of store, and the way to it.
type Kind string

// The kinds.
const (
	OTLPHTTP  Kind = "otlp+http"
	OTLPGRPC  Kind = "otlp+grpc"
	Pyroscope Kind = "pyroscope"
	Parca     Kind = "parca"
	Folder    Kind = "file"
)

// Target is where profiles go.
type Target struct {
	Kind Kind
	// Base is the address of the store, http or https, with a host and without a query; nil for a Folder.
	Base *url.URL
	Path string // of a Folder
}

// schemes are those of Target.String, with the kind and whether it is encrypted.
var schemes = []struct {
	name string
	kind Kind
	tls  bool
}{
	{"otlp+http", OTLPHTTP, false}, {"otlp+https", OTLPHTTP, true},
	{"otlp+grpc", OTLPGRPC, false}, {"otlp+grpcs", OTLPGRPC, true},
	{"pyroscope", Pyroscope, false}, {"pyroscope+https", Pyroscope, true},
	{"parca", Parca, false}, {"parca+https", Parca, true},
	{"file", Folder, false},
}

// ports are those that stores listen on where an address has none.
var ports = map[Kind]string{OTLPHTTP: "4318", OTLPGRPC: "4317", Pyroscope: "4040", Parca: "7070"}

// Schemes lists the schemes that ParseTarget knows.
func Schemes() (names []string) {
	for _, s := range schemes {
		names = append(names, s.name)
	}
	return names
}

// ParseTarget reads an address as "otlp+https://collector:4318". User and password in it are refused: they would be
// in the list of processes for everybody to read.
func ParseTarget(address string) (*Target, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, fmt.Errorf("read address %q: %w", address, err)
	}
	i := slices.Index(Schemes(), u.Scheme)
	switch {
	case i < 0:
		return nil, fmt.Errorf("read address %q: no such kind of store; use one of %s", address,
			strings.Join(Schemes(), ", "))
	case u.User != nil:
		return nil, fmt.Errorf("read address of host %q: a user or password in an address can be read by everybody on "+
			"this machine: use a file with a token", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("read address %q: it has a query or a fragment", address)
	}
	t := &Target{Kind: schemes[i].kind}
	if t.Kind == Folder {
		if t.Path = u.Path; u.Host != "" || t.Path == "" {
			return nil, fmt.Errorf("read address %q: a folder is written file:///path", address)
		}
		return t, nil
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("read address %q: no host", address)
	}
	if u.Port() == "" {
		u.Host += ":" + ports[t.Kind]
	}
	u.Scheme = "http"
	if schemes[i].tls {
		u.Scheme = "https"
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	t.Base = u
	return t, nil
}

// String is the address, as [ParseTarget] reads it.
func (t *Target) String() string {
	if t.Kind == Folder {
		return "file://" + t.Path
	}
	for _, s := range schemes {
		if s.kind == t.Kind && s.tls == (t.Base.Scheme == "https") {
			return s.name + strings.TrimPrefix(t.Base.String(), t.Base.Scheme)
		}
	}
	return t.Base.String()
}

// Name is a short name for files that belong to t: no two targets have the same.
func (t *Target) Name() string {
	name := string(t.Kind)
	if t.Base != nil {
		name += "-" + t.Base.Hostname()
	}
	sum := sha256.Sum256([]byte(t.String()))
	return fmt.Sprintf("%s-%x", plain(name), sum[:4])
}

// plain keeps of a name what needs no care in any file system.
func plain(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-+", r) {
			return r
		}
		return '_'
	}, name)
	return strings.TrimLeft(name[:min(len(name), 64)], ".-")
}

// Form is where and as what requests for t are sent.
func (t *Target) Form() (path, contentType string) {
	switch t.Kind {
	case OTLPHTTP:
		return otlp.Path, "application/x-protobuf"
	case OTLPGRPC:
		return otlp.Method, "application/grpc+proto"
	case Pyroscope:
		return pyroscope.Path, "application/proto"
	case Parca:
		return parca.Method, "application/grpc+proto"
	}
	return "", pprofType
}

// pprofType is the type of a file of a Folder.
const pprofType = "application/vnd.google.protobuf+gzip"

// GRPC reports whether t is reached by gRPC.
func (t *Target) GRPC() bool { return t.Kind == OTLPGRPC || t.Kind == Parca }
