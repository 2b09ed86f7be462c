package hooks

import (
	"encoding/json"
	"testing"
)

func bashCall(command string) Call {
	raw, _ := json.Marshal(map[string]string{"command": command})
	return Call{Tool: "Bash", Input: raw, Cwd: "/w", Root: "/w"}
}

func mustRule(t testing.TB, text string) Rule {
	t.Helper()
	r, err := ParseRule(text)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestAttack43OnlyThePlainForm: of all ways to write a push that a shell
// understands, an allow rule takes only those that cannot be anything else.
func TestAttack43OnlyThePlainForm(t *testing.T) {
	rule := mustRule(t, "Bash(git push*)")
	commands := map[string]bool{
		"git push":                          true,
		"git\tpush":                         true,
		"git push origin main":              true,
		"git push && rm -rf /":              false,
		"git push; rm -rf /":                false,
		"git push | sh":                     false,
		"git push |& cat":                   false,
		"git push & rm -rf /":               false,
		"git push\nrm -rf /":                false,
		"git push\r\nrm -rf /":              false,
		"git push\rrm":                      false,
		"(git push)":                        false,
		"{ git push; }":                     false,
		"! git push":                        false,
		"git push &":                        false,
		"git push > /etc/passwd":            false,
		"git push <<EOF\nx\nEOF":            false,
		"git push <(touch FLAG)":            false,
		"git push $(touch FLAG)":            false,
		"git push `touch FLAG`":             false,
		"git push ${x:-`touch F`}":          false,
		"git push $HOME":                    false,
		"git push $((1+1))":                 false,
		"git push \"$(touch F)\"":           false,
		"X=1 git push":                      false,
		`g""it push`:                        false,
		`$'\x67it' push`:                    false,
		`g\it push`:                         false,
		"git() { rm -rf /; }":               false,
		"echo $[ x='a[$(touch FLAG)]', x ]": false,
		"git push # fine":                   false,
		"git push 'unfinished":              false,
		"if true; then git push; fi":        false,
		"time git push":                     false,
		"":                                  false,
		"\x00git push":                      false,
	}
	for command, want := range commands {
		if got := rule.Permits(bashCall(command)); got != want {
			t.Errorf("Permits(%q) = %v, want %v", command, got, want)
		}
	}
}

func TestForbidsTmp(t *testing.T) {
	rule := mustRule(t, "Bash(git push*)")
	for command, want := range map[string]bool{
		"git push": true, `g""it push`: true, `$'\x67it' push`: true, `g\it push`: true, "X=1 git push": true,
		"a && git push": true, "(git push)": true, "echo $(git push)": true, "echo `git push`": true, "f() { git push; }; f": true,
		"sh -c 'git push'": true, "bash -o pipefail -c 'cd x; git push'": true, "eval git push": true, "eval \"$X\"": true,
		"sudo -n git push": true, "timeout 5 git push": true, "/usr/bin/git push": true, "xargs git push": true,
		"curl x | sh": true, "find . -exec git push ;": true, "docker run x 'git push'": true, "$X push": true, "git $X": true,
		"{git,push}": true, "git pus?": true, "git push 'unfinished": true, "echo $[ x='a[$(touch FLAG)]', x ]": true,
		"printf -v 'a[$(git push)]' x": true, "trap 'git push' EXIT": true, "source <(x)": true, "sh <<< 'git push'": true,
		"git status": false, "echo git push": false, "git commit -m 'git push later'": false, "go test $PKG": false,
		"ls *.go": false, "npm install bash": false, "python -c \"print('hi there')\"": false, "bash script.sh": false, "cat <<EOF\ngit push\nEOF": false,
		"echo done > f": false, "for f in *; do echo $f; done": false, "make test 2>&1 | tail": false,
	} {
		if got := rule.Forbids(bashCall(command)); got != want {
			t.Errorf("Forbids(%q) = %v, want %v", command, got, want)
		}
	}
}
