package wording

import "testing"

func TestTypo(t *testing.T) {
	words := []string{"timeout", "command", "Bash"}
	for written, want := range map[string]string{"timout": "timeout", "bash": "Bash", "comand": "command", "zzz": "", "": ""} {
		if got := Typo(written, words); got != want {
			t.Errorf("%q: %q, want %q", written, got, want)
		}
	}
}

func TestCuts(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Preview(" one\ntwo", 20), "one …"},
		{Preview("äöü", 3), "ä…"},
		{Preview("a\xffb", 20), "a\uFFFDb"},
		{Clip("äöü", 2), "äö…"},
		{Clip("äöü", 3), "äöü"},
		{Runes("äöü", 2), "äö"},
		{Runes("äöü", 9), "äöü"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
