//go:build ignore

// Initramfs writes the file system of a guest: a gzip'ed cpio archive in the format newc
// with a console, /proc, /sys, /tmp and the files named on the command line.
//
//	go run scripts/guest/initramfs.go -o img.gz init=PATH tests=PATH t/target=PATH …
//
// Source: linux/Documentation/driver-api/early-userspace/buffer-format.rst.
package main

import (
	"bufio"
	"compress/gzip"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path"
	"strings"
)

// Modes of stat(2).
const (
	directory = 0o040755
	device    = 0o020600
	regular   = 0o100755
)

// archive writes entries one behind the other.
type archive struct {
	w       *bufio.Writer
	inode   int
	folders map[string]bool
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("initramfs: ")
	out := flag.String("o", "", "the archive to write")
	flag.Parse()
	f, err := os.Create(*out)
	check(err)
	z := gzip.NewWriter(f)
	a := archive{w: bufio.NewWriter(z), folders: map[string]bool{".": true}}
	for _, name := range []string{"dev", "proc", "sys", "tmp"} {
		a.folder(name)
	}
	a.entry("dev/console", device, 5, 1, nil)
	a.entry("dev/null", device, 1, 3, nil)
	for _, arg := range flag.Args() {
		name, from, ok := strings.Cut(arg, "=")
		if !ok {
			log.Fatalf("argument %q is not NAME=PATH", arg)
		}
		data, err := os.ReadFile(from)
		check(err)
		a.folder(path.Dir(name))
		a.entry(name, regular, 0, 0, data)
	}
	a.entry("TRAILER!!!", 0, 0, 0, nil)
	check(a.w.Flush())
	check(z.Close())
	check(f.Close())
}

// folder makes a directory and those above it, each once.
func (a *archive) folder(name string) {
	if a.folders[name] {
		return
	}
	a.folder(path.Dir(name))
	a.folders[name] = true
	a.entry(name, directory, 0, 0, nil)
}

// entry writes a header of 110 bytes, the name with its NUL, and the contents; the header with
// the name and the contents are each filled up to a multiple of 4.
func (a *archive) entry(name string, mode, major, minor int, data []byte) {
	a.inode++
	fmt.Fprintf(a.w, "070701%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%08x%s\x00",
		a.inode, mode, 0, 0, 1, 0, len(data), 0, 0, major, minor, len(name)+1, 0, name)
	a.pad(110 + len(name) + 1)
	a.w.Write(data)
	a.pad(len(data))
}

func (a *archive) pad(written int) {
	_, err := io.WriteString(a.w, "\x00\x00\x00"[:-written&3])
	check(err)
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
