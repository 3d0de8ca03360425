//go:build !race

package cpython

const racing = false
