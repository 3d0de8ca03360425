// Command typecheck checks the types of packages of the module as they are on other systems: names that a system has
// not, numbers that do not fit, fields of another type.
//
//	typecheck [-tests] -systems SYSTEM/ARCH,... [PACKAGE...]    of ./... without packages; -tests: with their tests
//
// It reads sources alone: dependencies are not compiled, and of their functions only the signatures are read. So it
// takes a fifth of what a build takes, and finds all that a compiler refuses but what its back end has to say.
//
// It exits with 1 if anything is wrong, after it has printed all of it.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	systems := flag.String("systems", "", "a list of `SYSTEM/ARCH`")
	tests := flag.Bool("tests", false, "check the tests of the packages too")
	flag.Parse()
	var list []string // of arguments of go list
	if *tests {
		list = append(list, "-test")
	}
	list = append(list, flag.Args()...)
	if flag.NArg() == 0 {
		list = append(list, "./...")
	}
	status := 0
	for system := range strings.SplitSeq(*systems, ",") {
		n, wrong, err := check(".", system, list)
		for _, e := range wrong {
			fmt.Printf("%s: %v\n", system, e)
		}
		if err != nil {
			fmt.Fprintf(os.Stderr, "typecheck: %s: %v\n", system, err)
		}
		if err != nil || len(wrong) > 0 {
			status = 1
		} else {
			fmt.Printf("%s: %d packages\n", system, n)
		}
	}
	os.Exit(status)
}

// listed is a package as go list prints it. Source: go help list.
type listed struct {
	ImportPath, Dir string
	GoFiles         []string
	ImportMap       map[string]string // what a path in its sources means, where that is another one
	Module          *struct{ Main bool }
}

// check checks the packages that go list lists in dir, and what they import first. n is how many are the module's own;
// a package counts once more with its tests.
func check(dir, system string, list []string) (n int, wrong []error, err error) {
	goos, arch, _ := strings.Cut(system, "/")
	sizes := types.SizesFor("gc", arch)
	if sizes == nil {
		return 0, nil, errors.New("unknown architecture: -systems wants SYSTEM/ARCH")
	}
	cmd := exec.Command("go", append([]string{"list", "-deps", "-json=ImportPath,Dir,GoFiles,ImportMap,Module"},
		list...)...)
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+arch, "CGO_ENABLED=0")
	out, err := cmd.Output()
	if err != nil {
		return 0, nil, fmt.Errorf("list packages: %w", err)
	}
	known := map[string]*types.Package{"unsafe": types.Unsafe}
	for list := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		if err := list.Decode(&p); errors.Is(err, io.EOF) {
			return n, wrong, nil
		} else if err != nil {
			return n, wrong, fmt.Errorf("list packages: %w", err)
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // a program of tests, written by go
			continue
		}
		own := p.Module != nil && p.Module.Main
		made, errs := p.check(known, sizes, own)
		known[p.ImportPath] = made
		if wrong = append(wrong, errs...); own {
			n++
		}
	}
}

// check checks one package whose imports are known.
func (p *listed) check(known map[string]*types.Package, sizes types.Sizes, own bool) (*types.Package, []error) {
	var wrong []error
	files := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range p.GoFiles {
		f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		parsed = append(parsed, f)
	}
	config := types.Config{Sizes: sizes, IgnoreFuncBodies: !own, Importer: importer{p, known},
		Error: func(err error) { wrong = append(wrong, err) }}
	path, _, _ := strings.Cut(p.ImportPath, " [") // of tests, with theirs in brackets
	made, err := config.Check(path, files, parsed, nil)
	if err != nil && len(wrong) == 0 {
		wrong = append(wrong, err)
	}
	return made, wrong
}

// importer finds what a package imports among those that were checked before.
type importer struct {
	p     *listed
	known map[string]*types.Package
}

func (i importer) Import(path string) (*types.Package, error) {
	if other, ok := i.p.ImportMap[path]; ok {
		path = other
	}
	if found := i.known[path]; found != nil {
		return found, nil
	}
	return nil, fmt.Errorf("%s is not listed before what imports it", path)
}
