package program

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// shortLimit is the longest limit that counts only as a failed turn: minutes are rate limits, hours
// are limits of a plan.
const shortLimit = 2 * time.Minute

// Diagnose returns the meaning of an agent program's error text: a *LimitError, a *LoginError, or
// an *APIError of the type that fits best. details often has what said omits, and is searched for
// limits as well.
func Diagnose(said, details string, now time.Time) error {
	// The JSON of a vendor's error may have more than its sentence says.
	sentence := plain(said)
	said, details = sentence, details+" "+said
	whole := said + " " + details
	means, found := firstMeaning(errorWordings, rateWords().ReplaceAllString(strings.ToLower(whole), ""))
	if found && means == meansLimit {
		err := asError(means, whole, now)
		if limit, ok := errors.AsType[*agent.LimitError](err); ok {
			limit.Text = Shorten(said, 300)
			return limit
		}
		return &agent.APIError{Type: "rate_limit", Message: said}
	}
	lower := strings.ToLower(said)
	for _, w := range errorWordings {
		if w.means != meansLimit && w.words().MatchString(lower) {
			return asError(w.means, said, now)
		}
	}
	return asError("", said, now)
}

// plain returns the sentence of an error that ends in a vendor's JSON, with its code; any other text
// is returned unchanged.
func plain(said string) string {
	at := strings.IndexByte(said, '{')
	if at < 0 {
		return said
	}
	var in struct {
		Error struct {
			Code                  json.RawMessage
			Status, Type, Message string
		}
	}
	if json.Unmarshal([]byte(said[at:]), &in) != nil || in.Error.Message == "" {
		return said
	}
	words := []string{strings.TrimSpace(said[:at])}
	kind := cmp.Or(in.Error.Status, in.Error.Type)
	if code := strings.Trim(string(in.Error.Code), `"`); code != "null" && code != kind {
		words = append(words, code)
	}
	if kind != "" {
		words = append(words, kind+":")
	}
	words = append(words, plain(in.Error.Message))
	return strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " ")
}

// maxVerdict is the length in bytes of the longest text that is taken for a program's error
// message.
const maxVerdict = 1000

// ReplyFailure returns the error if the whole text of a turn says that the account has reached its
// limit or is logged out, or that the model failed; otherwise nil. Only short texts that begin
// with the known words of a program count, because a member that writes about rate limits must not
// be locked out.
func ReplyFailure(text string, now time.Time) error {
	text = strings.TrimSpace(text)
	if len(text) > maxVerdict {
		return nil
	}
	means, found := firstMeaning(replyWordings, strings.ToLower(strings.ReplaceAll(text, "’", "'")))
	switch {
	case !found:
		return nil
	case means == "", means == meansKnown:
		err := Diagnose(text, "", now)
		var api *agent.APIError
		if means == meansKnown && errors.As(err, &api) && api.Type == "unknown" {
			return nil
		}
		return err
	}
	return asError(means, text, now)
}

var (
	resetEpoch   = texts.Pattern(`(?i)(?:\||reset(?:s)?_?at"?\s*[:=]\s*"?)(\d{10})\b`)
	resetSeconds = texts.Pattern(`(?i)(?:resets?_?in_?seconds|retry_?after(?:_?seconds)?|` +
		`retry-after)"?\s*[:=]\s*"?(\d+)`)
	resetSpan = texts.Pattern(`(?i)\b(?:in|after)\s+((?:\d+(?:\.\d+)?\s*` +
		`(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|[dhms])[\s,]*(?:and\s+)?)+)\b`)
	spanPart   = texts.Pattern(`(?i)(\d+(?:\.\d+)?)\s*(ms|[dhms])`)
	resetClock = texts.Pattern(`(?i)\b(?:resets?(?: at)?|again at|until|after)\s+` +
		`(?:([a-z]{3}) (\d{1,2})(?:,| at)\s*)?` +
		`(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b(?:\s*\(([A-Za-z_+-]+(?:/[A-Za-z0-9_+-]+){0,2})\))?`)
	resetStamp = texts.Pattern(`\b(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))`)
)

