package merging

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestScriptsIn(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"./gate.sh":                                "./gate.sh",
		"policy/gate.sh --all x/y":                 "policy/gate.sh",
		"sh gate.sh":                               "gate.sh",
		"bash -eu 'my gate.sh' arg":                "my gate.sh",
		"python3 -u tools/check.py":                "tools/check.py",
		"/usr/bin/env python3 tools/check.py":      "tools/check.py",
		"A=1 ./gate.sh && B=2 sh b.sh | ./c.sh":    "./gate.sh b.sh ./c.sh",
		"timeout 5m nice -n 5 env X=1 ./gate.sh":   "./gate.sh",
		"sh -e gate.sh":                            "gate.sh",
		"perl -e 'exit' x.pl":                      "",
		"nohup sh gate.sh":                         "gate.sh",
		"if ./a.sh; then (./b.sh) else ./c.sh; fi": "./a.sh ./b.sh ./c.sh",
		". ./lib.sh; go test ./...":                "./lib.sh",
		"x=$(./count.sh)":                          "./count.sh",
		"go test ./... && gofmt -l main.go":        "",
		"sh -c ./gate.sh":                          "", // a text; the shell in it is beyond reach
		"python -m pytest tests/x.py":              "",
		"make check":                               "",
		"/opt/gate.sh":                             "",
		"~/gate.sh":                                "",
		"$DIR/gate.sh":                             "",
		"\"$CLAUDE_PROJECT_DIR\"/policy/gate.sh":   "",
		"shellcheck ./gate.sh":                     "", // what it looks at is under test
		"if then":                                  "", // no shell would take it
		"":                                         "",
	} {
		var got []string
		for _, w := range scriptsIn(line) {
			got = append(got, w.Value)
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s: scripts %q, want %q", line, got, want)
		}
	}
}

func TestReplaced(t *testing.T) {
	t.Parallel()
	line := `A=1 './a gate.sh' x && sh b.sh && ./c.sh`
	got := replaced(line, scriptsIn(line), map[string]string{"./a gate.sh": "/s/it's", "./c.sh": "/s/c"})
	if want := `A=1 '/s/it'\''s' x && sh b.sh && '/s/c'`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}

// Whatever a line is, reading it ends, and putting nothing in place changes nothing.
func TestScriptsInAnything(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		line := rapid.StringOf(rapid.SampledFrom([]rune("ab./ '\"$(){};&|\\\n=-"))).Draw(r, "line")
		words := scriptsIn(line)
		if got := replaced(line, words, nil); got != line {
			r.Fatalf("%q became %q", line, got)
		}
		for _, w := range words {
			if w.At < 0 || w.End > len(line) || w.At >= w.End {
				r.Fatalf("%q: a word at %d to %d", line, w.At, w.End)
			}
		}
	})
}
