package coreclr

import "github.com/fpstack/fpstack/maps/module"

// AheadOfTime reports whether m is of .NET and was compiled ahead of time as a whole (NativeAOT): it has no runtime to
// read, and its methods are native functions with tables and, where they were not stripped, symbols. The sections that
// tell it stay in stripped files too.
//
// Source: ObjectWriter of src/coreclr/tools/aot/ILCompiler.Compiler; MANAGEDCODE_SECTION and MODULES_SECTION in
// src/coreclr/nativeaot/Bootstrap/main.cpp of dotnet/runtime.
func AheadOfTime(m *module.Module) bool {
	if m.Err != nil {
		return false
	}
	_, code := m.Section("__managedcode")
	_, modules := m.Section("__modules")
	return code && modules
}
