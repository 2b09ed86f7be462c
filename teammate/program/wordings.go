package program

import (
	"regexp"
	"strings"
	"time"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// What a phrase means that is no type of an APIError.
const (
	meansLimit = "limit" // the account has used up what its plan allows
	meansLogin = "login" // nobody is logged in
	// meansKnown is what errorWordings make of the text, and nothing if they know it not: a
	// model could have written it.
	meansKnown = "known"
)

// phrase is how programs and vendors say that something is wrong. All of them are in
// lower case, and so is what they are looked for in.
type phrase struct {
	means string
	words func() *regexp.Regexp
	of    string // who says so: program or vendor, the version, and how it is known
}

// errorWordings are looked for anywhere in the text of an error. The order counts: the
// first that is found is what the error means. A limit and a login are beyond any restart,
// so they come before the types, whose words are vaguer.
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
		`stream.{0,20}disconnect|connection (error|reset|refused|lost|failed)`), "all vendors' 5xx; codex 0.166, claude 2.1"},
}

// replyWordings are what programs print as their reply where there is none. Only a reply
// that begins so counts. Empty means what errorWordings make of the whole reply.
var replyWordings = []phrase{
	{meansLimit, notation.Pattern(`^claude (ai )?usage limit reached|^(5-hour|weekly|session|opus) limit reached`), "claude 1.0 and 2.0"},
	{meansLimit, notation.Pattern(`^you've (hit|reached) your ([a-z0-9-]+ ){0,4}limit|^you're out of (usage credits|extra usage)|` +
		`^your org is out of usage|^your seat type doesn't include (extra )?usage|^your usage allocation has been disabled|` +
		`^your group's usage limit is set to`), "claude 2.1, its SDK 0.3.318 lists how they begin; codex 0.166 has the first as well"},
	{meansLogin, notation.Pattern(`^(not logged in|invalid api key|please run /login|oauth token (has expired|revoked)|` +
		`(login|session) expired\b.*/login)`), "claude 2.1 and its adapter 0.101"},
	{"", notation.Pattern(`^api error(:| \()|^prompt is too long|^credit balance is too low`), "claude 2.1"},
	{"", notation.Pattern(`^error: (failed to get response from the ai model|authentication failed with provider|` +
		`model .{1,80} not found on provider|.{1,200}\(http \d{3}\))`), "copilot 1.0.102, recorded"},
	{meansKnown, notation.Pattern(`^error: \d{3} `), "copilot 1.0.102, recorded"},
	{"", notation.Pattern(`^(error: )?(execution failed: \d{3}|quota exceeded\. upgrade|model call failed)|` +
		`^you have (exceeded your premium request|reached your monthly limit)`), "copilot 0.0.367 to 1.0, its issues"},
	{"", notation.Pattern(`^exceeded retry limit, last status|^unexpected status \d{3}|^selected model is at capacity|` +
		`^stream disconnected before completion|^we.{1,3}re currently experiencing high demand|` +
		`^\{"error":\{.{0,400}"type":"\w+_error"`), "codex-acp 2.6.0, recorded"},
}

// rejectedWords are how programs begin the result of a call that they refused to make by
// themselves, by rules of their own: claude 2.1, gemini-cli 0.61 and qwen 0.24, opencode
// 1.18, codex 0.166, copilot 1.0. What a command prints does not stand there: these programs
// put its exit code or nothing before it, and tell failures of commands as results.
var rejectedWords = notation.Pattern(`^(permission to use \S+ .{0,300}has been denied|claude requested permissions to |` +
	`the user (rejected|doesn't want to proceed|has specified a rule which prevents)|this command requires approval|` +
	`tool execution (denied|for "[^"]{1,80}" requires)|permission denied and could not request permission|` +
	`(exec )?command (rejected|declined) by|rejected by user)`)

// IsRejection reports whether the result of a call that failed says that the agent program
// has refused to make it.
func IsRejection(result string) bool {
	return rejectedWords().MatchString(strings.ToLower(strings.TrimSpace(result)))
}

// rateWords are what says "limit reached" and means a minute.
var rateWords = notation.Pattern(`rate.?limits?(ed)?( reached| exceeded)?`)

// firstMeaning is what the first of a list of wordings means that is found in a text.
func firstMeaning(list []phrase, text string) (means string, found bool) {
	for _, w := range list {
		if w.words().MatchString(text) {
			return w.means, true
		}
	}
	return "", false
}

// asError is the error that a phrase means, told with a text.
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
