package launch

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/coveyteam/covey/configs"
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
		t.Errorf("of a team: %q, want %q", got, want)
	}
	hidden := []string{
		"OPENAI_API_KEY", "openai_apikey", "AWS_SECRET_ACCESS_KEY", "npm_config__authToken", "PGPASSWORD", "MYSQL_PWD", "GH_TOKEN",
		"CLIENT_SECRET", "GITLAB_PAT", "KEY",
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
}
