package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/http/httputil"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/coveyteam/covey/configs"
	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
	"github.com/coveyteam/covey/teammate/script"
)

// Host is a host of models.
type Host struct {
	URL string // of its API, with a prefix such as /v1 if it has one; without a slash at its end
	// Provider begins the names of its models, as in lists of prices.
	Provider string
	// Key returns the key; it is asked for with each request, so that a key file can be replaced. nil: none.
	Key func() (string, error)
	// Bearer means that the key is sent as a bearer token also where the API has a header of its own.
	Bearer bool
	Free   bool // nobody pays for its tokens, such as those of a script
}

// request is a request on its way.
type request struct {
	api   script.API // zero: it asks no model
	host  Host
	model string
	look  *look // at its body
}

type requestKey struct{}

// requestOf returns the request of a context.
func requestOf(ctx context.Context) *request { return ctx.Value(requestKey{}).(*request) }

// pass passes a request on, if it may leave.
func (d *Door) pass(w http.ResponseWriter, r *http.Request) {
	api, asks := script.APIOf(r.Method, r.URL.Path)
	refuse := func(kind, format string, args ...any) {
		api.Refuse(w, &agent.APIError{Type: kind, Message: fmt.Sprintf(format, args...)})
	}
	if !d.knows(r) {
		refuse("authentication_failed", "this gateway takes only the key that covey has given to the program")
		return
	}
	if err := d.gateway.deps.Processes.SpeaksOn(r.Context(), d.Member); err != nil {
		refuse("authentication_failed", "the gateway of %s: %v", d.Member, err)
		return
	}
	name := cmp.Or(api.Name, apiOfPath(r.Method, r.URL.Path))
	host, known := d.Hosts[name]
	if name == "" || !known && !d.Lane.Replays() {
		refuse("model_not_found", "%s %s is not passed on by the gateway of covey", r.Method, r.URL.Path)
		return
	}
	q := &request{api: api, host: host, model: api.Model}
	if asks {
		if err := d.admit(r, q); err != nil {
			d.refuse(w, api, err)
			return
		}
	}
	// Otherwise the server closes the body of a request when its answer begins. A host can answer before the end of the
	// body was seen here, though it has all of it, and its stream would be cut off.
	_ = http.NewResponseController(w).EnableFullDuplex() // HTTP/2 has it anyway
	d.proxy.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), requestKey{}, q)))
}

// apiOfPath returns the API of a request that asks no model, but is harmless and free: for lists of models, and
// how many tokens a request has. All others are refused, because the key may do more than ask models.
func apiOfPath(method, path string) string {
	rest, isList := strings.CutPrefix(path, "/v1")
	switch {
	case strings.HasPrefix(path, "/v1beta/models") && (method == http.MethodGet || strings.HasSuffix(path, ":countTokens")):
		return "gemini"
	case path == "/v1/messages/count_tokens" && method == http.MethodPost:
		return "anthropic"
	case method == http.MethodGet && isList && (rest == "/models" || strings.HasPrefix(rest, "/models/")):
		return "anthropic"
	case method == http.MethodGet && (path == "/models" || strings.HasPrefix(path, "/models/")):
		return "responses"
	}
	return ""
}

// admit decides whether a request to a model may leave.
func (d *Door) admit(r *http.Request, q *request) error {
	turn := d.gateway.deps.Turn(d.Member)
	d.mu.Lock()
	d.asked++
	if d.turn != turn {
		d.turn, d.requests = turn, 0
	}
	full := d.MaxRequests > 0 && d.requests >= d.MaxRequests
	d.mu.Unlock()
	if full {
		return fmt.Errorf("%w: %d", agent.ErrMaxTurns, d.MaxRequests)
	}
	q.look = &look{body: r.Body, door: d}
	if q.model == "" {
		q.model = q.look.model()
	}
	r.Body = q.look
	if err := allowed(d.Models, q.host.Provider, q.model); err != nil {
		return err
	}
	if d.Lane.Replays() || q.host.Free {
		return d.gateway.deps.Left(d.Member, "")
	}
	return d.gateway.deps.Left(d.Member, q.name())
}

// allowed returns why a model may not be asked; nil: it may.
func allowed(lists []configs.ModelList, provider, model string) error {
	for _, list := range lists {
		if slices.ContainsFunc(list.Patterns, func(pattern string) bool {
			return texts.Wild(pattern, provider+"/"+model) || list.Policy == "" && texts.Wild(pattern, model)
		}) {
			continue
		}
		text := "the spec does not allow the model %s (gateway: {models: [%s]}); write it there, or use one of these"
		if list.Policy != "" {
			text = "the policy does not allow the model %s, only %s (" + list.Policy + "); use one of these"
		}
		return &agent.APIError{Type: "model_not_found", Message: fmt.Sprintf(text, nameOf(provider, model), strings.Join(list.Patterns, ", "))}
	}
	return nil
}

// name returns the name of the model with its provider.
func (q *request) name() string { return nameOf(q.host.Provider, q.model) }

