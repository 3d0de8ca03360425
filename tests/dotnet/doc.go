// Package dotnet runs programs of .NET in several versions of its runtime and compares what is shown of them with what
// the runtime says itself.
package dotnet
