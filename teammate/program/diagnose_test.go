package program

import (
	"errors"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/coveyteam/covey/teammate/agent"
)

func TestUntil(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1795262400":                time.Unix(1795262400, 0),
		`{"resets_at":1795262400}`:                                time.Unix(1795262400, 0),
		`{"type":"usage_limit_reached","resets_in_seconds":3600}`: now.Add(time.Hour),
		"retry-after: 90":                                         now.Add(90 * time.Second),
		"try again in 3 days 4 hours 5 minutes.":                  now.Add(76*time.Hour + 5*time.Minute),
		"Please try again in 7m12s. Visit":                        now.Add(432 * time.Second),
		"Please try again in 20ms.":                               now.Add(20 * time.Millisecond),
		"try again in 5 mins, or in 3 months":                     now.Add(5 * time.Minute),
		"in 3 months":                                             {},
		"retry in 30.5s":                                          now.Add(30500 * time.Millisecond),
		"try again after 2 hrs and 1 min":                         now.Add(2*time.Hour + time.Minute),
		"You've hit your limit · resets 3pm":                      now.Add(3 * time.Hour),
		"or try again at 11:30 AM.":                               now.Add(23*time.Hour + 30*time.Minute),
		"resets at 12am":                                          now.Add(12 * time.Hour),
		"until 2026-11-22T00:00:00Z":                              now.Add(12 * time.Hour),
		"resets 99pm":                                             {},
		"You've hit your session limit · resets 6:50am (America/New_York)": time.Date(2026, 11, 22, 11, 50,
			0, 0, time.UTC),
		"You've hit your weekly limit · resets Nov 25 at 3pm (UTC)": time.Date(2026, 11, 25, 15, 0,
			0, 0, time.UTC),
		"resets Jan 2, 9am":          time.Date(2027, 1, 2, 9, 0, 0, 0, time.UTC),
		"resets Foo 2, 9am":          {},
		"resets 3pm (No/Where)":      now.Add(3 * time.Hour),
		"no word of it, 2 hours ago": {},
	} {
		if got := ResetTime(text, now); !got.Equal(want) {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
}

func TestConfession(t *testing.T) {
	now := time.Now()
	for text, confesses := range map[string]bool{
		"You've hit your limit · resets 3pm": true, "Not logged in · Please run /login": true,
		"The user has hit the usage limit; I documented it.": false, "": false,
		"You've hit your limit " + string(make([]byte, maxVerdict)): false,
	} {
		if err := ReplyFailure(text, now); (err != nil) != confesses {
			t.Errorf("%.40q: %v", text, err)
		}
	}
}

// What programs print in place of a reply, as it was recorded or is documented, and texts
// of models that look like it.
func TestReplyWordings(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]string{
		"You've hit your session limit · resets 6:50am (America/New_York)":                                      "limit",
		"You've hit your monthly spend limit · raise it at claude.ai/settings/usage":                            "limit",
		"You've reached your Opus 5 weekly limit · resets 3pm":                                                  "limit",
		"You're out of extra usage · resets 3pm":                                                                "limit",
		"Your org is out of usage · add funds to continue":                                                      "limit",
		"You've hit your usage limit. Upgrade to Pro, or try again in 3 days.":                                  "limit",
		"Login expired · Run /login to sign in again":                                                           "login",
		"Error: Failed to get response from the AI model; retried 5 times Last error: 503 the vendor says so":   "server_error",
		"Error: Failed to get response from the AI model; retried 5 times Last error: 418 I am a teapot":        "unknown",
		"Error: 402 the vendor says so":                                                                         "billing_error",
		"Error: 402 {\"message\":\"You have no quota\",\"code\":\"quota_exceeded\"}":                            "limit",
		"Error: Authentication failed with provider at http://127.0.0.1:1/v1 (HTTP 401).\n  Check your key.":    "login",
		"Error: Model 's' not found on provider at http://127.0.0.1:1/v1 (HTTP 404).":                           "model_not_found",
		"Error: Failed to get response from the AI model":                                                       "unknown",
		"Error: Could not connect to local model provider at http://127.0.0.1:9/v1.\n  Check the port.":         "server_error",
		"exceeded retry limit, last status: 429 Too Many Requests\n\n":                                          "rate_limit",
		"Selected model is at capacity. Please try a different model.\n\n":                                      "overloaded",
		"We’re currently experiencing high demand, which may cause temporary errors.\n\n":                       "overloaded",
		"unexpected status 402 Payment Required: no, url: http://127.0.0.1:1/v1/responses":                      "billing_error",
		`{"error":{"code":"invalid_request_error","message":"no","param":null,"type":"invalid_request_error"}}`: "invalid_request",
		"API Error: 529 {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}":                         "overloaded",
		"You've reached your goal: the limit of 10 requests holds.":                                             "none",
		"Error: 404 pages have a template of their own now.":                                                    "none",
		"Error: handling is done.": "none",
		"The API error is mended.": "none",
	} {
		got := "none"
		switch e := ReplyFailure(text, now).(type) {
		case *agent.LimitError:
			got = "limit"
		case *agent.LoginError:
			got = "login"
		case *agent.APIError:
			got = e.Type
		}
		if got != want {
			t.Errorf("%q is taken for %s, want %s", text, got, want)
		}
	}
	for _, w := range append(errorWordings, replyWordings...) {
		if w.of == "" {
			t.Errorf("nobody knows who says %s", w.words())
		}
	}
}

