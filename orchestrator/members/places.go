package members

// Places caches a value for each member by its index in a list. It is for loops that go
// through the same list again and again, because a look-up by name in a map takes longer
// the more members there are. The zero Places is empty. It must not be used by several
// goroutines at once.
type Places[V any] struct{ list []place[V] }

type place[V any] struct {
	name  string
	value V
}

// At returns the cached value for name at index i. It calls find if the name at that index
// is new or has changed.
func (p *Places[V]) At(i int, name string, find func(name string) V) V {
	if i < len(p.list) && p.list[i].name == name {
		return p.list[i].value
	}
	value := find(name)
	if more := i + 1 - len(p.list); more > 0 {
		p.list = append(p.list, make([]place[V], more)...)
	}
	p.list[i] = place[V]{name, value}
	return value
}
