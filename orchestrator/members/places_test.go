package members

import (
	"slices"
	"testing"
)

// TestPlaces: a name is looked up again only if another one stood at its place, or none.
func TestPlaces(t *testing.T) {
	var p Places[string]
	look := func(names ...string) (found, looked []string) {
		for i, name := range names {
			found = append(found, p.At(i, name, func(name string) string {
				looked = append(looked, name)
				return "of " + name
			}))
		}
		return found, looked
	}
	for i, tt := range []struct{ names, looked []string }{
		{names: []string{"lead", "ana", "ben"}, looked: []string{"lead", "ana", "ben"}},
		{names: []string{"lead", "ana", "ben"}},
		{names: []string{"lead", "ben"}, looked: []string{"ben"}},
		{names: []string{"lead", "ben", "ben", "eva"}, looked: []string{"eva"}},
	} {
		found, looked := look(tt.names...)
		for j, name := range tt.names {
			if found[j] != "of "+name {
				t.Errorf("round %d: %s has %q", i, name, found[j])
			}
		}
		if !slices.Equal(looked, tt.looked) {
			t.Errorf("round %d looked for %q, want %q", i, looked, tt.looked)
		}
	}
}
