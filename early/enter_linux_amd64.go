package early

// enter begins the program; nobody calls it.
func enter()
