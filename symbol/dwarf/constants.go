package dwarf

// Tags, DWARF 5, 7.5.3.
const (
	tagClass       = 0x02 // DW_TAG_class_type
	tagEnumeration = 0x04 // DW_TAG_enumeration_type
	tagLexical     = 0x0b // DW_TAG_lexical_block
	tagMember      = 0x0d // DW_TAG_member
	tagCompileUnit = 0x11 // DW_TAG_compile_unit
	tagStructure   = 0x13 // DW_TAG_structure_type
	tagUnion       = 0x17 // DW_TAG_union_type
	tagInlined     = 0x1d // DW_TAG_inlined_subroutine
	tagModule      = 0x1e // DW_TAG_module
	tagWith        = 0x22 // DW_TAG_with_stmt
	tagCatch       = 0x25 // DW_TAG_catch_block
	tagSubprogram  = 0x2e // DW_TAG_subprogram
	tagTry         = 0x32 // DW_TAG_try_block
	tagInterface   = 0x38 // DW_TAG_interface_type
	tagNamespace   = 0x39 // DW_TAG_namespace
)

// Attributes, DWARF 5, 7.5.4; those above 0x2000 are extensions of MIPS and GNU.
const (
	atSibling        = 0x01 // DW_AT_sibling
	atName           = 0x03 // DW_AT_name
	atByteSize       = 0x0b // DW_AT_byte_size
	atStmtList       = 0x10 // DW_AT_stmt_list
	atLowPC          = 0x11 // DW_AT_low_pc
	atHighPC         = 0x12 // DW_AT_high_pc
	atLanguage       = 0x13 // DW_AT_language
	atCompDir        = 0x1b // DW_AT_comp_dir
	atAbstractOrigin = 0x31 // DW_AT_abstract_origin
	atMemberLocation = 0x38 // DW_AT_data_member_location
	atSpecification  = 0x47 // DW_AT_specification
	atRanges         = 0x55 // DW_AT_ranges
	atCallFile       = 0x58 // DW_AT_call_file
	atCallLine       = 0x59 // DW_AT_call_line
	atSignature      = 0x69 // DW_AT_signature
	atLinkageName    = 0x6e // DW_AT_linkage_name
	atStrOffsetsBase = 0x72 // DW_AT_str_offsets_base
	atAddrBase       = 0x73 // DW_AT_addr_base
	atRngListsBase   = 0x74 // DW_AT_rnglists_base
	atDwoName        = 0x76 // DW_AT_dwo_name

	atMIPSLinkageName = 0x2007 // DW_AT_MIPS_linkage_name
	atGNUDwoName      = 0x2130 // DW_AT_GNU_dwo_name
	atGNUDwoID        = 0x2131 // DW_AT_GNU_dwo_id
	atGNURangesBase   = 0x2132 // DW_AT_GNU_ranges_base
	atGNUAddrBase     = 0x2133 // DW_AT_GNU_addr_base
)

// Forms, DWARF 5, 7.5.6.
const (
	formAddr          = 0x01
	formBlock2        = 0x03
	formBlock4        = 0x04
	formData2         = 0x05
	formData4         = 0x06
	formData8         = 0x07
	formString        = 0x08
	formBlock         = 0x09
	formBlock1        = 0x0a
	formData1         = 0x0b
	formFlag          = 0x0c
	formSData         = 0x0d
	formStrp          = 0x0e
	formUData         = 0x0f
	formRefAddr       = 0x10
	formRef1          = 0x11
	formRef2          = 0x12
	formRef4          = 0x13
	formRef8          = 0x14
	formRefUData      = 0x15
	formIndirect      = 0x16
	formSecOffset     = 0x17
	formExprLoc       = 0x18
	formFlagPresent   = 0x19
	formStrx          = 0x1a
	formAddrx         = 0x1b
	formRefSup4       = 0x1c
	formStrpSup       = 0x1d
	formData16        = 0x1e
	formLineStrp      = 0x1f
	formRefSig8       = 0x20
	formImplicitConst = 0x21
	formLocListx      = 0x22
	formRngListx      = 0x23
	formRefSup8       = 0x24
	formStrx1         = 0x25
	formStrx2         = 0x26
	formStrx3         = 0x27
	formStrx4         = 0x28
	formAddrx1        = 0x29
	formAddrx2        = 0x2a
	formAddrx3        = 0x2b
	formAddrx4        = 0x2c
	formGNUAddrIndex  = 0x1f01
	formGNUStrIndex   = 0x1f02
	formGNURefAlt     = 0x1f20
	formGNUStrpAlt    = 0x1f21
)

// Unit types, DWARF 5, 7.5.1.
const (
	utCompile      = 0x01 // DW_UT_compile
	utType         = 0x02 // DW_UT_type
	utPartial      = 0x03 // DW_UT_partial
	utSkeleton     = 0x04 // DW_UT_skeleton
	utSplitCompile = 0x05 // DW_UT_split_compile
	utSplitType    = 0x06 // DW_UT_split_type
)

// plain are languages whose names have no qualification: C (C89, C, C99, C11, C17, C23), Go, assembly.
// DWARF 5, 7.12; those above 0x25 are in the list of codes at dwarfstd.org/languages.html.
var plain = map[uint64]bool{0x01: true, 0x02: true, 0x0c: true, 0x1d: true, 0x2c: true, 0x3e: true,
	0x16: true, 0x8001: true, 0x31: true}

const tagSkeleton = 0x4a // DW_TAG_skeleton_unit

const tagPartialUnit = 0x3c // DW_TAG_partial_unit
