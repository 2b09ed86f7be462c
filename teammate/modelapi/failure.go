package modelapi

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net"
	"net/http"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// failure is a request that failed. Its Type decides what hooks and the member do, its text
// says to people what failed and what they can do.
type failure struct {
	agent.APIError
	again bool          // another try may succeed
	wait  time.Duration // how long the server asks to wait; 0: it does not say
	words string        // of the API; empty: they are of something else
}

// fail returns a failure that another try would repeat.
func fail(kind, format string, args ...any) *failure {
	return &failure{APIError: agent.APIError{Type: kind, Message: fmt.Sprintf(format, args...)}}
}

// mayPass returns a failure that another try may not meet.
func mayPass(kind, format string, args ...any) *failure {
	f := fail(kind, format, args...)
	f.again = true
	return f
}

// said is what an API says of an error, in all forms that are in use: OpenAI and Anthropic
// nest an object under error, Ollama has a text there, vLLM puts the words at the top.
type said struct {
	Error   json.RawMessage `json:"error"`
	Message string          `json:"message"`
	Type    string          `json:"type"`
	Code    any             `json:"code"` // a text, or a number at some hosts
	Detail  json.RawMessage `json:"detail"`
}

// parseError returns the words of an error's body. A body that is not JSON has none.
func parseError(body []byte) (words said) {
	if json.Unmarshal(body, &words) != nil {
		return said{}
	}
	var inner said
	var text string
	switch {
	case json.Unmarshal(words.Error, &inner) == nil && (inner.Message != "" || inner.Type != "" || inner.Code != nil):
		return inner
	case json.Unmarshal(words.Error, &text) == nil && text != "": // Ollama
		return said{Message: text}
	case words.Message == "" && json.Unmarshal(words.Detail, &text) == nil: // vLLM
		words.Message = text
	}
	return words
}

// refused returns the failure of an answer with an HTTP status that is an error. A page is not
// the API's own word, whatever its status: it comes from something between.
func (w wire) refused(resp *http.Response, body []byte) *failure {
	if resp.StatusCode/100 == 3 {
		return w.redirected(resp)
	}
	words := parseError(body)
	silent := words.Message == ""
	if silent {
		words.Message = strings.TrimSuffix(resp.Status+": "+pageText(body), ": ")
	}
	f := w.failed(resp.StatusCode, words)
	if silent {
		f.words = ""
	}
	if kind := contentType(resp); silent && kind == "text/html" {
		f.Message = w.notTheAPI(resp.Status+" and "+kind, "a stream", body)
	}
	f.wait = cmp.Or(waitOf(resp), f.wait)
	return f
}

// redirected returns the failure of an answer that names another URL. It is not followed,
// because the key and the conversation go only where the spec says.
func (w wire) redirected(resp *http.Response) *failure {
	f := fail("model_not_found", "%s answered %s", w.BaseURL, resp.Status)
	to, err := resp.Location()
	if err != nil {
		f.Message += " without a place; is base_url right, or is a proxy between?"
		return f
	}
	to.RawQuery, to.Fragment, to.User = "", "", nil // may hold secrets
	path := strings.TrimPrefix(resp.Request.URL.String(), w.BaseURL)
	base, isAPI := strings.CutSuffix(to.String(), path)
	if isAPI {
		f.Message += fmt.Sprintf(", and covey follows no redirects: write base_url: %s if that is the API", base)
	} else {
		f.Message += fmt.Sprintf(", a redirect to %s, which is not the API; is base_url right, or is a proxy between?", base)
	}
	return f
}

