package teammate

import (
	"regexp"
	"strconv"
	"strings"
	"time"
)

// shortLimit is how long a limit may last that is worth no more than a failed
// turn: minutes are rate limits, hours are what a plan allows.
const shortLimit = 2 * time.Minute

// What programs say when an account can do no more, in lower case.
const (
	limitWords = `usage limit|usage_limit|usagelimit|quota|limit reached|hit your limit|reached your limit|` +
		`out of credits|insufficient_quota|plan limit|limit exceeded for your plan`
	loginWords = `not logged in|please log ?in|please run /login|/login|log in again|auth_required|` +
		`authentication required|authentication_error|authentication failed|not authenticated|` +
		`invalid api key|invalid_api_key|incorrect api key|api key not valid|unauthorized|` +
		`token has expired|sign in|status 401|401 `
)

var (
	// These are looked for in all that an error says, in lower case.
	limitText = regexp.MustCompile(limitWords)
	loginText = regexp.MustCompile(loginWords)
	// rateText is what says "limit reached" and means a minute.
	rateText = regexp.MustCompile(`rate.?limits?(ed)?( reached| exceeded)?`)
)

// apiErrors are the error types of HOOKS.md section 6, by what programs say. The
// first that is found counts.
var apiErrors = []struct {
	typ   string
	words *regexp.Regexp
}{
	{"billing_error", regexp.MustCompile(`billing|credit balance|payment required|\b402\b`)},
	{"rate_limit", regexp.MustCompile(`rate.?limit|too many requests|resource.?exhausted|\b429\b`)},
	{"overloaded", regexp.MustCompile(`overloaded|\b529\b|at capacity`)},
	{"model_not_found", regexp.MustCompile(`unknown model|` +
		`model.{0,40}(not found|does not exist|not supported)`)},
	{"max_output_tokens", regexp.MustCompile(`max.?output.?tokens|output token limit`)},
	{"invalid_request", regexp.MustCompile(`invalid.?request|\b400\b|prompt is too long|context.?length|` +
		`context window`)},
	{"server_error", regexp.MustCompile(`server.?error|internal error|\b50[0-4]\b|bad gateway|unavailable|` +
		`stream.{0,20}disconnect`)},
}

// Diagnose says what it means that a foreign agent program failed with these
// words: a *LimitError, a *LoginError, or an *APIError of the type that fits
// best. details often says what said leaves out, and is searched for limits as
// well. A limit and a login are beyond any restart, so they are looked for
// before the types, whose words are vaguer.
func Diagnose(said, details string, now time.Time) error {
	lower, whole := strings.ToLower(said), said+" "+details
	switch {
	case limitText.MatchString(rateText.ReplaceAllString(strings.ToLower(whole), "")):
		until := ResetTime(whole, now)
		if !until.IsZero() && until.Sub(now) <= shortLimit {
			return &APIError{Type: "rate_limit", Message: said}
		}
		return &LimitError{Until: until, Text: shortened(said, 300)}
	case loginText.MatchString(lower):
		return &LoginError{Hint: shortened(said, 300)}
	}
	for _, kind := range apiErrors {
		if kind.words.MatchString(lower) {
			return &APIError{Type: kind.typ, Message: shortened(said, 500)}
		}
	}
	return &APIError{Type: "unknown", Message: shortened(said, 500)}
}

// shortened is the beginning of a text that is too long to be shown whole.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
}

// maxVerdict is how long the text of a turn may be that is nothing but the
// program's word that its account can do no more.
const maxVerdict = 400

// Programs say these instead of answering with an error.
var (
	limitReply = regexp.MustCompile(`^(Claude AI usage limit reached|` +
		`You've (hit|reached) your (usage )?limit|` +
		`(5-hour|Weekly|Session) limit reached)`)
	loginReply = regexp.MustCompile(`^(Not logged in|Invalid API key|Please run /login|` +
		`OAuth token has expired)`)
)

// Confession finds out whether a turn's whole text says that the account is
// used up or logged out; nil: it does not. Only texts that begin with the words
// count, and only short ones: a member that writes about rate limits must not
// be put to sleep.
func Confession(text string, now time.Time) error {
	switch {
	case len(text) > maxVerdict:
	case limitReply.MatchString(text):
		return &LimitError{Until: ResetTime(text, now), Text: text}
	case loginReply.MatchString(text):
		return &LoginError{Hint: text}
	}
	return nil
}

var (
	resetEpoch   = regexp.MustCompile(`(?i)(?:\||reset(?:s)?_?at"?\s*[:=]\s*"?)(\d{10})\b`)
	resetSeconds = regexp.MustCompile(`(?i)(?:resets?_?in_?seconds|retry_?after(?:_?seconds)?|` +
		`retry-after)"?\s*[:=]\s*"?(\d+)`)
	resetSpan = regexp.MustCompile(`(?i)\b(?:in|after)\s+((?:\d+(?:\.\d+)?\s*` +
		`(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|[dhms])\b[\s,]*(?:and\s+)?)+)`)
	spanPart   = regexp.MustCompile(`(?i)(\d+(?:\.\d+)?)\s*([dhms])`)
	resetClock = regexp.MustCompile(`(?i)\b(?:resets?(?: at)?|again at|until|after)\s+` +
		`(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b`)
	resetStamp = regexp.MustCompile(`\b(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))`)
)

// ResetTime finds the moment at which a limit ends; zero: the text tells none.
// Exact forms come before vague ones. A time of day is the next one after now,
// in the zone of now; a stamp is returned as it is, even if it is past.
func ResetTime(text string, now time.Time) time.Time {
	if m := resetEpoch.FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
		return time.Unix(seconds, 0)
	}
	if m := resetSeconds.FindStringSubmatch(text); m != nil {
		if seconds, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			return now.Add(time.Duration(seconds) * time.Second)
		}
	}
	if m := resetStamp.FindStringSubmatch(text); m != nil {
		if at, err := time.Parse(time.RFC3339, m[1]); err == nil {
			return at
		}
	}
	if m := resetSpan.FindStringSubmatch(text); m != nil {
		return now.Add(span(m[1]))
	}
	if m := resetClock.FindStringSubmatch(text); m != nil {
		return clockTime(m, now)
	}
	return time.Time{}
}

// span is a time like "3 days 4 hours". Parts of an absurd size are left out:
// no plan has such limits.
func span(text string) time.Duration {
	units := map[string]time.Duration{"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second}
	var sum time.Duration
	for _, part := range spanPart.FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseFloat(part[1], 64); err == nil && n < 10_000 {
			sum += time.Duration(n * float64(units[strings.ToLower(part[2])]))
		}
	}
	return sum
}

// clockTime is the next moment at which a clock shows what resetClock found.
func clockTime(m []string, now time.Time) time.Time {
	hour, _ := strconv.Atoi(m[1]) // digits, and so are minutes
	minute, _ := strconv.Atoi(m[2])
	if hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[3], "pm") {
		hour += 12
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	if !at.After(now) {
		at = at.AddDate(0, 0, 1)
	}
	return at
}
