package requests

// Sorted are requests in the order in which they were asked, also grouped by member:
// the requests of one member are looked up far more often than the list changes.
type Sorted struct {
	All       []Request
	About, To map[string][]Request // by Request.Member and by Request.To
}

// Sort groups requests.
func Sort(all []Request) Sorted {
	sorted := Sorted{All: all, About: map[string][]Request{}, To: map[string][]Request{}}
	for _, r := range all {
		sorted.About[r.Member] = append(sorted.About[r.Member], r)
		sorted.To[r.To] = append(sorted.To[r.To], r)
	}
	return sorted
}