// failed returns the failure for what an API said, with its HTTP status; 0: within a
// stream. The order of the cases matters: providers report a used-up credit and a
// conversation that is too long with the status of other errors, and hosts that copy an API
// copy its codes less well than its statuses.
func (w wire) failed(status int, words said) *failure {
	code := strings.ToLower(fmt.Sprint(words.Type, " ", cmp.Or[any](words.Code, "")))
	text := strings.ToLower(words.Message)
	f := &failure{}
	f.Details = strings.TrimSpace(code)
	f.Message = cmp.Or(words.Message, f.Details, "it does not say which")
	f.words = f.Message
	is := func(s int, parts ...string) bool {
		if s != 0 && status == s {
			return true
		}
		return slices.ContainsFunc(parts, func(p string) bool { return strings.Contains(code, p) })
	}
	switch {
	case overflows(code, text) || status == http.StatusRequestEntityTooLarge:
		f.Overflow = true
		f.tell("invalid_request", "the conversation is longer than the model's context")
	case is(0, "insufficient_quota", "billing") || status == http.StatusPaymentRequired || strings.Contains(text, "credit balance"):
		f.tell("billing_error", "the account at %s has no credit for %s; add some, or use another model", w.BaseURL, w.Name())
	case is(http.StatusUnauthorized, "authentication", "invalid_api_key"):
		f.tell("authentication_failed", "%s refuses the key of %s (covey models shows where it comes from)", w.BaseURL, w.Name())
	case is(http.StatusForbidden, "permission"):
		f.tell("authentication_failed", "the key may not use %s at %s; use another key or model", w.Name(), w.BaseURL)
	case is(529, "overloaded") || strings.Contains(code, "unavailable"):
		f.again = true
		f.tell("overloaded", "%s is overloaded with requests for %s; %s", w.BaseURL, w.Name(), waitOrSwitch)
	case is(http.StatusTooManyRequests, "rate_limit"):
		f.again, f.wait = true, saidWait(words.Message)
		f.tell("rate_limit", "%s limits the requests for %s; %s", w.BaseURL, w.Name(), waitOrSwitch)
	case is(http.StatusNotFound, "model_not_found", "not_found"):
		f.tell("model_not_found", "%s has no model %s, or base_url is wrong", w.BaseURL, w.Name())
	case status >= 500 || status == http.StatusRequestTimeout || is(0, "api_error", "server_error", "internal", "timeout"):
		f.again = true
		f.tell("server_error", "%s failed on a request for %s; %s", w.BaseURL, w.Name(), waitOrSwitch)
	case status >= 400 || is(0, "invalid_request", "invalid_prompt"):
		f.tell("invalid_request", "%s refuses a request for %s", w.BaseURL, w.Name())
	default:
		f.again = true
		f.tell("unknown", "%s reports an error for %s", w.BaseURL, w.Name())
	}
	return f
}

// waitOrSwitch is the way out of what passes without anybody's help: covey makes the request
// again by itself, and a fallback answers meanwhile.
const waitOrSwitch = "wait, or name another model under fallback"

// tell sets what hooks and people get. What happened and the way out come before what the server
// said, because screens cut long lines.
func (f *failure) tell(kind, format string, args ...any) {
	f.Type = kind
	f.Message = fmt.Sprintf(format, args...) + ": " + f.Message
}

// overflows reports whether an error says that the conversation is too long.
func overflows(code, text string) bool {
	return overflowText().MatchString(code) || overflowText().MatchString(text)
}

// overflowText matches what providers and servers say of a conversation that is too long: after
// those of Anthropic, OpenAI, Gemini and llama.cpp those of vLLM, LM Studio, Groq and Copilot.
var overflowText = texts.Pattern(`context_length_exceeded|prompt is too long|maximum context length|` +
	`context (?:length|window|size|limit)[^.]* exceed|exceed[^.]* context (?:length|window|size|limit)|` +
	`input (?:is|token count)[^.]*(?:too long|exceeds)|longer than the maximum model length|` +
	`context length of only|reduce the length of the messages|model_max_prompt_tokens_exceeded`)

// refusesImage makes f the refusal of an image, if an API refuses a request with images and speaks of
// them, or wants a text where they are. Providers use all statuses for it: Anthropic and OpenAI 400,
// OpenRouter 404, llama.cpp 500, some hosts 422. A request that would fail without images, too, is not
// among these.
func (f *failure) refusesImage(w wire) {
	if f.Overflow || f.Type == "rate_limit" || f.Type == "overloaded" || !imageText().MatchString(f.Details+" "+f.words) {
		return
	}
	f.again, f.End, f.Message = false, events.EndImageError, f.words
	f.tell("invalid_request", "%s refuses an image for %s, which is left out from now on; go on with another message, or "+
		"use a model that takes it", w.BaseURL, w.Name())
}

// imageText matches what providers and servers say of an image that they do not take: by its name, as
// most do, or as Groq, DeepSeek, gateways with pydantic, and Mistral do.
var imageText = texts.Pattern(`(?i)image|\bvision\b|multi-?modal|(?:expected|be) a (?:valid )?string|` +
	`role '?user'? after role '?tool`)

