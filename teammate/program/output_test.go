package program

import (
	"io"
	"os"
	"testing"
	"time"
)

// What a program has written is read although the time for it has passed, and a child that
// holds the pipe open does not keep the output from ending.
func TestOutputIsReadLate(t *testing.T) {
	t.Parallel()
	for name, script := range map[string]string{
		"nobody holds it":    "printf 'last words'",
		"a child holds it":   "printf 'last words'; sleep 600 &",
		"a child writes yet": "printf 'last words'; (while echo; do :; done) &",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, err := Start(ProcessOptions{Command: []string{"/bin/sh", "-c", script}, Env: os.Environ(), Grace: time.Second})
			if err != nil {
				t.Fatal(err)
			}
			defer p.Stop()
			<-p.Ended
			if err := p.Stdout.from.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			got, err := io.ReadAll(p.Stdout)
			if err != nil || !containsWords(got) || len(got) > maxRest {
				t.Errorf("read %d bytes, %.20q and %v", len(got), got, err)
			}
		})
	}
}

// containsWords reports whether an output has the last words, among the empty lines of a
// child.
func containsWords(out []byte) bool {
	var said []byte
	for _, b := range out {
		if b != '\n' {
			said = append(said, b)
		}
	}
	return string(said) == "last words"
}
