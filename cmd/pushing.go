package cmd

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/fpstack/fpstack/outfile"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push"
	"github.com/fpstack/fpstack/push/otlp"
	"github.com/fpstack/fpstack/push/perprocess"
)

// pushOptions are the flags that say where profiles are sent and how.
type pushOptions struct {
	to         []string
	spool      string
	spoolLimit byteSize
	spoolAge   time.Duration
	tokenFile  string
	headers    []string
	ca         string
	labels     []string

	targets []*push.Target   // of to
	header  http.Header      // of headers
	own     []otlp.Attribute // of labels
}

// registerStore adds the flags that say which store.
func (o *pushOptions) registerStore(f *pflag.FlagSet) {
	o.spoolLimit, o.spoolAge = 256<<20, 24*time.Hour
	f.StringArrayVar(&o.to, "push", nil, "send profiles to the store at this `URL`; its scheme is one of "+
		strings.Join(push.Schemes(), ", ")+"; can be repeated")
	f.StringArrayVar(&o.headers, "push-header", nil, "send this `HEADER`, as 'X-Scope-OrgID: team', or @FILE with "+
		"some; can be repeated")
}

// registerTrust adds those that say how it is reached by what runs for long.
func (o *pushOptions) registerTrust(f *pflag.FlagSet) {
	f.StringVar(&o.tokenFile, "push-token-file", "", "send the token in file `F`, or in a credential of systemd")
	f.StringVar(&o.ca, "push-ca", "", "trust the certificates in this `FILE` (PEM) and no others")
}

// registerLabels adds the flag for what profiles are labelled with.
func (o *pushOptions) registerLabels(f *pflag.FlagSet) {
	f.StringArrayVar(&o.labels, "label", nil, "a label of every profile that is sent, as `NAME=VALUE`; can be repeated")
}

// registerSpool adds the flags of what waits for a store.
func (o *pushOptions) registerSpool(f *pflag.FlagSet) {
	f.StringVar(&o.spool, "spool", "", "keep in this `DIR` what a store does not take yet; by default in memory")
	f.Var(&o.spoolLimit, "spool-limit", "maximum size of unsent profiles, and of a folder of file://")
	f.Var((*seconds)(&o.spoolAge), "spool-age", "maximum age of unsent profiles, and of a folder of file://")
}

// check reads the flags.
func (o *pushOptions) check() (err error) {
	if len(o.to) == 0 {
		return nil
	}
	seen := map[string]bool{}
	for _, address := range o.to {
		t, err := push.ParseTarget(address)
		if err != nil {
			return usageError{fmt.Errorf("--push: %w", err)}
		}
		if seen[t.String()] {
			return usageError{fmt.Errorf("--push %q is given twice", address)}
		}
		seen[t.String()] = true
		o.targets = append(o.targets, t)
	}
	if o.header, err = push.ParseHeaders(o.headers); err != nil {
		return usageError{fmt.Errorf("--push-header: %w", err)}
	}
	if o.own, err = push.ParseLabels(o.labels); err != nil {
		return usageError{fmt.Errorf("--label: %w", err)}
	}
	return nil
}

// outlets are the stores that profiles go to.
type outlets struct {
	all     []*push.Outlet
	folders []*outfile.Folder
}

// close closes all folders. A nil outlets has none.
func (o *outlets) close() {
	if o == nil {
		return
	}
	for _, f := range o.folders {
		f.Close()
	}
}

// open opens all stores. odd is what the user should know.
//
// Precondition: check went well.
func (o *pushOptions) open(stuckAfter time.Duration) (opened *outlets, odd []error, err error) {
	opened = &outlets{}
	trust, err := o.trust()
	if err != nil {
		return nil, nil, err
	}
	for _, t := range o.targets {
		s := push.Settings{Target: t, TLS: trust, TokenFile: credential(o.tokenFile), Header: o.header,
			Scope: otlp.Scope{Name: "fpstack", Version: version()}, StuckAfter: stuckAfter,
			Limits: push.Limits{Bytes: int64(o.spoolLimit), Age: o.spoolAge}}
		out, strange, err := opened.add(s, o.spool)
		if err != nil {
			opened.close()
			return nil, nil, fmt.Errorf("push to %s: %w", t, err)
		}
		for _, e := range strange {
			odd = append(odd, fmt.Errorf("push to %s: %w", t, e))
		}
		opened.all = append(opened.all, out)
	}
	return opened, odd, nil
}

