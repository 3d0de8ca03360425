package early

// enter begins the program; nobody calls it.
//
//lint:ignore U1000 the linker names it
func enter()