// ResetTime returns when a limit ends, or the zero time if the text does not say. Exact forms
// come before vague ones. A time of day means the next one after now, in the zone of now; a
// timestamp is returned even if it is past.
func ResetTime(text string, now time.Time) time.Time {
	if m := resetEpoch().FindStringSubmatch(text); m != nil {
		seconds, _ := strconv.ParseInt(m[1], 10, 64) // ten digits
		return time.Unix(seconds, 0)
	}
	if m := resetSeconds().FindStringSubmatch(text); m != nil {
		if seconds, err := strconv.ParseInt(m[1], 10, 32); err == nil {
			return now.Add(time.Duration(seconds) * time.Second)
		}
	}
	if m := resetStamp().FindStringSubmatch(text); m != nil {
		if at, err := time.Parse(time.RFC3339, m[1]); err == nil {
			return at
		}
	}
	if m := resetSpan().FindStringSubmatch(text); m != nil {
		return now.Add(span(m[1]))
	}
	if m := resetClock().FindStringSubmatch(text); m != nil {
		return clockTime(m, now)
	}
	return time.Time{}
}

// span parses a duration such as "3 days 4 hours". It ignores parts that are absurdly large.
func span(text string) time.Duration {
	units := map[string]time.Duration{
		"d": 24 * time.Hour, "h": time.Hour, "m": time.Minute, "s": time.Second, "ms": time.Millisecond,
	}
	var sum time.Duration
	for _, part := range spanPart().FindAllStringSubmatch(text, -1) {
		if n, err := strconv.ParseFloat(part[1], 64); err == nil && n < 10_000 {
			sum += time.Duration(n * float64(units[strings.ToLower(part[2])]))
		}
	}
	return sum
}

// clockTime returns the next time that matches resetClock's result, on the day and in the zone that
// it names. An unknown zone is taken for the local one.
func clockTime(m []string, now time.Time) time.Time {
	if zone, err := time.LoadLocation(m[6]); m[6] != "" && err == nil {
		now = now.In(zone)
	}
	day, _ := strconv.Atoi(m[2]) // digits, and so are hours and minutes
	hour, _ := strconv.Atoi(m[3])
	minute, _ := strconv.Atoi(m[4])
	if hour > 12 || minute > 59 {
		return time.Time{}
	}
	hour %= 12
	if strings.EqualFold(m[5], "pm") {
		hour += 12
	}
	at := time.Date(now.Year(), now.Month(), now.Day(), hour, minute, 0, 0, now.Location())
	if m[1] == "" {
		if !at.After(now) {
			at = at.AddDate(0, 0, 1)
		}
		return at
	}
	month, err := time.Parse("Jan", m[1])
	if err != nil || day < 1 || day > 31 {
		return time.Time{}
	}
	at = time.Date(now.Year(), month.Month(), day, hour, minute, 0, 0, now.Location())
	if at.Before(now.AddDate(0, -1, 0)) { // it means next year
		at = at.AddDate(1, 0, 0)
	}
	return at
}

// Meanings of a phrase that are not types of an APIError.
const (
	meansLimit = "limit" // the account has reached the limit of its plan
	meansLogin = "login" // a login is missing
	// meansKnown is the meaning that errorWordings gives the text, or none if no phrase there
	// matches, because a model could have written it.
	meansKnown = "known"
)

// phrase matches how programs and vendors report a problem. Patterns and the texts that they are
// matched with are in lower case.
type phrase struct {
	means string
	words func() *regexp.Regexp
	of    string // the source: program or vendor, version, and how it is known
}

