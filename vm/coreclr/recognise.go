package coreclr

import (
	"bytes"
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/symbol"
)

// What a runtime exports. Source: src/coreclr/dlls/mscoree/mscorwks_unixexports.src.
const (
	dacTable   = "g_dacTable"
	descriptor = "DotNetRuntimeContractDescriptor"
)

// Version is that of a runtime, as 9.0.5.
type Version struct{ Major, Minor, Patch int }

func (v Version) String() string { return fmt.Sprintf("%d.%d.%d", v.Major, v.Minor, v.Patch) }

// object is what an ELF object that holds CoreCLR exports.
type object struct {
	m           *module.Module
	port        *port
	table       module.Vaddr // of g_dacTable
	slots       uint64       // entries of it
	contract    module.Vaddr // of the contract descriptor, if hasContract
	hasContract bool
	version     Version // zero if it does not say one
}

// recognise returns what m exports if it holds CoreCLR, nil if it does not. A program that was compiled ahead of time
// may have the descriptor, and has no table for the debugger.
func recognise(m *module.Module) *object {
	port := portOf(m)
	if port == nil {
		return nil
	}
	names := symbol.OpenDynamic(m)
	if names == nil {
		return nil
	}
	o := &object{m: m, port: port}
	var size uint64
	var ok bool
	if o.table, size, ok = names.Lookup(dacTable); !ok {
		return nil
	}
	o.slots = size / wordSize
	o.contract, _, o.hasContract = names.Lookup(descriptor)
	o.version = versionIn(m)
	return o
}

// versionMark begins what a runtime says of itself in its read-only data: "@(#)Version 9.0.525.21509 @Commit: ...".
// Source: eng/native/version of dotnet/arcade.
var versionMark = []byte("@(#)Version ")

// versionIn finds the version in the data of m, zero if there is none.
func versionIn(m *module.Module) Version {
	for _, name := range []string{".rodata", ".data"} {
		_, data, _ := m.Plain(name)
		if i := bytes.Index(data, versionMark); i >= 0 {
			return parseVersion(data[i+len(versionMark):])
		}
	}
	return Version{}
}

// parseVersion reads "9.0.525.21509 ...": the third number is the patch times 100 and the year's last two digits
// or less.
func parseVersion(b []byte) Version {
	const most = 32
	b = b[:min(len(b), most)]
	if i := bytes.IndexByte(b, ' '); i >= 0 {
		b = b[:i]
	}
	var n [3]int
	parts := bytes.Split(b, []byte{'.'})
	if len(parts) < len(n) {
		return Version{}
	}
	for i := range n {
		v, err := strconv.ParseUint(string(parts[i]), 10, 16)
		if err != nil {
			return Version{}
		}
		n[i] = int(v)
	}
	return Version{n[0], n[1], n[2] / 100}
}
