// Package cxx runs programs of C++ (scripts/build-cxx) whose coroutines are known, and compares what a dump lists with
// their sources.
package cxx
