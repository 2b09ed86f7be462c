package launch

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/teammate/agent"
)

// TestModelKeys: each key of a model in a spec is in the bytes of its requests, for each API. The
// fallback has a test of its own in cmd/covey.
func TestModelKeys(t *testing.T) {
	for name, tc := range map[string]struct {
		spec string // of the model; URL is the server's
		want string // path, key, then fields of the body
	}{
		"messages": {`{provider: anthropic, model: claude-sonnet-4-5, base_url: "URL", key_file: key, max_output: 900, thinking: low, headers: {X-Team: crew}}`,
			`/v1/messages K1 crew claude-sonnet-4-5 max_tokens=2900 thinking={"budget_tokens":2000,"type":"enabled"}`},
		"messages, adaptive": {`{provider: anthropic, model: claude-opus-5, base_url: "URL/gate/", key_file: key, thinking: high, headers: {X-Team: crew}}`,
			`/gate/v1/messages K1 crew claude-opus-5 max_tokens=16000 output_config={"effort":"high"} thinking={"type":"adaptive"}`},
		"responses": {`{provider: openai, model: gpt-5, api: responses, base_url: "URL/v1", key_file: key, max_output: 900, thinking: medium, temperature: 0.2, headers: {X-Team: crew}}`,
			`/v1/responses Bearer K1 crew gpt-5 max_output_tokens=900 reasoning={"effort":"medium"} store=false temperature=0.2`},
		"chat by default": {`{provider: openai, model: qwen3, base_url: "URL/v1", key_file: key, max_output: 900, thinking: high, temperature: 0, headers: {X-Team: crew, User-Agent: mine}}`,
			`/v1/chat/completions Bearer K1 crew qwen3 max_tokens=900 reasoning_effort="high" temperature=0`},
		"no key, and no thinking": {`{provider: ollama, model: "qwen3:8b", base_url: "URL/v1", thinking: off}`, `/v1/chat/completions   qwen3:8b`},
	} {
		t.Run(name, func(t *testing.T) {
			var have string
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				body, err := io.ReadAll(r.Body)
				if err != nil {
					t.Error(err)
				}
				have = requestText(t, r, body)
				w.WriteHeader(http.StatusBadRequest)
			}))
			defer server.Close()
			dir := t.TempDir()
			t.Setenv("ANTHROPIC_API_KEY", "of the environment")
			t.Setenv("OPENAI_API_KEY", "of the environment")
			writeText(t, filepath.Join(dir, "key"), "K1\n")
			writeText(t, filepath.Join(dir, "team.yaml"),
				"covey: 1\ngoal: Go.\nlead: {model: "+strings.ReplaceAll(tc.spec, "URL", server.URL)+"}\n")
			team, err := configs.Load(filepath.Join(dir, "team.yaml"))
			if err != nil {
				t.Fatal(err)
			}
			m, err := NewModel(team.Lead.Agent.Model, nil, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			ask := func(want string) {
				t.Helper()
				req := agent.Request{Messages: []agent.Message{agent.TextMessage(agent.User, "Hello")}}
				if _, err := m.Generate(t.Context(), req); err == nil || strings.Contains(err.Error(), "K1") {
					t.Errorf("error %v", err)
				}
				if have != want {
					t.Errorf("%s\nwant %s", have, want)
				}
			}
			ask(tc.want)
			writeText(t, filepath.Join(dir, "key"), "K2\n") // it is replaced while the team runs
			ask(strings.Replace(tc.want, "K1", "K2", 1))
		})
	}
}

// requestText renders what keys of a model change of a request.
func requestText(t *testing.T, r *http.Request, body []byte) string {
	t.Helper()
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(body, &fields); err != nil {
		t.Error(err)
	}
	var model string
	if err := json.Unmarshal(fields["model"], &model); err != nil {
		t.Error(err)
	}
	text := fmt.Sprintf("%s %s%s %s %s", r.URL.Path, r.Header.Get("X-Api-Key"), r.Header.Get("Authorization"), r.Header.Get("X-Team"), model)
	for _, key := range []string{"max_output_tokens", "max_tokens", "output_config", "reasoning", "reasoning_effort", "store", "temperature", "thinking"} {
		if v := fields[key]; v != nil {
			text += " " + key + "=" + string(v)
		}
	}
	return text
}

func writeText(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestStoredModel: what is stored names one model, also in a spec with one name at two hosts.
func TestStoredModel(t *testing.T) {
	team := &configs.Team{Models: map[string]configs.Model{}}
	for _, name := range []string{"a", "b", "c", "d"} {
		team.Models[name] = configs.Model{Name: name, Provider: configs.OpenAI, Model: "m", BaseURL: "https://" + name}
	}
	for stored, want := range map[string]string{
		"openai/m at https://c": "c", "openai/m at https://d": "d", "openai/m at https://e": "", "openai/m": "",
	} {
		for range 20 { // maps have no order
			if m, ok := StoredModel(team, stored); m.Name != want || ok != (want != "") {
				t.Errorf("%s is %q, %v; want %q", stored, m.Name, ok, want)
			}
		}
	}
}
