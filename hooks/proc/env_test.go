package proc

import (
	"slices"
	"testing"
)

func TestKeepEnv(t *testing.T) {
	environ := []string{"PATH=/bin", "LC_ALL=C", "LC=1", "TOKEN=x", "ODD[=y", "A=1=2", "PATH=/usr/bin", "EMPTY="}
	for _, tc := range []struct {
		name          string
		allowed, want []string
	}{
		{"nothing", nil, nil},
		{"names", []string{"PATH", "A", "EMPTY"}, []string{"PATH=/bin", "A=1=2", "PATH=/usr/bin", "EMPTY="}},
		{"a pattern", []string{"LC_*"}, []string{"LC_ALL=C"}},
		{"one letter", []string{"?"}, []string{"A=1=2"}},
		{"a pattern that is none", []string{"ODD[", "A"}, []string{"A=1=2"}},
		{"the beginning of a name", []string{"TOK", "TOKEN2"}, nil},
	} {
		t.Run(tc.name, func(t *testing.T) {
			before := slices.Clone(environ)
			if got := KeepEnv(environ, tc.allowed); !slices.Equal(got, tc.want) {
				t.Errorf("%q", got)
			}
			if !slices.Equal(environ, before) {
				t.Error("environ has changed")
			}
		})
	}
}
