package program

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
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
		var limit *agent.LimitError
		if errors.As(err, &limit) {
			limit.Text = shortened(said, 300)
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

// shortened returns the beginning of a text that is too long.
func shortened(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	return strings.ToValidUTF8(text[:limit], "") + " …"
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
	resetEpoch   = notation.Pattern(`(?i)(?:\||reset(?:s)?_?at"?\s*[:=]\s*"?)(\d{10})\b`)
	resetSeconds = notation.Pattern(`(?i)(?:resets?_?in_?seconds|retry_?after(?:_?seconds)?|` +
		`retry-after)"?\s*[:=]\s*"?(\d+)`)
	resetSpan = notation.Pattern(`(?i)\b(?:in|after)\s+((?:\d+(?:\.\d+)?\s*` +
		`(?:days?|hours?|hrs?|minutes?|mins?|seconds?|secs?|ms|[dhms])[\s,]*(?:and\s+)?)+)\b`)
	spanPart   = notation.Pattern(`(?i)(\d+(?:\.\d+)?)\s*(ms|[dhms])`)
	resetClock = notation.Pattern(`(?i)\b(?:resets?(?: at)?|again at|until|after)\s+` +
		`(?:([a-z]{3}) (\d{1,2})(?:,| at)\s*)?` +
		`(\d{1,2})(?::(\d{2}))?\s*(am|pm)\b(?:\s*\(([A-Za-z_+-]+(?:/[A-Za-z0-9_+-]+){0,2})\))?`)
	resetStamp = notation.Pattern(`\b(20\d\d-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d))`)
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
