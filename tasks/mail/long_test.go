package mail

import "testing"

func TestHead(t *testing.T) {
	for _, tt := range []struct {
		text  string
		limit int
		want  string
	}{
		{"short", 10, "short"},
		{"one line and more", 8, "one line"},
		{"first\nsecond", 9, "first"},
		{"a\nbcdefghij", 9, "a\nbcdefgh"}, // a cut at the line's end would lose most of it
		{"ääää", 3, "ä"},
	} {
		if got := Head(tt.text, tt.limit); got != tt.want {
			t.Errorf("Head(%q, %d) = %q, want %q", tt.text, tt.limit, got, tt.want)
		}
	}
}
