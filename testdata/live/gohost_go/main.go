// A program that opens a plugin and calls its function Waits.
package main

import (
	"os"
	"plugin"
)

func main() {
	p, err := plugin.Open(os.Args[1])
	if err != nil {
		panic(err)
	}
	waits, err := p.Lookup("Waits")
	if err != nil {
		panic(err)
	}
	waits.(func())()
}
