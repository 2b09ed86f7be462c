package launch

import (
	"slices"
	"strings"
	"testing"
)

// secrets are variables as they lie in people's environments.
func secrets() []string {
	return []string{
		"ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY", "GOOGLE_API_KEY", "MISTRAL_API_KEY", "GROQ_API_KEY",
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AZURE_CLIENT_SECRET", "GITHUB_TOKEN", "GH_TOKEN",
		"GITLAB_TOKEN", "NPM_TOKEN", "PYPI_TOKEN", "DOCKER_PASSWORD", "DATABASE_URL", "STRIPE_SECRET_KEY", "SLACK_BOT_TOKEN",
		"VAULT_TOKEN", "KUBECONFIG", "PGPASSWORD", "HF_TOKEN", "SENTRY_DSN", "LD_PRELOAD", "BASH_ENV", "ENV", "GIT_ASKPASS", "GOOGLE_APPLICATION_CREDENTIALS",
		"GRADLE_PUBLISH_SECRET",
		"CLAUDE_CODE_OAUTH_TOKEN", "path", "MYPATH", "COVEY_PASS_ENV",
	}
}

func TestEnvironmentIsAnAllowList(t *testing.T) {
	passed := []string{"PATH=/bin", "HOME=/home/u", "LC_ALL=C", "XDG_STATE_HOME=/s", "GOFLAGS=-mod=mod",
		"HTTPS_PROXY=http://p", "TZ="}
	environ := slices.Clone(passed)
	for _, name := range secrets() {
		environ = append(environ, name+"=secret")
	}
	environ = append(environ, "=odd", "NOVALUE", "")
	if got := Environment(environ); !slices.Equal(got, passed) {
		t.Errorf("children see %v, want %v", got, passed)
	}
}

func TestPassEnvironment(t *testing.T) {
	environ := []string{"NPM_TOKEN=n", "AWS_REGION=r", "AWS_PROFILE=p", "GH_TOKEN=g", "[=x"}
	for pass, want := range map[string]string{
		"":                      "",
		"NPM_TOKEN":             "NPM_TOKEN=n",
		" NPM_TOKEN , GH_TOKEN": "NPM_TOKEN=n GH_TOKEN=g",
		"AWS_*":                 "AWS_REGION=r AWS_PROFILE=p",
		"[,GH_TOKEN":            "GH_TOKEN=g", // a pattern that is none matches nothing
		",":                     "",
	} {
		got := strings.Join(Environment(append(slices.Clone(environ), passVariable+"="+pass)), " ")
		if got != want {
			t.Errorf("with %s=%q children see %q, want %q", passVariable, pass, got, want)
		}
	}
}
