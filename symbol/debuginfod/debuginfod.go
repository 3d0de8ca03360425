// Package debuginfod fetches debug files by build id from debuginfod servers, and shares the
// cache of elfutils' client, so that what one of them fetched the other has.
//
// The caller decides whether the network may be asked at all, and never does while a process
// is stopped. The client bounds the time and size of each answer, remembers for a while that
// no server has a file, and writes a file of the cache whole or not at all. That the file is
// the one wanted, the caller checks by its build id.
//
// Sources: debuginfod(8), section "WEBAPI"; debuginfod_find_debuginfo(3), "CACHE" and
// "ENVIRONMENT VARIABLES".
package debuginfod

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/fpstack/fpstack/maps/module"
)

// Client asks servers. It is for one goroutine at a time.
type Client struct {
	// URLs are the servers, asked in their order. None: nothing is ever asked.
	URLs []string
	// Cache is the directory that files are kept in, made if need be.
	Cache string
	// Timeout bounds the time without an answer and without another 100 KB of it, MaxTime the whole of
	// one file, 0: no bound.
	Timeout, MaxTime time.Duration
	// MaxSize bounds a file, bytes; 0: 16 GiB.
	MaxSize int64
	// Missing is how long "nobody has it" is believed.
	Missing time.Duration
	// Open opens a file of the cache.
	Open func(path string) (*module.File, error)
	// Progress gets the bytes so far and in all, -1 if that is not known; may be nil.
	Progress func(url string, got, all int64)
	// Context ends what is under way; nil: never.
	Context context.Context

	down map[string]bool // servers that did not answer
}

// FromEnvironment returns a Client as the environment says: DEBUGINFOD_URLS, _CACHE_PATH,
// _TIMEOUT, _MAXTIME and _MAXSIZE. getenv is os.Getenv, home the user's directory, "" if
// unknown: then the cache lies in a temporary directory.
func FromEnvironment(getenv func(string) string, home string, open func(string) (*module.File, error)) *Client {
	c := &Client{URLs: servers(getenv("DEBUGINFOD_URLS")), Cache: cachePath(getenv, home), Open: open,
		Timeout: seconds(getenv("DEBUGINFOD_TIMEOUT"), 90), MaxTime: seconds(getenv("DEBUGINFOD_MAXTIME"), 0),
		Missing: 10 * time.Minute}
	fmt.Sscan(getenv("DEBUGINFOD_MAXSIZE"), &c.MaxSize)
	return c
}

// servers lists the URLs in s, without the marks between them that say which of them give signatures: these are
// not looked at, as by an elfutils that was built so.
// Source: debuginfod-client-config(7), DEBUGINFOD_URLS, "ima:enforcing".
func servers(s string) []string {
	return slices.DeleteFunc(strings.Fields(s), func(url string) bool { return strings.HasPrefix(url, "ima:") })
}

func seconds(s string, fallback int) time.Duration {
	n := fallback
	if _, err := fmt.Sscan(s, &n); err != nil || n < 0 {
		n = fallback
	}
	return time.Duration(n) * time.Second
}

// cachePath is where elfutils' client keeps its files.
func cachePath(getenv func(string) string, home string) string {
	if p := getenv("DEBUGINFOD_CACHE_PATH"); p != "" {
		return p
	}
	if p := getenv("XDG_CACHE_HOME"); p != "" {
		return filepath.Join(p, "debuginfod_client")
	}
	if home == "" {
		return filepath.Join(os.TempDir(), fmt.Sprintf("debuginfod_client-%d", os.Getuid()))
	}
	if old := filepath.Join(home, ".debuginfod_client_cache"); isDir(old) {
		return old
	}
	return filepath.Join(home, ".cache", "debuginfod_client")
}

func isDir(path string) bool {
	st, err := os.Stat(path)
	return err == nil && st.IsDir()
}

// Fetch returns the debug file of the object with that build id, out of the cache or from the
// first server that has it. It fails with an error that wraps fs.ErrNotExist if all servers
// that answer say that they do not have it.
func (c *Client) Fetch(buildID string) (*module.File, error) { return c.fetch(buildID, "debuginfo") }

// FetchObject is Fetch of the object itself, as it is mapped.
func (c *Client) FetchObject(buildID string) (*module.File, error) {
	return c.fetch(buildID, "executable")
}

// fetch fetches what servers and the cache have under that name.
func (c *Client) fetch(buildID, name string) (*module.File, error) {
	if b, err := hex.DecodeString(buildID); err != nil || len(b) < 2 || len(b) > 64 ||
		strings.ToLower(buildID) != buildID {
		return nil, fmt.Errorf("fetch %q: no build id", buildID)
	}
	dir := filepath.Join(c.Cache, buildID)
	file := filepath.Join(dir, name)
	switch st, err := os.Lstat(file); {
	case err == nil && st.Size() > 0 && st.Mode().IsRegular():
		return c.Open(file)
	case err == nil && st.Size() == 0 && time.Since(st.ModTime()) < c.Missing:
		return nil, fmt.Errorf("fetch %s: no server had it %v ago: %w", buildID,
			time.Since(st.ModTime()).Round(time.Second), fs.ErrNotExist)
	}
	if len(c.URLs) == 0 {
		return nil, fmt.Errorf("fetch %s: DEBUGINFOD_URLS names no server: %w", buildID, fs.ErrNotExist)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("keep %s: %w", buildID, err)
	}
	return c.ask("/buildid/"+buildID+"/"+name, dir, file)
}

