package script_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// realAgent returns the path of an agent program in the folder COVEY_AGENTS_DIR,
// which .ci/agents/install fills. Without the program it skips the test, or fails it
// if COVEY_AGENTS_REQUIRED is set.
func realAgent(t *testing.T, name string) string {
	t.Helper()
	missing := t.Skipf
	if os.Getenv("COVEY_AGENTS_REQUIRED") != "" {
		missing = t.Fatalf
	}
	dir := os.Getenv("COVEY_AGENTS_DIR")
	if dir == "" {
		missing("needs agent programs: COVEY_AGENTS_DIR must name the folder that .ci/agents/install prints")
	}
	path := filepath.Join(dir, "bin", name)
	if _, err := os.Stat(path); err != nil {
		missing("needs the agent program %s: %v; .ci/agents/install installs it", name, err)
	}
	if _, err := exec.LookPath("node"); err != nil {
		missing("needs node for the agent programs: %v", err)
	}
	return path
}

// recorder stores the bodies of the requests to a server.
type recorder struct {
	server http.Handler
	mu     sync.Mutex
	bodies []string
}

func (rec *recorder) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	rec.mu.Lock()
	rec.bodies = append(rec.bodies, string(body))
	rec.mu.Unlock()
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec.server.ServeHTTP(w, r)
}

// saw reports whether a request contained text.
func (rec *recorder) saw(text string) bool {
	rec.mu.Lock()
	defer rec.mu.Unlock()
	return strings.Contains(strings.Join(rec.bodies, "\n"), text)
}

// acpAgent is an agent program that uses ACP, with one JSON object per line.
type acpAgent struct {
	in    io.Writer
	out   *bufio.Scanner
	calls int
	said  strings.Builder
}

// startAgent runs a program in its own home and workspace.
func startAgent(t *testing.T, home string, env []string, command ...string) *acpAgent {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
	cmd.Dir = t.TempDir()
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "NO_BROWSER=true"}, env...)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	patience := time.AfterFunc(time.Minute, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() {
		// It ends when it is asked nothing more, and ends its own processes, which write to home.
		_ = in.Close()
		_ = cmd.Wait()
		patience.Stop()
	})
	agent := &acpAgent{in: in, out: bufio.NewScanner(out)}
	agent.out.Buffer(nil, 1<<24)
	return agent
}

// acpLine is a line of an agent: an answer, a request or a notification.
type acpLine struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Result json.RawMessage `json:"result"`
	Error  json.RawMessage `json:"error"`
	Params struct {
		Update struct {
			Kind    string          `json:"sessionUpdate"`
			Content json.RawMessage `json:"content"`
		} `json:"update"`
		Options []struct {
			ID   string `json:"optionId"`
			Kind string `json:"kind"`
		} `json:"options"`
	} `json:"params"`
}

// call sends a request and reads up to its answer. It allows the agent's requests
// for permission once, and stores the agent's texts.
func (a *acpAgent) call(t *testing.T, method, params string) json.RawMessage {
	t.Helper()
	a.calls++
	fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":%s}`+"\n", a.calls, method, params)
	for a.out.Scan() {
		var line acpLine
		if json.Unmarshal(a.out.Bytes(), &line) != nil {
			continue
		}
		switch {
		case line.Method == "" && string(line.ID) == fmt.Sprint(a.calls):
			if line.Error != nil {
				t.Fatalf("%s: %s", method, line.Error)
			}
			return line.Result
		case line.Method == "session/request_permission":
			for _, o := range line.Params.Options {
				if o.Kind == "allow_once" {
					fmt.Fprintf(a.in, `{"jsonrpc":"2.0","id":%s,"result":{"outcome":{"outcome":"selected","optionId":%q}}}`+"\n",
						line.ID, o.ID)
				}
			}
		case line.Params.Update.Kind == "agent_message_chunk":
			var content struct{ Text string }
			_ = json.Unmarshal(line.Params.Update.Content, &content)
			a.said.WriteString(content.Text)
		}
	}
	t.Fatalf("the agent ended during %s: %v", method, a.out.Err())
	return nil
}

