package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/settings"
)

func TestSecrets(t *testing.T) {
	file := filepath.Join(t.TempDir(), "key")
	if err := os.WriteFile(file, []byte("from-a-file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	agent := configs.Agent{
		Name: "codex", Kind: configs.ACP, KeyFile: file,
		Env: []configs.EnvVar{
			{Name: "A", Value: "of-a-file", File: "/somewhere"}, {Name: "MY_TOKEN", Value: "named-so", Text: "named-so"},
			{Name: "B", Value: "from-the-environment", Text: "${MY_SECRET}"}, {Name: "MODE", Value: "harmless", Text: "harmless"},
		},
	}
	team := &configs.Team{Agents: map[string]configs.Agent{"codex": agent}, Lead: configs.Member{Name: "lead", Agent: agent}}
	want := []string{"from-a-file", "from-the-environment", "named-so", "of-a-file"}
	if got := Secrets(team, nil); !slices.Equal(got, want) {
		t.Errorf("of an agent: %q, want %q", got, want)
	}
	server := configs.MCPServer{Environ: []configs.EnvVar{{Name: "API_KEY", Value: "of-a-server", Text: "of-a-server"}}}
	hook := filepath.Join(t.TempDir(), "hook")
	if err := os.WriteFile(hook, []byte("of-a-webhook"), 0o600); err != nil {
		t.Fatal(err)
	}
	team.MCPServers, team.Notify = []configs.MCPServer{server}, []configs.Notify{{SecretFile: hook}}
	want = []string{"from-a-file", "from-the-environment", "named-so", "of-a-file", "of-a-server", "of-a-webhook"}
	if got := Secrets(team, nil); !slices.Equal(got, want) {
		t.Errorf("of a team: %q, want %q", got, want)
	}
	hidden := []string{
		"OPENAI_API_KEY", "openai_apikey", "AWS_SECRET_ACCESS_KEY", "npm_config__authToken", "PGPASSWORD", "MYSQL_PWD", "GH_TOKEN",
		"CLIENT_SECRET", "GITLAB_PAT", "KEY", "AWS_BEARER_TOKEN_BEDROCK",
	}
	environ := []string{"PWD=/home/user", "SSH_AUTH_SOCK=/tmp/agent", "MONKEY=banana-split", "PATH=/usr/bin", "TOKENIZER=some-name", "X_KEY=short", "=odd-value", ""}
	for _, name := range hidden {
		environ = append(environ, name+"=value of "+name)
	}
	got := Secrets(nil, environ)
	for _, name := range hidden {
		if !slices.Contains(got, "value of "+name) {
			t.Errorf("the value of %s would be shown", name)
		}
	}
	if len(got) != len(hidden) {
		t.Errorf("too many: %q", got)
	}
	got = Secrets(nil, []string{"ANTHROPIC_CUSTOM_HEADERS=X-First: of-a-header\nX-Second: of-another"})
	for _, header := range []string{"of-a-header", "of-another"} {
		if !slices.Contains(got, header) {
			t.Errorf("the header %s would be shown: %q", header, got)
		}
	}
}

// The path of a webhook's URL is its key, and so may be what a header has. Hosts and what many texts have stay.
func TestSecretsOfRequests(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, "settings.json")
	text := `{"hooks": {"Stop": [{"hooks": [{"type": "http", "url": "https://audit.example.com/in/4711abc?k=v",` +
		` "headers": {"X-Team": "Token $AUDIT and more", "Content-Type": "application/json"}, "allowedEnvVars": ["AUDIT"]}]}]}}`
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	model := configs.Model{Provider: "openai", BaseURL: "https://models.example.com", Headers: map[string]string{"X-Tenant": "of-a-model"}}
	server := configs.MCPServer{Server: settings.Server{URL: "https://mcp.example.com/", Headers: map[string]string{"X-Who": "of-a-server"}}}
	own := configs.Agent{Name: "own", Kind: configs.Builtin, Model: model}
	team := &configs.Team{
		Workspace: dir, Settings: []string{file}, MCPServers: []configs.MCPServer{server},
		Notify: []configs.Notify{{Webhook: "https://hooks.example.com/services/T0/B0/0815"}},
		Lead:   configs.Member{Name: "lead", Agent: own},
	}
	want := []string{"Token $AUDIT and more", "in/4711abc?k=v", "of-a-model", "of-a-server", "of-the-environment", "services/T0/B0/0815"}
	if got := Secrets(team, []string{"AUDIT=of-the-environment", "OTHER=harmless"}); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// What a member's shell could read is named, without its value: variables, files of keys, and the
// logins of all agent programs, also of those that the team does not use.
func TestSecretsAtHand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	for _, name := range []string{"CODEX_HOME", "CLAUDE_CONFIG_DIR", "GEMINI_CLI_HOME", "QWEN_HOME", "XDG_DATA_HOME"} {
		t.Setenv(name, "")
	}
	file, none := filepath.Join(home, "key"), filepath.Join(home, "none")
	for name, text := range map[string]string{"key": "from-a-file\n", ".codex/auth.json": "{}"} {
		path := filepath.Join(home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	agents := map[string]configs.Agent{
		"a": {Name: "a", Kind: configs.ACP, KeyFile: file}, "b": {Name: "b", Kind: configs.ACP, KeyFile: none},
	}
	team := &configs.Team{Agents: agents, Lead: configs.Member{Name: "lead", Agent: agents["a"]},
		Teammates: []configs.Member{{Name: "b", Agent: agents["b"]}, {Name: "c", Agent: agents["a"]}}}
	got := SecretsAtHand(team, []string{"PATH=/usr/bin", "GITHUB_TOKEN=ghs_value", "OPENAI_API_KEY=", "X_KEY=short"})
	want := []string{"the variable GITHUB_TOKEN", "the key file " + file, "the login of codex (~/.codex/auth.json is there)"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := SecretsAtHand(&configs.Team{}, nil); len(got) != 1 {
		t.Errorf("of an empty team: %q", got)
	}
}
