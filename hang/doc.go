// Package hang says of processes that were sampled some seconds apart whether they hang, and why: a verdict with its
// evidence.
//
// It is given a Case, plain values, and reads, stops and opens nothing.
package hang
