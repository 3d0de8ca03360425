// Package python samples scripts in several versions of CPython, and compares each stack with what faulthandler writes
// at the same instant, or with what the script is known to do.
package python
