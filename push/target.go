package push

import (
	"crypto/sha256"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// Target is where profiles go.
type Target struct {
	Kind Kind
	// Base is the address of the store, http or https, with a host and without a query; nil for a Folder.
	Base *url.URL
	Path string // of a Folder
}

// Schemes lists the schemes that ParseTarget knows.
func Schemes() (names []string) {
	for i := range stores {
		for _, name := range []string{stores[i].plain, stores[i].tls} {
			if name != "" {
				names = append(names, name)
			}
		}
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
	i := slices.IndexFunc(stores, func(s storeKind) bool { return s.plain == u.Scheme || s.tls == u.Scheme })
	switch {
	case i < 0 || u.Scheme == "":
		return nil, fmt.Errorf("read address %q: no such kind of store; use one of %s", address,
			strings.Join(Schemes(), ", "))
	case u.User != nil:
		return nil, fmt.Errorf("read address of host %q: a user or password in an address can be read by everybody on "+
			"this machine: use a file with a token", u.Host)
	case u.RawQuery != "" || u.Fragment != "":
		return nil, fmt.Errorf("read address %q: it has a query or a fragment", address)
	}
	t := &Target{Kind: stores[i].kind}
	if t.IsFolder() {
		if t.Path = u.Path; u.Host != "" || t.Path == "" {
			return nil, fmt.Errorf("read address %q: a folder is written file:///path", address)
		}
		return t, nil
	}
	if u.Hostname() == "" {
		return nil, fmt.Errorf("read address %q: no host", address)
	}
	if u.Port() == "" {
		u.Host += ":" + stores[i].port
	}
	if u.Scheme == stores[i].tls {
		u.Scheme = "https"
	} else {
		u.Scheme = "http"
	}
	u.Path = strings.TrimSuffix(u.Path, "/")
	t.Base = u
	return t, nil
}

// String is the address, as [ParseTarget] reads it.
func (t *Target) String() string {
	s := t.store()
	switch {
	case s.folder:
		return s.plain + "://" + t.Path
	case t.Base.Scheme == "https":
		return s.tls + strings.TrimPrefix(t.Base.String(), "https")
	}
	return s.plain + strings.TrimPrefix(t.Base.String(), "http")
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
	s := t.store()
	return s.path, s.contentType
}

// GRPC reports whether t is reached by gRPC.
func (t *Target) GRPC() bool { return t.store().grpc }

// IsFolder reports whether t is a folder, of which there is a Path and no Base.
func (t *Target) IsFolder() bool { return t.store().folder }
