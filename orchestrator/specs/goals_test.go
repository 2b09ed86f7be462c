package specs

import "testing"

func TestNext(t *testing.T) {
	tests := []struct {
		name        string
		spec, given string // now: in the spec, on the command line
		was         Goal
		want        string
	}{
		{"the spec's", "ship", "", Goal{}, "ship"},
		{"none at all", "", "", Goal{}, ""},
		{"one on the command line", "ship", "paint", Goal{}, "paint"},
		{"which counts on", "ship", "", Goal{Spec: "ship", Given: "paint"}, "paint"},
		{"until another is given", "ship", "sand", Goal{Spec: "ship", Given: "paint"}, "sand"},
		{"or the spec's changes", "sail", "", Goal{Spec: "ship", Given: "paint"}, "sail"},
		{"a spec without one counts on too", "", "", Goal{Spec: "", Given: "paint"}, "paint"},
		{"the spec loses its goal", "", "", Goal{Spec: "ship", Given: "ship"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := tt.was.Next(tt.given, tt.spec); got.Given != tt.want || got.Spec != tt.spec &&
				got != tt.was ||
				got.No != tt.was.No+1 && got != tt.was {
				t.Errorf("Next = %+v, want %q", got, tt.want)
			}
		})
	}
}
