package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
)

// sums writes SHA256SUMS of all other files of the release, as sha256sum does.
func (r *release) sums() error {
	entries, err := os.ReadDir(r.out) // sorted by name
	if err != nil {
		return err
	}
	var text []byte
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(r.out, e.Name()))
		if err != nil {
			return err
		}
		text = fmt.Appendf(text, "%x  %s\n", sha256.Sum256(data), e.Name())
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), text, 0o644)
}
