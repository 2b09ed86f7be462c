package mcp

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/coveyteam/covey/hooks/testkit"
	"github.com/coveyteam/covey/orchestrator/process"
)

// The environment of a process that uses a token.
const (
	tokenURL    = "COVEY_TEST_TOKEN_URL"
	tokenValue  = "COVEY_TEST_TOKEN"
	tokenHidden = "COVEY_TEST_TOKEN_HIDDEN" // the process does not show its open files
)

// TestTokenProcess is not a test: other tests run it as a process of its own, to see
// whether it may use a token. It waits for a line on stdin and prints the status.
func TestTokenProcess(t *testing.T) {
	url := os.Getenv(tokenURL)
	if url == "" {
		t.Skip("run by other tests")
	}
	if _, err := bufio.NewReader(os.Stdin).ReadString('\n'); err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
	if os.Getenv(tokenHidden) != "" {
		if err := unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0); err != nil {
			fmt.Println(err)
			os.Exit(0)
		}
	}
	r, err := http.NewRequest(http.MethodPost, url, strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":`+
		`{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}`))
	if err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
	r.Header.Set("Authorization", "Bearer "+os.Getenv(tokenValue))
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		fmt.Println(err)
		os.Exit(0)
	}
	body, _ := io.ReadAll(io.LimitReader(answer.Body, 1<<10))
	fmt.Printf("%d %.300s\n", answer.StatusCode, body)
	os.Exit(0)
}

// useToken runs such a process below a shell, which is registered for an owner, and gives what it prints.
func useToken(t *testing.T, p *process.Processes, o *process.Owner, script string, env ...string) string {
	t.Helper()
	cmd := exec.Command("/bin/sh", "-c", script)
	cmd.Env = append(append(os.Environ(), env...), "USE="+testkit.Binary(t)+" -test.run=^TestTokenProcess$")
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	cmd.Stdout = &out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if o != nil {
		defer p.Register(cmd.Process.Pid, *o)()
	}
	if _, err := io.WriteString(in, "\n"); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// A member reads the token of another one's agent program, which stands in its
// environment, and uses it: the token counts only from processes of whom it was given to.
func TestTokenCountsOnlyBelowItsMember(t *testing.T) {
	if err := process.BecomeReaper(); err != nil {
		t.Fatal(err)
	}
	r := newRig(t)
	url, token, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{tokenURL + "=" + url, tokenValue + "=" + token}
	for _, c := range []struct {
		name, script string
		owner        *process.Owner
		want         string
	}{
		{"the member's program", "exec $USE", &process.Owner{Kind: process.MemberTool, Member: "dev"}, "200 "},
		{"a child of it", "$USE; true", &process.Owner{Kind: process.MemberTool, Member: "dev"}, "200 "},
		{"an orphan of it", "exec 3<&0; ( ( $USE <&3 ) & )", &process.Owner{Kind: process.MemberTool, Member: "dev"}, "200 "},
		{"another member's program", "exec $USE", &process.Owner{Kind: process.MemberTool, Member: "docs"}, "401 "},
		{"a hook of the member", "$USE; true", &process.Owner{Kind: process.Hook, Member: "dev"}, "401 "},
		{"a process that belongs to nobody", "$USE; true", nil, "401 "},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := useToken(t, r.server.deps.Processes, c.owner, c.script, env...); !strings.HasPrefix(got, c.want) {
				t.Errorf("it got %q, want %s", got, c.want)
			} else if c.want == "401 " && !strings.Contains(got, "it is the token of dev and counts only from a process of that member") {
				t.Errorf("the refusal says %q", got)
			}
		})
	}
}

// A program that does not show its open files is told what to use instead.
func TestHiddenProgramGetsNoTools(t *testing.T) {
	if os.Geteuid() == 0 {
		t.Skip("root may read everything; TestWithoutRoot runs this as another user")
	}
	r := newRig(t)
	url, token, err := r.server.Admit(r.members["dev"], false)
	if err != nil {
		t.Fatal(err)
	}
	env := []string{tokenURL + "=" + url, tokenValue + "=" + token, tokenHidden + "=1"}
	got := useToken(t, r.server.deps.Processes, &process.Owner{Kind: process.MemberTool, Member: "dev"}, "exec $USE", env...)
	if !strings.HasPrefix(got, "401 ") || !strings.Contains(got, process.ErrHidden.Error()) {
		t.Errorf("it got %q", got)
	}
}

// TestWithoutRoot runs the tests that root cannot fail as another user.
func TestWithoutRoot(t *testing.T) {
	testkit.WithoutRoot(t, "TestHiddenProgramGetsNoTools", "TestTokenCountsOnlyBelowItsMember")
}
