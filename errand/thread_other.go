//go:build !linux

package errand

func gettid() int { return 0 }

func wantsCPU(int) bool { return false }
