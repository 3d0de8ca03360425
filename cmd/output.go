package cmd

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// writeOutput lets write fill the file at path, whole or not at all: a temporary file beside
// it takes its place when all is written. The path "" or "-" is stdout.
func (a *app) writeOutput(path string, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		w := bufio.NewWriterSize(a.stdout, 64<<10)
		err := write(w)
		if flushErr := w.Flush(); flushErr != nil {
			return fmt.Errorf("write standard output: %w", flushErr)
		}
		return err
	}
	return replaceFile(path, write)
}

func replaceFile(path string, write func(io.Writer) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("create output: %w", err)
	}
	defer func() {
		f.Close()
		if err != nil {
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 64<<10)
	writeErr := write(w)
	if err := w.Flush(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if writeErr != nil && writeErr != errPart {
		return writeErr
	}
	if err := f.Chmod(0o644); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("write output: %w", err)
	}
	return writeErr
}
