package configs

// rings walks from each of names along next and calls found for each step that closes a
// ring: the last name of path leads to its first one. A name that leads to itself is a
// ring of one. path is only valid during the call.
//
// Each name is visited once, so the whole is linear in names and steps.
func rings(names []string, next func(name string) []string, found func(path []string)) {
	const left = -1
	place := map[string]int{} // on path, counted from 1; left: not on it any more
	var path []string
	var visit func(name string)
	visit = func(name string) {
		path = append(path, name)
		place[name] = len(path)
		for _, other := range next(name) {
			switch at := place[other]; {
			case at > 0:
				found(path[at-1:])
			case at == 0:
				visit(other)
			}
		}
		path = path[:len(path)-1]
		place[name] = left
	}
	for _, name := range names {
		if place[name] == 0 {
			visit(name)
		}
	}
}