func TestDiagnose(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for said, want := range map[string]string{
		"You've hit your usage limit. Try again at 3 PM.": "limit",
		"Not logged in. Please run /login":                "login",
		"429 Too Many Requests":                           "rate_limit",
		"Quota exceeded, please retry in 30s":             "rate_limit",
		"Overloaded":                                      "overloaded",
		"something else":                                  "unknown",
	} {
		err := Diagnose(said, "", now)
		got := "?"
		switch e := err.(type) {
		case *agent.LimitError:
			got = "limit"
		case *agent.LoginError:
			got = "login"
		case *agent.APIError:
			got = e.Type
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", said, got, err, want)
		}
	}
}

// A vendor's JSON becomes a sentence, and its other fields still count.
func TestDiagnoseJSON(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	var login *agent.LoginError
	err := Diagnose(`{"error":{"code":401,"message":"invalid x-api-key","status":"UNAUTHENTICATED"}}`, "", now)
	if !errors.As(err, &login) || login.Hint != "401 UNAUTHENTICATED: invalid x-api-key" {
		t.Errorf("%#v", err)
	}
	var limit *agent.LimitError
	err = Diagnose(`{"error":{"type":"usage_limit_reached","message":"Enough.","resets_in_seconds":36000}}`, "", now)
	if !errors.As(err, &limit) || !limit.Until.Equal(now.Add(10*time.Hour)) || limit.Text != "usage_limit_reached: Enough." {
		t.Errorf("%#v", err)
	}
	for said, want := range map[string]string{
		`API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`: "API Error: 529 overloaded_error: Overloaded",
		`{"error":{"code":400,"message":"{\"error\":{\"code\":7,\"message\":\"deep\"}}"}}`:           "400 7 deep",
		`{"error":{"code":null,"message":"No."}}`:                                                    "No.",
		`{"error":"boo"}`: `{"error":"boo"}`, `{`: `{`, `no {json}`: `no {json}`,
	} {
		if got := plain(said); got != want {
			t.Errorf("%s: %q, want %q", said, got, want)
		}
	}
}

// What copilot 1.0.102 says while it cannot reach its model is no text of it.
func TestRetryNotices(t *testing.T) {
	for _, said := range []string{"Info: Response was interrupted due to a server error. Retrying...",
		"Info: Request failed due to a transient API error. Retrying..."} {
		if !MayBeRetryNotice([]byte(said)) || !IsRetryNotice(said) {
			t.Errorf("%q is taken for a text of the model", said)
		}
	}
	if said := "The job failed due to a server error. I am retrying it."; IsRetryNotice(said) {
		t.Errorf("%q is taken for a notice", said)
	}
}

// What a program writes for its own developers is not shown, also not a piece of it.
func TestTailWithoutDebugging(t *testing.T) {
	dump := `Unexpected case: {"type":"system","x":"` + strings.Repeat("y", 900) + "\"}\n"
	for said, want := range map[string]string{
		"": "", "API error 401\n": "API error 401",
		"API error 401\n" + dump + "[debug] x\n\nAgain\n": "API error 401\n\nAgain",
		dump + dump + dump + "API error 401":              "API error 401",
		"Unexpected case: nobody came":                    "Unexpected case: nobody came",
	} {
		var tail Tail
		if _, err := tail.Write([]byte(said)); err != nil {
			t.Fatal(err)
		}
		if got := tail.Text(); got != want {
			t.Errorf("%.60q: %q, want %q", said, got, want)
		}
	}
}

func TestTail(t *testing.T) {
	var tail Tail
	for range 1000 {
		if n, err := tail.Write([]byte("all that it says é")); n != 19 || err != nil {
			t.Fatal(n, err)
		}
	}
	text := tail.Text()
	if len(text) > tailBytes || len(text) < tailBytes-40 || !utf8.ValidString(text) ||
		!strings.HasSuffix(text, "says é") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}
