package texts

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestMask(t *testing.T) {
	t.Parallel()
	key := "pässwörd-0815-xyz"
	file := "first-line-of-it\n  second-line-of-it\nend\n"
	for _, c := range []struct{ name, text, want string }{
		{"nothing", "", ""},
		{"no secret", "go test ./... is green", "go test ./... is green"},
		{"a value", "key=" + key + "; again " + key, "key=***; again ***"},
		{"twice in a row", key + key, "***"},
		{"cut at the end", "the key is pässwörd-0", "the key is ***"},
		{"cut with a mark", "the key is pässwö… and more", "the key is ***… and more"},
		{"cut before", "…\nörd-0815-xyz\n--- FAIL", "…\n***\n--- FAIL"},
		{"cut within a character", "the key is p\xc3", "the key is p\xc3"},
		{"its first letters", "the p", "the p"},
		{"lines of a file", "a first-line-of-it b second-line-of-it c end", "a *** b *** c end"},
		{"OpenAI", "use sk-proj-0123456789abcdef_x.", "use ***."},
		{"Anthropic, cut", "sk-ant-api03-a…", "***"},
		{"no key", "task-0123456789abcdefgh, risk-free, sk-learn", "task-0123456789abcdefgh, risk-free, sk-learn"},
		{"GitHub", "ghp_0123456789abcdefABCD github_pat_11AAAAAAA0123456789", "*** ***"},
		{"GitLab", "glpat-0123456789abcdefABCD", "***"},
		{"AWS", "AKIAIOSFODNN7EXAMPLE", "***"},
		{"Slack", "xoxb-123456789-abc", "***"},
		{"Bearer", "Authorization: Bearer abc.def-0123", "Authorization: Bearer ***"},
		{"a bearer in prose", "the bearer authentication of it", "the bearer authentication of it"},
		{"a password in a URL", "https://me:hunter2@host/x and https://host:80/@x", "https://me:***@host/x and https://host:80/@x"},
		{"a web token", "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIx.abc", "***"},
		{"a private key", "a\n-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\nb", "a\n***\nb"},
		{"YAML", "password: hunter2\nsecret: correcthorse\ntoken: abc123", "password: ***\nsecret: ***\ntoken: ***"},
		{"a shell", "DB_PASSWD=hunter2, API_KEY='abc-0815-xyz' go", "DB_PASSWD=***, API_KEY='***' go"},
		{"a program", `secret := "a b c"; authToken => 'qwertzuiopasdfgh'`, `secret := "***"; authToken => '***'`},
		{"JSON", `{"password": "a \"b\" c", "n": 1}`, `{"password": "***", "n": 1}`},
		{"a text of JSON", `{"out":"{\"client_secret\":\"ab\\c\"}","run":"PASSWORD=hunter2\nls"}`,
			`{"out":"{\"client_secret\":\"***\"}","run":"PASSWORD=***\nls"}`},
		{"a password, cut", `"password": "hunt…`, `"password": "***…`},
		{"no password", "password: x, secret: $TOKEN, passwd=${PASS}, secret = nil, password: <yours>", ""},
		{"no token", "tokens: 200, token: 200000, unexpected token: identifier, key: value, max_tokens=100", ""},
		{"no value of JSON", `{"secret": 12345, "password": true, "tokens": 1, "token": null}`, ""},
		{"a name after a name", "key: token: secret=abcdef, api_key: password: hunter2", "key: token: secret=***, api_key: password: ***"},
		{"a prompt", `read -p "Password: " pw; echo "x"`, ""},
		{"a prompt in JSON", `{"a":"read -p \"Password: \" pw","b":"\"x\""}`, ""},
		{"no end of a quote in JSON", `{"a":"password: \"hunter2","b":"\"x\""}`, `{"a":"password: \"***","b":"\"x\""}`},
		{"a program without secrets", "password := readPassword(stdin); token = next(); secrets = append(a, b)", ""},
		{"a private key, cut", "-----BEGIN PRIVATE KEY----- MIIEvQ", "***"},
	} {
		if c.want == "" { // nothing is masked
			c.want = c.text
		}
		if got := Mask(c.text, []string{"short", key, file}); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.text, got, c.want)
		}
	}
}

// No text may keep a secret, become longer or lose a half of a character.
func FuzzMask(f *testing.F) {
	f.Add("the key is pässwörd", "pässwörd")
	f.Add("sk-0123456789abcdef01", "a\nb")
	f.Add("-----BEGIN PRIVATE KEY", "……………")
	f.Add("***abcdef***", "*abcdef")
	f.Add(`{"password":"ä…ö\\"}`+"\xff", "secret: \xe2\x80")
	f.Fuzz(func(t *testing.T, text, secret string) {
		got := Mask(text, []string{secret})
		if len(got) > len(text) {
			t.Errorf("%d bytes become %d", len(text), len(got))
		}
		if utf8.ValidString(text) && !utf8.ValidString(got) {
			t.Errorf("%q is not UTF-8", got)
		}
		secret = strings.TrimSpace(secret)
		if len(secret) >= MinSecret && !strings.ContainsAny(secret, "\n*") && strings.Contains(got, secret) {
			t.Errorf("%q is in %q", secret, got)
		}
	})
}