// noAnswer returns the failure of an answer that is not what was wanted, such as a stream,
// but a proxy's page.
func (w wire) noAnswer(wanted, kind string, body []byte) error {
	if words := parseError(body); words.Message != "" {
		return w.failed(0, words)
	}
	return fail("unknown", "%s", w.notTheAPI(cmp.Or(kind, "an unknown type"), wanted, body))
}

// notTheAPI reports that something else than the API gave an answer.
func (w wire) notTheAPI(what, wanted string, body []byte) string {
	return fmt.Sprintf("%s answered with %s instead of %s; is base_url right, or is a proxy between? It begins: %s",
		w.BaseURL, what, wanted, pageText(body))
}

// contentType returns the media type of an answer, without its parameters.
func contentType(resp *http.Response) string {
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")) // a wrong one is none
	return kind
}

// unreachable returns the failure of a request without an answer. A certificate that is not
// trusted stays so, and is not tried again; a host that cannot be reached may come back.
func (w wire) unreachable(ctx context.Context, err error) error {
	const unreachable = "%s cannot be reached: %v; is the network up, and base_url right?"
	var untrusted *tls.CertificateVerificationError
	var dns *net.DNSError
	var op *net.OpError
	why := innermost(err)
	if refused, ok := errors.AsType[*agent.APIError](err); ok { // by the transport, which knows why
		return &failure{APIError: *refused}
	}
	if limit, ok := errors.AsType[*agent.LimitError](err); ok {
		return limit
	}
	switch cause := context.Cause(ctx); {
	case cause == errSilent:
		return mayPass("server_error", "%s did not answer for %s", w.BaseURL, w.Times.Silence)
	case cause == errUnconnected: // the member tries again, and people know why it waits
		return fail("server_error", unreachable, w.BaseURL, cause)
	case errors.As(err, &untrusted):
		return fail("server_error", "the certificate of %s is not trusted; if it is your own, name its authority in SSL_CERT_FILE: %v",
			w.BaseURL, why)
	case errors.As(err, &op) && op.Op == "proxyconnect":
		return mayPass("server_error", "the proxy to %s cannot be reached: %v; does it run, and is HTTPS_PROXY or HTTP_PROXY right?",
			w.BaseURL, why)
	case errors.As(err, &dns):
		return mayPass("server_error", unreachable, w.BaseURL, dns.Err)
	case errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EHOSTUNREACH):
		return mayPass("server_error", unreachable, w.BaseURL, why)
	}
	return mayPass("server_error", "%s cannot be reached: %v; does the server run, and is base_url right?", w.BaseURL, why)
}

// broken returns the failure of a stream that ended before its answer was complete.
func (w wire) broken(ctx context.Context, err error) error {
	if context.Cause(ctx) == errSilent {
		return mayPass("server_error", "%s stopped in the middle of an answer: nothing came for %s (stream_idle)", w.BaseURL, w.Times.Idle)
	}
	return mayPass("server_error", "the connection to %s broke in the middle of an answer: %v", w.BaseURL, err)
}

// malformed returns the failure of an event that is not as the API defines it.
func (w wire) malformed(data []byte, err error) error {
	return mayPass("unknown", "%s sent an event that is not as its API says (%v): %s", w.BaseURL, err, texts.Short(string(data), 200))
}

// refusal returns the failure of a request that the model declined. Another try would be
// declined, too.
func refusal(text string) error {
	f := fail("invalid_request", "the model declined to answer")
	if text != "" {
		f.Message += ": " + texts.Preview(text, 500)
	}
	f.Message += " (a model under fallback would be asked instead)"
	return f
}

// pageText returns the beginning of a body that is not the API's, without markup.
func pageText(body []byte) string {
	text := markup().ReplaceAllString(string(body), " ")
	return texts.Short(strings.Join(strings.Fields(text), " "), 200)
}

// markup matches tags of HTML, and the styles and scripts of a page.
var markup = texts.Pattern(`(?is)<(?:style|script)\b.*?</(?:style|script)>|<[^>]*>`)

// innermost returns the last error of a chain, which says what failed without the URL of
// the request.
func innermost(err error) error {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err
		}
		err = inner
	}
}