// errorWordings are matched anywhere in the text of an error, and the first match counts. Limits and
// logins come first, because a restart does not fix them and the words of the types are vaguer.
var errorWordings = []phrase{
	{meansLimit, texts.Pattern(`usage limit|usage_limit|usagelimit|usage allocation`),
		"codex 0.166, codex-acp 2.6 (usageLimitExceeded), claude 2.1; recorded"},
	{meansLimit, texts.Pattern(`(hit|reached) your .{0,40}limit|limit reached|spend limit|out of (extra )?usage|` +
		`(extra usage|usage credits)`),
		"claude 2.1 (session, weekly, monthly spend limit); its SDK 0.3.318 lists how they begin"},
	{meansLimit, texts.Pattern(`quota|out of credits|premium request (allowance|limit)|plan limit|limit exceeded for your plan`),
		"OpenAI insufficient_quota, Gemini 2.5, copilot 1.0 (quota_exceeded); vendors' documents and issues"},
	{meansLogin, texts.Pattern(`not logged in|please log ?in|/login|log in again|sign in|not authenticated`),
		"claude 2.1, gemini-cli 0.61, copilot 1.0; recorded"},
	{meansLogin, texts.Pattern(`auth_required|authentication required|authentication_error|authentication failed|` +
		`invalid api key|invalid_api_key|incorrect api key|api key not valid|unauthorized|token has expired|status 401|401 `),
		"all vendors' 401; codex-acp 2.6 and copilot 1.0.102 recorded"},
	{"billing_error", texts.Pattern(`billing|credit balance|payment required|\b402\b`), "all vendors' 402"},
	{"rate_limit", texts.Pattern(`rate.?limit|too many requests|resource.?exhausted|\b429\b`),
		"all vendors' 429"},
	{"overloaded", texts.Pattern(`overloaded|\b529\b|at capacity|high demand`),
		"Anthropic 529; codex-acp 2.6 of OpenAI's 503, recorded"},
	{"model_not_found", texts.Pattern(`unknown model|model.{0,40}(not found|does not exist|not supported)`),
		"all vendors' 404; copilot 1.0.102 recorded"},
	{"max_output_tokens", texts.Pattern(`max.?output.?tokens|output token limit`), "claude 2.1"},
	{"invalid_request", texts.Pattern(`invalid.?request|\b400\b|prompt is too long|context.?length|context window`),
		"all vendors' 400; codex-acp 2.6 recorded"},
	{"server_error", texts.Pattern(`server.?error|internal error|\b50[0-4]\b|bad gateway|unavailable|` +
		`stream.{0,20}disconnect|connection (error|reset|refused|lost|failed)|could not connect`), "all vendors' 5xx; codex 0.166, claude 2.1, copilot 1.0.102"},
}

// replyWordings match error texts that programs print in place of a reply, at its beginning. An empty
// meaning is the one that errorWordings gives the whole reply.
var replyWordings = []phrase{
	{meansLimit, texts.Pattern(`^claude (ai )?usage limit reached|^(5-hour|weekly|session|opus) limit reached`), "claude 1.0 and 2.0"},
	{meansLimit, texts.Pattern(`^you've (hit|reached) your ([a-z0-9-]+ ){0,4}limit|^you're out of (usage credits|extra usage)|` +
		`^your org is out of usage|^your seat type doesn't include (extra )?usage|^your usage allocation has been disabled|` +
		`^your group's usage limit is set to`), "claude 2.1, its SDK 0.3.318 lists how they begin; codex 0.166 has the first as well"},
	{meansLogin, texts.Pattern(`^(not logged in|invalid api key|please run /login|oauth token (has expired|revoked)|` +
		`(login|session) expired\b.*/login)`), "claude 2.1 and its adapter 0.101"},
	{"", texts.Pattern(`^api error(:| \()|^prompt is too long|^credit balance is too low`), "claude 2.1"},
	{"", texts.Pattern(`^error: (failed to get response from the ai model|authentication failed with provider|` +
		`could not connect to .{1,40}provider|model .{1,80} not found on provider|.{1,200}\(http \d{3}\))`), "copilot 1.0.102, recorded"},
	{meansKnown, texts.Pattern(`^error: \d{3} `), "copilot 1.0.102, recorded"},
	{"", texts.Pattern(`^(error: )?(execution failed: \d{3}|quota exceeded\. upgrade|model call failed)|` +
		`^you have (exceeded your premium request|reached your monthly limit)`), "copilot 0.0.367 to 1.0, its issues"},
	{"", texts.Pattern(`^exceeded retry limit, last status|^unexpected status \d{3}|^selected model is at capacity|` +
		`^stream disconnected before completion|^we.{1,3}re currently experiencing high demand|` +
		`^\{"error":\{.{0,400}"type":"\w+_error"`), "codex-acp 2.6.0, recorded"},
}

