package push

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
)

// maxToken bounds a file that holds a token or headers, bytes.
const maxToken = 64 << 10

var (
	errTokenMode = errors.New("others may read or change it: chmod 600 it (a Secret of Kubernetes: defaultMode: 0400)")
	errTokenFile = errors.New("it is no regular file")
	errTokenForm = errors.New("it holds no token: printable characters on one line, no spaces")
	errTokenLong = fmt.Errorf("it is larger than %d bytes", maxToken)
)

// readToken reads a token from a file that nobody else may read. The error never holds what is in it.
func readToken(path string) (string, error) {
	token, err := openToken(path)
	if err != nil {
		return "", fmt.Errorf("read token from %q: %w", path, cause(err))
	}
	return token, nil
}

// cause is err without the path that it names.
func cause(err error) error {
	var at *os.PathError
	if errors.As(err, &at) {
		return at.Err
	}
	return err
}

func openToken(path string) (string, error) {
	b, err := readSecret(path)
	if err != nil {
		return "", err
	}
	token := strings.TrimSpace(string(b))
	printable := func(r rune) bool { return r > ' ' && r < 0x7f }
	if token == "" || strings.TrimFunc(token, printable) != "" {
		return "", errTokenForm
	}
	return token, nil
}

// readSecret reads a file that nobody else may read or change.
func readSecret(path string) ([]byte, error) {
	before, err := os.Stat(path) // a pipe would block
	if err != nil {
		return nil, err
	}
	if !before.Mode().IsRegular() {
		return nil, errTokenFile
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, errTokenFile
	case info.Mode().Perm()&0o027 != 0: // systemd's credentials show the rights of an access list as those of a group
		return nil, errTokenMode
	}
	b, err := io.ReadAll(io.LimitReader(f, maxToken+1))
	if err == nil && len(b) > maxToken {
		err = errTokenLong
	}
	return b, err
}

// errPlainToken warns of a token that the network may read.
var errPlainToken = errors.New("the token goes to the store without TLS: whoever sees the connection can read it")

// Sender makes the Sender of a store that is no Folder. The warning hinders nothing.
func (s *Settings) Sender() (sender *Sender, warning, err error) {
	header, warning, err := s.header()
	if err != nil {
		return nil, nil, err
	}
	return NewSender(s.Target, NewClient(s.Target, s.TLS), header), warning, nil
}

// header returns what gives the headers of a request, after the first of which it says whether they can be had.
func (s *Settings) header() (header func() (http.Header, error), warning, err error) {
	header = func() (http.Header, error) {
		h := s.Header.Clone()
		if h == nil {
			h = http.Header{}
		}
		if s.TokenFile == "" {
			return h, nil
		}
		token, err := readToken(s.TokenFile)
		h.Set("Authorization", "Bearer "+token)
		return h, err
	}
	secret := s.TokenFile != "" || s.Header.Get("Authorization") != ""
	if secret && s.Target.Base.Scheme == "http" && !isLoopback(s.Target.Base.Hostname()) {
		warning = errPlainToken
	}
	_, err = header()
	return header, warning, err
}

func isLoopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