// converse has a real agent follow a script: it must run the script's calls, show
// the results to the model, and say the script's texts.
func converse(t *testing.T, start func(url string) *acpAgent) {
	t.Helper()
	rec := &recorder{server: serverOf(t, `
steps:
  - say: I look first.
    call: [{tool: Bash, input: {command: "printf 'the-answer-is-%s' 42"}}]
  - when: the-answer-is-42
    say: I have seen it.
  - say: And a second turn.`)}
	server := httptest.NewServer(rec)
	t.Cleanup(server.Close)
	agent := start(server.URL)
	agent.call(t, "initialize", `{"protocolVersion":1,"clientCapabilities":{}}`)
	var session struct{ SessionID string }
	result := agent.call(t, "session/new", fmt.Sprintf(`{"cwd":%q,"mcpServers":[]}`, t.TempDir()))
	if err := json.Unmarshal(result, &session); err != nil || session.SessionID == "" {
		t.Fatalf("no session: %v %s", err, result)
	}
	for range 2 {
		result = agent.call(t, "session/prompt", fmt.Sprintf(
			`{"sessionId":%q,"prompt":[{"type":"text","text":"Follow the script."}]}`, session.SessionID))
		if !strings.Contains(string(result), `"end_turn"`) {
			t.Errorf("the turn ended with %s", result)
		}
	}
	if !rec.saw("the-answer-is-42") {
		t.Error("the model never saw the command's output")
	}
	for _, want := range []string{"I look first.", "I have seen it.", "And a second turn."} {
		if strings.Count(agent.said.String(), want) != 1 {
			t.Errorf("the agent said %q, want %q once", agent.said.String(), want)
		}
	}
}

// TestCodexFollowsScripts runs an agent that uses the Responses API.
func TestCodexFollowsScripts(t *testing.T) {
	program := realAgent(t, "codex-acp")
	converse(t, func(url string) *acpAgent {
		home := t.TempDir()
		config := fmt.Sprintf(`model = "mock-1"
model_provider = "mock"
approval_policy = "on-request"
sandbox_mode = "danger-full-access"
check_for_update_on_startup = false
analytics.enabled = false
feedback.enabled = false
[model_providers.mock]
name = "mock"
base_url = "%s/v1"
wire_api = "responses"
env_key = "MOCK_KEY"
request_max_retries = 1
stream_max_retries = 1
`, url)
		writeFile(t, filepath.Join(home, ".codex", "config.toml"), config)
		return startAgent(t, home, []string{"CODEX_HOME=" + filepath.Join(home, ".codex"), "MOCK_KEY=dummy"}, program)
	})
}

// TestGeminiFollowsScripts runs an agent that uses generateContent.
func TestGeminiFollowsScripts(t *testing.T) {
	program := realAgent(t, "gemini")
	converse(t, func(url string) *acpAgent {
		home := t.TempDir()
		writeFile(t, filepath.Join(home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}},
"general":{"sessionRetention":{"enabled":false},"disableAutoUpdate":true,"enableAutoUpdate":false},
"privacy":{"usageStatisticsEnabled":false},"telemetry":{"enabled":false}}`)
		return startAgent(t, home, []string{
			"GEMINI_API_KEY=dummy", "GOOGLE_GEMINI_BASE_URL=" + url, "GEMINI_CLI_TRUST_WORKSPACE=true",
			"GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_TELEMETRY_ENABLED=false",
		}, program, "--acp", "-m", "gemini-2.5-flash")
	})
}

// TestOpencodeFollowsScripts runs an agent that uses Chat Completions.
func TestOpencodeFollowsScripts(t *testing.T) {
	program := realAgent(t, "opencode")
	converse(t, func(url string) *acpAgent {
		return startAgent(t, t.TempDir(), []string{
			"OPENCODE_DISABLE_AUTOUPDATE=1", "OPENCODE_DISABLE_MODELS_FETCH=1", "OPENCODE_DISABLE_LSP_DOWNLOAD=1",
			"OPENCODE_DISABLE_DEFAULT_PLUGINS=1",
			fmt.Sprintf(`OPENCODE_CONFIG_CONTENT={"autoupdate":false,"share":"disabled","model":"mock/mock-1",
"small_model":"mock/mock-1","permission":{"bash":"ask"},"provider":{"mock":{"npm":"@ai-sdk/openai-compatible","name":"Mock",
"options":{"baseURL":"%s/v1","apiKey":"dummy"},"models":{"mock-1":{"name":"mock-1","tool_call":true,
"limit":{"context":100000,"output":4000}}}}}}`, url),
		}, program, "acp")
	})
}

// TestClaudeFollowsScripts runs an agent that uses Anthropic's Messages API.
func TestClaudeFollowsScripts(t *testing.T) {
	if os.Getenv("COVEY_AGENTS_WITHOUT") == "claude" {
		t.Skip("COVEY_AGENTS_WITHOUT leaves claude out")
	}
	program := realAgent(t, "claude-agent-acp")
	converse(t, func(url string) *acpAgent {
		home := t.TempDir()
		return startAgent(t, home, []string{
			"CLAUDE_CONFIG_DIR=" + filepath.Join(home, ".claude"), "ANTHROPIC_BASE_URL=" + url, "ANTHROPIC_API_KEY=dummy",
			"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1",
		}, program)
	})
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
