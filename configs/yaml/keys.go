package yaml

// Keys returns the table of the mapping that p takes itself, as an entry of a list, or
// under a name. It is nil if p takes no mapping, or one whose keys depend on its type.
func Keys(p Part) []Field {
	if p, ok := p.(interface{ keys() []Field }); ok {
		return p.keys()
	}
	return nil
}

func (p objectPart) keys() []Field  { return p.fields }
func (p eitherPart) keys() []Field  { return Keys(p.long) }
func (p sharedPart) keys() []Field  { return Keys(p.Part) }
func (p aroundPart) keys() []Field  { return Keys(p.Part) }
func (p listPart[T]) keys() []Field { return Keys(p.part(new(T))) }
func (p dictPart[T]) keys() []Field { return Keys(p.part(new(T))) }
