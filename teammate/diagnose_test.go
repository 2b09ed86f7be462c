package teammate

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"
)

func TestUntil(t *testing.T) {
	now := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	for text, want := range map[string]time.Time{
		"Claude AI usage limit reached|1795262400":                time.Unix(1795262400, 0),
		`{"resets_at":1795262400}`:                                time.Unix(1795262400, 0),
		`{"type":"usage_limit_reached","resets_in_seconds":3600}`: now.Add(time.Hour),
		"retry-after: 90":                                         now.Add(90 * time.Second),
		"try again in 3 days 4 hours 5 minutes.":                  now.Add(76*time.Hour + 5*time.Minute),
		"retry in 30.5s":                                          now.Add(30500 * time.Millisecond),
		"try again after 2 hrs and 1 min":                         now.Add(2*time.Hour + time.Minute),
		"You've hit your limit · resets 3pm":                      now.Add(3 * time.Hour),
		"or try again at 11:30 AM.":                               now.Add(23*time.Hour + 30*time.Minute),
		"resets at 12am":                                          now.Add(12 * time.Hour),
		"until 2026-11-22T00:00:00Z":                              now.Add(12 * time.Hour),
		"resets 99pm":                                             {},
		"no word of it, 2 hours ago":                              {},
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
		if err := Confession(text, now); (err != nil) != confesses {
			t.Errorf("%.40q: %v", text, err)
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
		case *LimitError:
			got = "limit"
		case *LoginError:
			got = "login"
		case *APIError:
			got = e.Type
		}
		if got != want {
			t.Errorf("%q: %s (%v), want %s", said, got, err, want)
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
	if len(text) > tailBytes || len(text) < tailBytes-40 || !utf8.ValidString(text) || !strings.HasSuffix(text, "says é") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
}