// ask asks one server after the other.
func (c *Client) ask(what, dir, file string) (*module.File, error) {
	var errs []error
	all := true // were asked
	for _, base := range c.URLs {
		if c.down[base] {
			all = false
			continue
		}
		err := c.get(strings.TrimSuffix(base, "/")+what, dir, file)
		if err == nil {
			return c.Open(file)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
			c.giveUp(base, err)
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	if all {
		remember(file)
	}
	return nil, fmt.Errorf("fetch %q: no server has it: %w", what, fs.ErrNotExist)
}

// remember leaves an empty file that nobody may read, which says to elfutils' client too that nobody has it. A
// file that another client brought meanwhile stays.
func remember(file string) {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0)
	if err == nil {
		f.Close()
		return
	}
	if st, err := os.Lstat(file); err == nil && st.Size() == 0 && st.Mode().IsRegular() {
		now := time.Now()
		_ = os.Chtimes(file, now, now) // else all servers are asked again
	}
}

// giveUp remembers a server that is not there: the next hundred modules would wait for it too.
func (c *Client) giveUp(base string, err error) {
	var status statusError
	var file fileError
	if errors.As(err, &status) || errors.As(err, &file) || errors.Is(err, context.Canceled) {
		return // it answers, or nobody waits any more
	}
	if c.down == nil {
		c.down = map[string]bool{}
	}
	c.down[base] = true
}

// statusError is an answer that brings no file.
type statusError int

func (s statusError) Error() string {
	return fmt.Sprintf("the server says %d %s", int(s), http.StatusText(int(s)))
}

// fileError is what is wrong with one file.
type fileError string

func (f fileError) Error() string { return string(f) }

// get fetches url into file, by a temporary one in dir.
func (c *Client) get(url, dir, file string) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("fetch %q: %w", url, err)
		}
	}()
	ctx, cancel := context.WithCancelCause(c.context())
	defer cancel(nil)
	if c.MaxTime > 0 {
		var stop context.CancelFunc
		ctx, stop = context.WithTimeoutCause(ctx, c.MaxTime, fmt.Errorf("not whole within %v", c.MaxTime))
		defer stop()
	}
	silence := newSilence(c.Timeout, cancel)
	defer silence.stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return because(ctx, err)
	}
	defer answer.Body.Close()
	silence.answered()
	switch {
	case answer.StatusCode == http.StatusNotFound:
		return fs.ErrNotExist
	case answer.StatusCode != http.StatusOK:
		return statusError(answer.StatusCode)
	}
	err = c.keep(answer, url, dir, file, silence)
	return because(ctx, err)
}

// because prefers the reason why ctx ended to what that did to a read.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); err != nil && cause != nil {
		return cause
	}
	return err
}

func (c *Client) context() context.Context {
	if c.Context != nil {
		return c.Context
	}
	return context.Background()
}

// defaultMaxSize bounds a file where nothing is said. The largest debug files have some GB.
const defaultMaxSize = 16 << 30

// keep writes the body of the answer to file, whole or not at all.
func (c *Client) keep(answer *http.Response, url, dir, file string, silence *silence) error {
	most := c.MaxSize
	if most <= 0 {
		most = defaultMaxSize
	}
	if answer.ContentLength > most {
		return fileError(fmt.Sprintf("file has %d bytes, more than %d", answer.ContentLength, most))
	}
	f, err := os.CreateTemp(dir, filepath.Base(file)+".*")
	if err != nil {
		return err
	}
	defer os.Remove(f.Name())
	defer f.Close()
	got, err := io.Copy(f, &counted{r: io.LimitReader(answer.Body, most+1), f: func(n int64) {
		silence.broken(n)
		if c.Progress != nil {
			c.Progress(url, n, answer.ContentLength)
		}
	}})
	switch {
	case err != nil:
		return err
	case got > most:
		return fileError(fmt.Sprintf("file has more than %d bytes", most))
	case got == 0:
		return fileError("the answer is empty")
	}
	if err := f.Close(); err != nil {
		return err
	}
	return os.Rename(f.Name(), file)
}

// counted reports to f all that was read so far.
type counted struct {
	r io.Reader
	n int64
	f func(int64)
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.r.Read(b)
	c.n += int64(n)
	c.f(c.n)
	return n, err
}

// enough is how many bytes end a silence: elfutils' client gives a server up that does not send them
// in time, since one that drips would hold it for ever.
// Source: debuginfod-client-config(7), DEBUGINFOD_TIMEOUT.
const enough = 100 << 10

// silence ends a request when too little comes for too long.
type silence struct {
	timer *time.Timer
	bound time.Duration
	got   int64 // bytes when it was broken last
}

func newSilence(bound time.Duration, cancel context.CancelCauseFunc) *silence {
	if bound <= 0 {
		return &silence{}
	}
	late := func() { cancel(fmt.Errorf("no answer within %v, or less than %d bytes more of it", bound, enough)) }
	return &silence{timer: time.AfterFunc(bound, late), bound: bound}
}

// broken says that got bytes have come in all.
func (s *silence) broken(got int64) {
	if got-s.got >= enough {
		s.got = got
		s.answered()
	}
}

// answered begins the time again.
func (s *silence) answered() {
	if s.timer != nil && s.timer.Stop() {
		s.timer.Reset(s.bound)
	}
}

func (s *silence) stop() {
	if s.timer != nil {
		s.timer.Stop()
	}
}
