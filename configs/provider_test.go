package configs

import "testing"

// TestProviders: what a spec may name as the URL of an API, and the API behind it.
func TestProviders(t *testing.T) {
	for _, tc := range []struct {
		of              Provider
		text, base, api string
	}{
		{Anthropic, "", "https://api.anthropic.com", apiMessages},
		{OpenAI, "", "https://api.openai.com/v1", apiResponses},
		{OpenAI, "https://api.openai.com/v1/", "https://api.openai.com/v1", apiResponses},
		{OpenAI, "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", apiChat},
		{Ollama, "", "http://127.0.0.1:11434/v1", apiChat},
		{Anthropic, "https://proxy.example.com/anthropic/", "https://proxy.example.com/anthropic", apiMessages},
	} {
		base, err := tc.of.Base(tc.text)
		if err != nil || base != tc.base || tc.of.API(base) != tc.api {
			t.Errorf("%s %q: %s %s, %v", tc.of, tc.text, base, tc.of.API(base), err)
		}
	}
	for _, text := range []string{"x", "ftp://host/v1", "https://", "https://a:b@host/v1", "https://host/v1?k=1", "https://host/v1#a", "https://host", "://"} {
		if base, err := OpenAI.Base(text); err == nil {
			t.Errorf("%q is %s", text, base)
		}
	}
}