// add opens one store, with a spool of its own in the folder spool, "" for none.
func (o *outlets) add(s push.Settings, spool string) (*push.Outlet, []error, error) {
	switch {
	case s.Target.IsFolder():
		f, err := outfile.OpenFolder(s.Target.Path)
		if err != nil {
			return nil, nil, err
		}
		o.folders = append(o.folders, f)
		s.Folder = f.Root
	case spool != "":
		f, err := openSpool(spool, s.Target)
		if err != nil {
			return nil, nil, err
		}
		o.folders = append(o.folders, f)
		s.Spool = f.Root
	}
	return push.Open(s)
}

// openSpool opens the folder of one store in the spool, for us alone.
func openSpool(spool string, t *push.Target) (*outfile.Folder, error) {
	above, err := outfile.OpenFolder(spool)
	if err != nil {
		return nil, err
	}
	above.Close()
	path := filepath.Join(spool, t.Name())
	f, err := outfile.OpenFolder(path)
	if err != nil {
		return nil, err
	}
	if err := f.Lock(); err != nil {
		f.Close()
		return nil, fmt.Errorf("lock spool %q: %w", path, err)
	}
	return f, nil
}

// trust is what TLS trusts, nil for what the system does.
func (o *pushOptions) trust() (*tls.Config, error) {
	if o.ca == "" {
		return nil, nil
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, fmt.Errorf("read certificates: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("read certificates from %q: none in PEM form", o.ca)
	}
	return &tls.Config{RootCAs: pool}, nil
}

// credential is the path of a file that a flag names: without a slash it is one of systemd's credentials, where those
// are. Source: systemd.exec(5), LoadCredential.
func credential(name string) string {
	dir := os.Getenv("CREDENTIALS_DIRECTORY")
	if name == "" || dir == "" || strings.Contains(name, "/") {
		return name
	}
	return filepath.Join(dir, name)
}

// recorded parts p for stores. identity says who a process is.
func (o *pushOptions) recorded(p *profile.Profile, identity perprocess.Identifier,
	relabel ...*perprocess.Relabel) ([]push.Recorded, error) {
	return perprocess.Recorded(p, &perprocess.Options{Version: version(), Host: thisHost(), Labels: o.own,
		Identity: identity, Relabel: relabel})
}

// thisHost names this machine. In a container NODE_NAME is what its definition says, spec.nodeName.
func thisHost() perprocess.Host {
	name, _ := os.Hostname() // "" is unknown
	return perprocess.Host{Name: name, Node: os.Getenv("NODE_NAME")}
}

// byteSize is the value of a flag that takes a number of bytes: 64M, 1.5G.
type byteSize int64

func (b *byteSize) Type() string { return "SIZE" }

func (b *byteSize) String() string {
	for i, unit := range sizeUnits {
		if n := int64(*b); n>>unit.shift > 0 && n&(1<<unit.shift-1) == 0 || i == len(sizeUnits)-1 {
			return strconv.FormatInt(n>>unit.shift, 10) + unit.name
		}
	}
	return ""
}

var sizeUnits = []struct {
	name  string
	shift int
}{{"G", 30}, {"M", 20}, {"K", 10}, {"", 0}}

func (b *byteSize) Set(text string) error {
	number := strings.TrimSuffix(strings.TrimSuffix(text, "B"), "i")
	shift := 0
	for _, unit := range sizeUnits[:3] {
		if cut, ok := strings.CutSuffix(strings.ToUpper(number), unit.name); ok {
			number, shift = cut, unit.shift
		}
	}
	v, err := strconv.ParseFloat(number, 64)
	if v *= math.Pow(2, float64(shift)); err != nil || !(v >= 1<<10 && v < 1<<50) {
		return errors.New("want bytes from 1K on, as 64M or 1G")
	}
	*b = byteSize(v)
	return nil
}
