package provider

import "testing"

// TestBase: what a spec may name as the URL of an API, and the API behind it.
func TestBase(t *testing.T) {
	for _, tc := range []struct {
		of              Name
		text, base, api string
	}{
		{Anthropic, "", "https://api.anthropic.com", Messages},
		{OpenAI, "", "https://api.openai.com/v1", Responses},
		{OpenAI, "https://api.openai.com/v1/", "https://api.openai.com/v1", Responses},
		{OpenAI, "http://127.0.0.1:8000/v1", "http://127.0.0.1:8000/v1", Chat},
		{Ollama, "", "http://127.0.0.1:11434/v1", Chat},
		{Anthropic, "https://proxy.example.com/anthropic/", "https://proxy.example.com/anthropic", Messages},
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
