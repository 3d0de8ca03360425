package metadata

import "slices"

// The tables that are read here, by their number.
const (
	modules        = 0x00
	typeDefs       = 0x02
	fieldPtrs      = 0x03
	fieldDefs      = 0x04
	methodPtrs     = 0x05
	methodDefs     = 0x06
	interfaceImpls = 0x09
	memberRefs     = 0x0a
	typeSpecs      = 0x1b
	assemblies     = 0x20
	nestedClasses  = 0x29
	genericParams  = 0x2a

	documents    = 0x30
	methodDebugs = 0x31
	machines     = 0x36

	tableCount = 0x38
)

// column is the kind of one column of a table: below tableCount an index into that table, else one of these.
type column uint8

const (
	u16 column = 0x40 + iota
	u32
	stringIndex
	guidIndex
	blobIndex
)

const (
	typeDefOrRef column = 0x80 + iota
	hasConstant
	hasCustomAttribute
	hasFieldMarshal
	hasDeclSecurity
	memberRefParent
	hasSemantics
	methodDefOrRef
	memberForwarded
	implementation
	customAttributeType
	resolutionScope
	typeOrMethodDef
	hasCustomDebugInformation
)

// coded are the tables that an index of several may mean, by its lowest bits. Source: ECMA-335 II.24.2.6.
var coded = [...][]uint8{
	typeDefOrRef - 0x80:              {0x02, 0x01, 0x1b},
	hasConstant - 0x80:               {0x04, 0x08, 0x17},
	hasCustomAttribute - 0x80:        attributed,
	hasFieldMarshal - 0x80:           {0x04, 0x08},
	hasDeclSecurity - 0x80:           {0x02, 0x06, 0x20},
	memberRefParent - 0x80:           {0x02, 0x01, 0x1a, 0x06, 0x1b},
	hasSemantics - 0x80:              {0x14, 0x17},
	methodDefOrRef - 0x80:            {0x06, 0x0a},
	memberForwarded - 0x80:           {0x04, 0x06},
	implementation - 0x80:            {0x26, 0x23, 0x27},
	customAttributeType - 0x80:       {unused, unused, 0x06, 0x0a, unused},
	resolutionScope - 0x80:           {0x00, 0x1a, 0x23, 0x01},
	typeOrMethodDef - 0x80:           {0x02, 0x06},
	hasCustomDebugInformation - 0x80: slices.Concat(attributed, []uint8{0x30, 0x32, 0x33, 0x34, 0x35}),
}

// unused is a number that no table of modules has.
const unused = 0x2f

var attributed = []uint8{0x06, 0x04, 0x01, 0x02, 0x08, 0x09, 0x0a, 0x00, 0x0e, 0x17, 0x14, 0x11, 0x1a, 0x1b, 0x20,
	0x23, 0x26, 0x27, 0x28, 0x2a, 0x2c, 0x2b}

// schema is the columns of each table. Two single bytes are one u16. Source: ECMA-335 II.22; from 0x30 on
// PortablePdb-Metadata.md.
var schema = [tableCount][]column{
	0x00: {u16, stringIndex, guidIndex, guidIndex, guidIndex},
	0x01: {resolutionScope, stringIndex, stringIndex},
	0x02: {u32, stringIndex, stringIndex, typeDefOrRef, 0x04, 0x06},
	0x03: {0x04},
	0x04: {u16, stringIndex, blobIndex},
	0x05: {0x06},
	0x06: {u32, u16, u16, stringIndex, blobIndex, 0x08},
	0x07: {0x08},
	0x08: {u16, u16, stringIndex},
	0x09: {0x02, typeDefOrRef},
	0x0a: {memberRefParent, stringIndex, blobIndex},
	0x0b: {u16, hasConstant, blobIndex},
	0x0c: {hasCustomAttribute, customAttributeType, blobIndex},
	0x0d: {hasFieldMarshal, blobIndex},
	0x0e: {u16, hasDeclSecurity, blobIndex},
	0x0f: {u16, u32, 0x02},
	0x10: {u32, 0x04},
	0x11: {blobIndex},
	0x12: {0x02, 0x14},
	0x13: {0x14},
	0x14: {u16, stringIndex, typeDefOrRef},
	0x15: {0x02, 0x17},
	0x16: {0x17},
	0x17: {u16, stringIndex, blobIndex},
	0x18: {u16, 0x06, hasSemantics},
	0x19: {0x02, methodDefOrRef, methodDefOrRef},
	0x1a: {stringIndex},
	0x1b: {blobIndex},
	0x1c: {u16, memberForwarded, stringIndex, 0x1a},
	0x1d: {u32, 0x04},
	0x1e: {u32, u32},
	0x1f: {u32},
	0x20: {u32, u16, u16, u16, u16, u32, blobIndex, stringIndex, stringIndex},
	0x21: {u32},
	0x22: {u32, u32, u32},
	0x23: {u16, u16, u16, u16, u32, blobIndex, stringIndex, stringIndex, blobIndex},
	0x24: {u32, 0x23},
	0x25: {u32, u32, u32, 0x23},
	0x26: {u32, stringIndex, blobIndex},
	0x27: {u32, u32, stringIndex, stringIndex, implementation},
	0x28: {u32, u32, stringIndex, implementation},
	0x29: {0x02, 0x02},
	0x2a: {u16, u16, typeOrMethodDef, stringIndex},
	0x2b: {methodDefOrRef, blobIndex},
	0x2c: {0x2a, typeDefOrRef},
	0x30: {blobIndex, guidIndex, blobIndex, guidIndex},
	0x31: {0x30, blobIndex},
	0x32: {0x06, 0x35, 0x33, 0x34, u32, u32},
	0x33: {u16, u16, stringIndex},
	0x34: {stringIndex, blobIndex},
	0x35: {0x35, blobIndex},
	0x36: {0x06, 0x06},
	0x37: {hasCustomDebugInformation, guidIndex, blobIndex},
}

// maxColumns is how many columns a table has at the most.
const maxColumns = 9

// The bits of the byte that says how wide indexes into heaps are.
const (
	wideStrings = 1 << iota
	wideGuids
	wideBlobs
	extraData = 0x40 // four bytes follow the row counts (System.Reflection.Metadata, HeapSizeFlag.ExtraData)
)

// width is how many bytes a column takes.
func (c column) width(heaps uint8, rows *[tableCount]uint32) uint8 {
	wide := false
	switch {
	case c == u16:
	case c == u32:
		wide = true
	case c == stringIndex:
		wide = heaps&wideStrings != 0
	case c == guidIndex:
		wide = heaps&wideGuids != 0
	case c == blobIndex:
		wide = heaps&wideBlobs != 0
	case c >= typeDefOrRef:
		tables := coded[c-typeDefOrRef]
		limit := uint32(1) << (16 - tagBits(len(tables)))
		for _, n := range tables {
			wide = wide || rows[n] >= limit
		}
	default:
		wide = rows[c] >= 1<<16
	}
	if wide {
		return 4
	}
	return 2
}

// tagBits is how many bits tell n tables apart.
func tagBits(n int) int {
	k := 0
	for 1<<k < n {
		k++
	}
	return k
}
