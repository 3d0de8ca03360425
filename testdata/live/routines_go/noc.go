//go:build !cgo

package main

func callC() {}
