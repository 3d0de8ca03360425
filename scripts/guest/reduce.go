//go:build ignore

// Reduce stores what a replay needs of an ELF file: the file as it is, gzip'ed, with the contents
// of the named sections overwritten by zeros, which take next to no room then.
//
//	go run scripts/guest/reduce.go [-zero .text,.rodata] FILE FILE.gz
package main

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"flag"
	"log"
	"os"
	"slices"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("reduce: ")
	zero := flag.String("zero", "", "sections to overwrite, comma separated")
	flag.Parse()
	data, err := os.ReadFile(flag.Arg(0))
	check(err)
	f, err := elf.NewFile(bytes.NewReader(data))
	check(err)
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && slices.Contains(strings.Split(*zero, ","), s.Name) {
			clear(data[s.Offset : s.Offset+s.FileSize])
		}
	}
	out, err := os.Create(flag.Arg(1))
	check(err)
	z, err := gzip.NewWriterLevel(out, gzip.BestCompression)
	check(err)
	_, err = z.Write(data)
	check(err)
	check(z.Close())
	check(out.Close())
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