// nameOf returns the name of a model with its provider.
func nameOf(provider, model string) string { return strings.TrimPrefix(provider+"/"+model, "/") }

// refuse answers a request that does not leave, and ends the turn for that reason if it asks a model.
func (d *Door) refuse(w http.ResponseWriter, api script.API, err error) {
	if api.Name != "" {
		d.judge(err)
	}
	said := &agent.APIError{Type: "invalid_request", Message: err.Error()}
	if own, ok := errors.AsType[*agent.APIError](err); ok {
		said = own
	} else if limit, ok := errors.AsType[*agent.LimitError](err); ok {
		said.Type = "rate_limit"
		wait := limit.Until.Sub(d.gateway.deps.Clock.Now())
		w.Header().Set("Retry-After", strconv.Itoa(int(wait.Seconds())+1))
	}
	api.Refuse(w, said)
}

// rewrite sends a request to its host, with the host's key in place of the token.
func (d *Door) rewrite(pr *httputil.ProxyRequest) {
	q := requestOf(pr.In.Context())
	pr.Out.Header.Set("Accept-Encoding", "identity") // what is counted must be read
	if d.Lane.Replays() {
		return
	}
	base, err := url.Parse(q.host.URL)
	if err != nil {
		return // hosts are parsed before; without one the request fails
	}
	path := pr.In.URL.Path
	for _, version := range []string{"/v1", "/v1beta"} { // the host may have its own
		if strings.HasSuffix(base.Path, version) {
			path = strings.TrimPrefix(path, version)
		}
	}
	pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.Host = base.Scheme, base.Host, base.Host
	pr.Out.URL.Path, pr.Out.URL.RawPath = base.Path+path, ""
	if d.PassesLogin != "" {
		return
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "X-Goog-Api-Key"} {
		pr.Out.Header.Del(name)
	}
	query := pr.Out.URL.Query()
	query.Del("key")
	pr.Out.URL.RawQuery = query.Encode()
	if q.host.Key == nil {
		return
	}
	key, err := q.host.Key()
	switch {
	case err != nil:
		d.judge(err)
	case q.host.Bearer || q.host.Provider != "anthropic" && q.host.Provider != "google":
		pr.Out.Header.Set("Authorization", "Bearer "+key)
	case q.host.Provider == "google":
		pr.Out.Header.Set("X-Goog-Api-Key", key)
	default:
		pr.Out.Header.Set("X-Api-Key", key)
	}
}

// answered looks at what a host has answered.
func (d *Door) answered(resp *http.Response) error {
	q := requestOf(resp.Request.Context())
	if q.api.Name == "" {
		return nil
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	switch {
	case resp.StatusCode == http.StatusTooManyRequests:
		wait := waitOf(resp, d.gateway.deps.Clock.Now())
		d.note("the vendor limits the requests of this login")
		if wait > longWait { // the program may hide it for minutes
			d.judge(&agent.LimitError{Until: d.gateway.deps.Clock.Now().Add(wait), Text: "the vendor has asked this login to wait"})
		}
	case kind == "text/html":
		d.note("%s answered %s and a page (%s), which is not the API; is its URL right, or is a proxy between?", q.host.URL, resp.Status, kind)
	case resp.StatusCode/100 == 3:
		d.note("%s answered %s, which the gateway does not follow", q.host.URL, resp.Status)
	}
	if resp.StatusCode/100 == 2 {
		resp.Body = newMeter(resp, q, d.count)
	}
	return nil
}

// firstWait is how long a login waits if its vendor does not say.
const firstWait = time.Second

// waitOf returns how long a vendor asks to wait.
func waitOf(resp *http.Response, now time.Time) time.Duration {
	text := strings.TrimSpace(resp.Header.Get("Retry-After"))
	if seconds, err := strconv.ParseFloat(text, 64); err == nil && seconds >= 0 && seconds < 1e7 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return firstWait
}

// failed answers a request whose host did not.
func (d *Door) failed(w http.ResponseWriter, r *http.Request, err error) {
	q := requestOf(r.Context())
	if r.Context().Err() != nil {
		return // nobody reads it
	}
	_, misses := errors.AsType[*agent.APIError](err) // a recording, or errTwice
	_, waits := errors.AsType[*agent.LimitError](err)
	if misses || waits {
		d.refuse(w, q.api, err)
		return
	}
	d.note("%s cannot be reached: %v", q.host.URL, err)
	q.api.Refuse(w, &agent.APIError{Type: "server_error", Message: fmt.Sprintf("the gateway of covey: %s cannot be reached: %v", q.host.URL, err)})
}

// buffers are the buffers through which answers pass.
type buffers struct{}

var pool = sync.Pool{New: func() any { b := make([]byte, 32<<10); return &b }}

// Get implements httputil.BufferPool.
func (buffers) Get() []byte { return *pool.Get().(*[]byte) }

// Put implements httputil.BufferPool.
func (buffers) Put(b []byte) { pool.Put(&b) }
