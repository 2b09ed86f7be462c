package modelapi

import (
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/program"
)

// waitOf returns how long a server asks to wait before the next request; 0: it does not say.
// The more exact header comes first.
func waitOf(resp *http.Response) time.Duration {
	h := resp.Header
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms > 0 && ms < 1e12 {
		return time.Duration(ms * float64(time.Millisecond))
	}
	text := h.Get("Retry-After")
	if s, err := strconv.ParseFloat(text, 64); err == nil && s > 0 && s < 1e9 {
		return time.Duration(s * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(time.Until(at), 0)
	}
	if resp.StatusCode != http.StatusTooManyRequests {
		return 0
	}
	return bucketWait(h)
}

// bucketWait returns when the last of the limits that are used up is renewed. Anthropic has
// headers such as anthropic-ratelimit-input-tokens-reset, OpenAI and many other hosts such as
// x-ratelimit-reset-tokens, each with a twin that says what remains, or whether it refuses.
func bucketWait(h http.Header) (longest time.Duration) {
	for name := range h {
		lower := strings.ToLower(name)
		if !strings.Contains(lower, "ratelimit") || !strings.Contains(lower, "reset") {
			continue
		}
		left := h.Get(strings.Replace(lower, "reset", "remaining", 1))
		rejected := strings.EqualFold(h.Get(strings.Replace(lower, "reset", "status", 1)), "rejected")
		if left == "0" || rejected {
			longest = max(longest, resetWait(h.Get(name)))
		}
	}
	return longest
}

// resetWait reads the time of a reset in the forms that are in use: a date, a duration, a number
// of seconds, and a time in seconds or milliseconds since 1970. 0: it is none of these.
func resetWait(text string) time.Duration {
	if at, err := time.Parse(time.RFC3339, text); err == nil {
		return time.Until(at)
	}
	if d, err := time.ParseDuration(text); err == nil {
		return d
	}
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case err != nil || n < 0 || n > 1e14:
		return 0
	case n > 1e11:
		return time.Until(time.UnixMilli(int64(n)))
	case n > 1e9:
		return time.Until(time.Unix(int64(n), 0))
	}
	return time.Duration(n * float64(time.Second))
}

// saidWait returns how long the words of a limit ask to wait; 0: they do not say. A time before
// those words is what the limit is for, as in "50 requests in 1 hour".
func saidWait(text string) time.Duration {
	from := waitWords().FindStringIndex(text)
	if from == nil {
		return 0
	}
	now := time.Now()
	if at := program.ResetTime(text[from[0]:], now); !at.IsZero() {
		return max(at.Sub(now), 0)
	}
	return 0
}

// waitWords begin what a server asks for.
var waitWords = texts.Pattern(`(?i)try again|retry|resets?\b|wait\b|available again`)
