//go:build race

package cpython

// racing: sync.Pool drops what is put into it now and then.
const racing = true
