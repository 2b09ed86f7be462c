package yaml

// Keys returns the table of the mapping that p takes itself, as an entry of a list, or
// under a name. It is nil if p takes no mapping, or one whose keys depend on its type.
func Keys(p Part) []Field {
	if p, ok := p.(interface{ keys() []Field }); ok {
		return p.keys()
	}
	return nil
}

// Named reports whether p takes a mapping whose keys are names.
func Named(p Part) bool {
	switch p := p.(type) {
	case sharedPart:
		return Named(p.Part)
	case aroundPart:
		return Named(p.Part)
	}
	_, named := p.(interface{ named() })
	return named
}

func (p dictPart[T]) named() {}

func (p objectPart) keys() []Field  { return p.fields }
func (p eitherPart) keys() []Field  { return Keys(p.long) }
func (p sharedPart) keys() []Field  { return Keys(p.Part) }
func (p aroundPart) keys() []Field  { return Keys(p.Part) }
func (p listPart[T]) keys() []Field { return Keys(p.part(new(T))) }
func (p dictPart[T]) keys() []Field { return Keys(p.part(new(T))) }