// rejectedWords match the beginning of the result of a call that a program itself refused to make:
// claude 2.1, gemini-cli 0.61 and qwen 0.24, opencode 1.18, codex 0.166, copilot 1.0. The output of
// a command does not begin so, because these programs put its exit code or nothing before it.
var rejectedWords = texts.Pattern(`^(permission to use \S+ .{0,300}has been denied|claude requested permissions to |` +
	`the user (rejected|doesn't want to proceed|has specified a rule which prevents)|this command requires approval|` +
	`tool execution (denied|for "[^"]{1,80}" requires)|permission denied and could not request permission|` +
	`(exec )?command (rejected|declined) by|rejected by user)`)

// IsRejection reports whether the result of a failed call says that the agent program refused to make
// it.
func IsRejection(result string) bool {
	return rejectedWords().MatchString(strings.ToLower(strings.TrimSpace(result)))
}

// rateWords match texts that say "limit reached" and mean a minute.
var rateWords = texts.Pattern(`rate.?limits?(ed)?( reached| exceeded)?`)

// firstMeaning returns the meaning of the first of a list of phrases that matches a text.
func firstMeaning(list []phrase, text string) (means string, found bool) {
	for _, w := range list {
		if w.words().MatchString(text) {
			return w.means, true
		}
	}
	return "", false
}

// asError returns the error for a meaning, with a text.
func asError(means, text string, now time.Time) error {
	switch means {
	case meansLimit:
		until := ResetTime(text, now)
		if !until.IsZero() && until.Sub(now) <= shortLimit {
			return &agent.APIError{Type: "rate_limit", Message: Shorten(text, 500)}
		}
		return &agent.LimitError{Until: until, Text: Shorten(text, 300)}
	case meansLogin:
		return &agent.LoginError{Hint: Shorten(text, 300)}
	case "":
		means = "unknown"
	}
	return &agent.APIError{Type: means, Message: Shorten(text, 500)}
}

// Agent programs report that they cannot reach their vendor and retry, for minutes or for ever. Such
// a notice is for people, and is not a sign that a model is working.
//
// The patterns match sentences of programs, not words that a model may use: codex (exec 0.166, acp
// 0.16 and 2.6), claude (2.1), gemini-cli (0.61), copilot (1.0).
var (
	retryNotice = texts.Pattern(`(?i)\breconnecting(\.\.\.|…| to \w+,)? ?(attempt )?\d+ ?(/|of) ?\d+|` +
		`\bretrying( \w+)?,? (in \d+|attempt \d+|\d+ ?/ ?\d+)|\bretrying with backoff|due to an? [a-z ]{1,40}error\. retrying|` +
		`\battempt \d+ failed\b.{0,80}\bretrying|\bstream (error|disconnected)\b.{0,200}\bretrying\b|` +
		`"willRetry": ?true`)
)

// MayBeRetryNotice is a cheap check whether data can hold a retry notice.
func MayBeRetryNotice(data []byte) bool {
	return bytes.Contains(data, []byte("etry")) || bytes.Contains(data, []byte("econnecting"))
}

// IsRetryNotice reports whether a text of an agent program says that it has lost its model and is
// retrying.
func IsRetryNotice(said string) bool { return len(said) < 4096 && retryNotice().MatchString(said) }
