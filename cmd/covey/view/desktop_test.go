package view

import "testing"

// TestDesktopNotice: the sequence that the terminal knows, from which no text breaks out.
func TestDesktopNotice(t *testing.T) {
	for _, tc := range []struct{ name, value, want string }{
		{"TERM", "xterm-256color", "\x1b]9;covey a, b: ask; \\x1b]0;x\\x07 now\x07"},
		{"VTE_VERSION", "7600", "\x1b]777;notify;covey a, b;ask; \\x1b]0;x\\x07 now\x07"},
		{"TERM", "foot", "\x1b]777;notify;covey a, b;ask; \\x1b]0;x\\x07 now\x07"},
		{"TMUX", "/tmp/tmux", "\x1bPtmux;\x1b\x1b]9;covey a, b: ask; \\x1b]0;x\\x07 now\x07\x1b\\"},
	} {
		env := func(name string) string {
			if name == tc.name {
				return tc.value
			}
			return ""
		}
		if got := DesktopNotice(env, "covey a; b", "ask; \x1b]0;x\x07\nnow"); got != tc.want {
			t.Errorf("%s=%s: %q, want %q", tc.name, tc.value, got, tc.want)
		}
	}
}
