package roster

// Places remembers what is known of each member by its place in a list, for who goes through
// the same list again and again: to look each name up in a map takes longer the more members
// there are. The zero Places remembers nothing. Several goroutines must not use it at once.
type Places[V any] struct{ list []place[V] }

type place[V any] struct {
	name  string
	value V
}

// At returns the value that find gave for a name the last time that it stood at a place; it
// calls find if another name stood there, or none.
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
