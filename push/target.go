package push

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
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

// grpc reports whether t is reached by gRPC.
func (t *Target) grpc() bool { return t.Kind == OTLPGRPC || t.Kind == Parca }
