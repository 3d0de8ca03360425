//go:build ignore

// Reduce stores what a replay needs of an ELF file: the file as it is, gzip'ed, with the contents
// of the named sections overwritten by zeros, which take next to no room then. Functions that are
// named, or whose prefix is, keep their instructions.
//
//	go run scripts/guest/reduce.go [-zero .text,.rodata] [-keep main.*,start] FILE FILE.gz
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
	keep := flag.String("keep", "", "functions to keep in them, comma separated; name* is a prefix")
	flag.Parse()
	data, err := os.ReadFile(flag.Arg(0))
	check(err)
	f, err := elf.NewFile(bytes.NewReader(data))
	check(err)
	for _, s := range f.Sections {
		if s.Type != elf.SHT_NOBITS && slices.Contains(strings.Split(*zero, ","), s.Name) {
			old := slices.Clone(data[s.Offset : s.Offset+s.FileSize])
			clear(data[s.Offset : s.Offset+s.FileSize])
			for _, y := range functions(f, s, strings.Split(*keep, ",")) {
				at := y.Value - s.Addr
				copy(data[s.Offset+at:], old[at:at+y.Size])
			}
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

// functions lists the functions of s that one of the names stands for.
func functions(f *elf.File, s *elf.Section, names []string) []elf.Symbol {
	all, err := f.Symbols()
	check(err)
	return slices.DeleteFunc(all, func(y elf.Symbol) bool {
		inside := elf.ST_TYPE(y.Info) == elf.STT_FUNC && y.Value >= s.Addr && y.Value+y.Size <= s.Addr+s.FileSize
		return !inside || !slices.ContainsFunc(names, func(name string) bool {
			prefix, ok := strings.CutSuffix(name, "*")
			return name == y.Name || ok && strings.HasPrefix(y.Name, prefix)
		})
	})
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
