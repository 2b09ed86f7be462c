package program

import (
	"regexp"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

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
	{meansLimit, notation.Pattern(`usage limit|usage_limit|usagelimit|usage allocation`),
		"codex 0.166, codex-acp 2.6 (usageLimitExceeded), claude 2.1; recorded"},
	{meansLimit, notation.Pattern(`(hit|reached) your .{0,40}limit|limit reached|spend limit|out of (extra )?usage|` +
		`(extra usage|usage credits)`),
		"claude 2.1 (session, weekly, monthly spend limit); its SDK 0.3.318 lists how they begin"},
	{meansLimit, notation.Pattern(`quota|out of credits|premium request (allowance|limit)|plan limit|limit exceeded for your plan`),
		"OpenAI insufficient_quota, Gemini 2.5, copilot 1.0 (quota_exceeded); vendors' documents and issues"},
	{meansLogin, notation.Pattern(`not logged in|please log ?in|/login|log in again|sign in|not authenticated`),
		"claude 2.1, gemini-cli 0.61, copilot 1.0; recorded"},
	{meansLogin, notation.Pattern(`auth_required|authentication required|authentication_error|authentication failed|` +
		`invalid api key|invalid_api_key|incorrect api key|api key not valid|unauthorized|token has expired|status 401|401 `),
		"all vendors' 401; codex-acp 2.6 and copilot 1.0.102 recorded"},
	{"billing_error", notation.Pattern(`billing|credit balance|payment required|\b402\b`), "all vendors' 402"},
	{"rate_limit", notation.Pattern(`rate.?limit|too many requests|resource.?exhausted|\b429\b`),
		"all vendors' 429"},
	{"overloaded", notation.Pattern(`overloaded|\b529\b|at capacity|high demand`),
		"Anthropic 529; codex-acp 2.6 of OpenAI's 503, recorded"},
	{"model_not_found", notation.Pattern(`unknown model|model.{0,40}(not found|does not exist|not supported)`),
		"all vendors' 404; copilot 1.0.102 recorded"},
	{"max_output_tokens", notation.Pattern(`max.?output.?tokens|output token limit`), "claude 2.1"},
	{"invalid_request", notation.Pattern(`invalid.?request|\b400\b|prompt is too long|context.?length|context window`),
		"all vendors' 400; codex-acp 2.6 recorded"},
	{"server_error", notation.Pattern(`server.?error|internal error|\b50[0-4]\b|bad gateway|unavailable|` +
		`stream.{0,20}disconnect|connection (error|reset|refused|lost|failed)|could not connect`), "all vendors' 5xx; codex 0.166, claude 2.1, copilot 1.0.102"},
}

// replyWordings match error texts that programs print in place of a reply, at its beginning. An empty
// meaning is the one that errorWordings gives the whole reply.
var replyWordings = []phrase{
	{meansLimit, notation.Pattern(`^claude (ai )?usage limit reached|^(5-hour|weekly|session|opus) limit reached`), "claude 1.0 and 2.0"},
	{meansLimit, notation.Pattern(`^you've (hit|reached) your ([a-z0-9-]+ ){0,4}limit|^you're out of (usage credits|extra usage)|` +
		`^your org is out of usage|^your seat type doesn't include (extra )?usage|^your usage allocation has been disabled|` +
		`^your group's usage limit is set to`), "claude 2.1, its SDK 0.3.318 lists how they begin; codex 0.166 has the first as well"},
	{meansLogin, notation.Pattern(`^(not logged in|invalid api key|please run /login|oauth token (has expired|revoked)|` +
		`(login|session) expired\b.*/login)`), "claude 2.1 and its adapter 0.101"},
	{"", notation.Pattern(`^api error(:| \()|^prompt is too long|^credit balance is too low`), "claude 2.1"},
	{"", notation.Pattern(`^error: (failed to get response from the ai model|authentication failed with provider|` +
		`could not connect to .{1,40}provider|model .{1,80} not found on provider|.{1,200}\(http \d{3}\))`), "copilot 1.0.102, recorded"},
	{meansKnown, notation.Pattern(`^error: \d{3} `), "copilot 1.0.102, recorded"},
	{"", notation.Pattern(`^(error: )?(execution failed: \d{3}|quota exceeded\. upgrade|model call failed)|` +
		`^you have (exceeded your premium request|reached your monthly limit)`), "copilot 0.0.367 to 1.0, its issues"},
	{"", notation.Pattern(`^exceeded retry limit, last status|^unexpected status \d{3}|^selected model is at capacity|` +
		`^stream disconnected before completion|^we.{1,3}re currently experiencing high demand|` +
		`^\{"error":\{.{0,400}"type":"\w+_error"`), "codex-acp 2.6.0, recorded"},
}

// rejectedWords match the beginning of the result of a call that a program itself refused to make:
// claude 2.1, gemini-cli 0.61 and qwen 0.24, opencode 1.18, codex 0.166, copilot 1.0. The output of
// a command does not begin so, because these programs put its exit code or nothing before it.
var rejectedWords = notation.Pattern(`^(permission to use \S+ .{0,300}has been denied|claude requested permissions to |` +
	`the user (rejected|doesn't want to proceed|has specified a rule which prevents)|this command requires approval|` +
	`tool execution (denied|for "[^"]{1,80}" requires)|permission denied and could not request permission|` +
	`(exec )?command (rejected|declined) by|rejected by user)`)

// IsRejection reports whether the result of a failed call says that the agent program refused to make
// it.
func IsRejection(result string) bool {
	return rejectedWords().MatchString(strings.ToLower(strings.TrimSpace(result)))
}

// rateWords match texts that say "limit reached" and mean a minute.
var rateWords = notation.Pattern(`rate.?limits?(ed)?( reached| exceeded)?`)

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
			return &agent.APIError{Type: "rate_limit", Message: shortened(text, 500)}
		}
		return &agent.LimitError{Until: until, Text: shortened(text, 300)}
	case meansLogin:
		return &agent.LoginError{Hint: shortened(text, 300)}
	case "":
		means = "unknown"
	}
	return &agent.APIError{Type: means, Message: shortened(text, 500)}
}
