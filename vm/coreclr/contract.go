package coreclr

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// contract is what a runtime says of its own structures: its data contract descriptor. Unknown keys mean nothing to
// us; what is not there has to come from a table.
//
// Source: docs/design/datacontracts/contract-descriptor.md and data_descriptor.md of dotnet/runtime.
type contract struct {
	contracts map[string]string
	offsets   map[string]int64  // by "Type.Field"; "Type.!" is the size of the type
	globals   map[string]uint64 // numbers, and addresses of the runtime's variables
}

const (
	contractMagic  = 0x0043414443434e44
	contractHeader = 40
	maxContract    = 1 << 20 // bytes of JSON; 10 KB were seen
	maxPointers    = 1 << 12
)

var errContract = errors.New("its contract descriptor is malformed")

var order = binary.LittleEndian

// readContract reads the descriptor at a.
func readContract(v *view.View, a mem.Addr) (*contract, error) {
	var header [contractHeader]byte
	if _, err := v.ReadMem(header[:], a); err != nil {
		return nil, fmt.Errorf("read contract descriptor: %w", err)
	}
	size, pointers := order.Uint32(header[12:]), order.Uint32(header[24:])
	if order.Uint64(header[:]) != contractMagic || size == 0 || size > maxContract || pointers > maxPointers {
		return nil, errContract
	}
	text, data := make([]byte, size), make([]byte, 8*pointers)
	if _, err := v.ReadMem(text, mem.Addr(order.Uint64(header[16:]))); err != nil {
		return nil, fmt.Errorf("read contract descriptor: %w", err)
	}
	if _, err := v.ReadMem(data, mem.Addr(order.Uint64(header[32:]))); err != nil {
		return nil, fmt.Errorf("read contract descriptor: %w", err)
	}
	return parseContract(text, data)
}

// parseContract reads the descriptor's JSON, whose references are to words of pointers.
func parseContract(text, pointers []byte) (*contract, error) {
	var doc struct {
		Contracts map[string]json.RawMessage
		Types     map[string]map[string]json.RawMessage
		Globals   map[string]json.RawMessage
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("%w: %w", errContract, err)
	}
	c := &contract{contracts: map[string]string{}, offsets: map[string]int64{}, globals: map[string]uint64{}}
	for name, raw := range doc.Contracts {
		c.contracts[name] = unquoted(raw)
	}
	for name, fields := range doc.Types {
		for field, raw := range fields {
			if n, ok := number(first(raw)); ok && n < 1<<31 {
				c.offsets[name+"."+field] = int64(n)
			}
		}
	}
	for name, raw := range doc.Globals {
		if value, ok := global(raw, pointers); ok {
			c.globals[name] = value
		}
	}
	return c, nil
}

// global is a value: a number or [number], [number, type]; or a reference to pointers: [[index], type].
func global(raw json.RawMessage, pointers []byte) (uint64, bool) {
	value := first(raw)
	if inner := first(value); string(inner) != string(value) {
		index, ok := number(inner)
		if !ok || index >= uint64(len(pointers)/8) {
			return 0, false
		}
		return order.Uint64(pointers[8*index:]), true
	}
	return number(value)
}

// first is the first element of an array, and anything else itself.
func first(raw json.RawMessage) json.RawMessage {
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		return list[0]
	}
	return raw
}

// number reads a number, which may be a string, and may be hexadecimal then.
func number(raw json.RawMessage) (uint64, bool) {
	n, err := strconv.ParseUint(unquoted(raw), 0, 64)
	return n, err == nil
}

func unquoted(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	return string(raw)
}
