package profile

// RuntimeThread is what the runtime of a language knows of one of its threads.
type RuntimeThread struct {
	Language string // "Python"
	ID       uint64 // that the language has for it, 0 for none
	Name     string // that the program gave it, "" for none; any bytes
	// Facts are what it does, each for a person: "holds the GIL".
	Facts []string
}
