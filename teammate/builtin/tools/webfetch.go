package tools

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/hooks/web"
	"github.com/coveyteam/covey/teammate/agent"
)

// fetchInput is the input of WebFetch. Prompt is there because models write it: other hosts
// ask a second model about the page.
type fetchInput struct {
	URL    string `json:"url"`
	Prompt string `json:"prompt,omitempty"`
	Offset int    `json:"offset,omitempty"`
}

// fetchOutput is WebFetch's tool_response.
type fetchOutput struct {
	Bytes      int    `json:"bytes"`
	Code       int    `json:"code"`
	CodeText   string `json:"codeText"`
	Result     string `json:"result"`
	DurationMS int64  `json:"durationMs"`
	URL        string `json:"url"`
}

const (
	// fetchTime is how long a page may take.
	fetchTime = 30 * time.Second
	// fetchChars is how many characters of a page one result shows.
	fetchChars = 40_000
)

// fetcher is the web as one member reaches it. It keeps the last page, so that all parts of a
// long one are of the same page, whatever its server says in between.
type fetcher struct {
	world web.World
	named func(agent.ToolCall) bool // see Env.Named
	now   func() time.Time

	mu   sync.Mutex // guards the fields below
	url  string     // of the last page, as it was asked for
	page web.Page
	text string
}

func (f *fetcher) tool() agent.Tool {
	spec := agent.Spec{
		Name: "WebFetch",
		Description: "Gets a web page and returns its text, HTML as Markdown. No model reads it for you: the answer to " +
			"prompt is for you to find. A long page comes in parts. A redirect to another host is reported " +
			"and not followed.",
		ReadOnly: true, Web: true,
	}
	adjust := func(s *jsonschema.Schema) { s.Properties["offset"].Minimum = jsonschema.Ptr(0.0) }
	about := map[string]string{
		"url":    "The whole URL; http becomes https",
		"prompt": "What you want to know",
		"offset": "The character of the text to begin with; for pages too long to show at once",
	}
	// Rules and hooks see the host in the form in which it is called.
	tool := NewTyped(spec, about, adjust, f.run).withPaths(web.Canonical, "url")
	tool.locate = func(fetchInput) []string { return nil } // a URL is no path
	tool.Shown = Rendering(func(o fetchOutput) string { return o.Result })
	return tool
}

// run runs WebFetch.
func (f *fetcher) run(ctx context.Context, in fetchInput) agent.ToolResult {
	begun := f.now()
	to, err := web.ParseTarget(in.URL)
	if err != nil {
		return agent.Failed("WebFetch: %v", err)
	}
	page, text, err := f.get(ctx, to, in.Offset)
	if err != nil {
		return agent.Failed("WebFetch: %s: %v", to, err)
	}
	output := fetchOutput{Bytes: len(page.Body), Code: page.Status, CodeText: http.StatusText(page.Status), URL: page.URL}
	// The permission for this URL says nothing about another host: the model must ask for
	// it in a call of its own.
	if page.Elsewhere != "" {
		output.Result = fmt.Sprintf("%s redirects to another host, which was not followed: %s\n%s", page.URL, page.Elsewhere,
			f.advice(ctx, page.Elsewhere))
	} else if output.Result, err = pagePart(page, text, in.Offset); err != nil {
		return agent.Failed("WebFetch: %s: %v", to, err)
	}
	output.DurationMS = f.now().Sub(begun).Milliseconds()
	return Success(output.Result, output)
}

// get returns a page and its text. It asks for the page anew unless a later part of the last
// one is wanted.
func (f *fetcher) get(ctx context.Context, to *web.Target, offset int) (web.Page, string, error) {
	f.mu.Lock()
	known, page, text := f.url == to.String(), f.page, f.text
	f.mu.Unlock()
	if offset > 0 && known {
		return page, text, nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, fetchTime, errSlowPage)
	defer cancel()
	page, err := web.Fetch(ctx, f.world, to, f.isNamed(to))
	if err != nil || page.Elsewhere != "" {
		return page, "", err
	}
	if text, err = pageText(page); err != nil {
		return page, "", err
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.url, f.page, f.text = to.String(), page, text
	return page, text, nil
}

// isNamed reports whether a rule names the host of a URL.
func (f *fetcher) isNamed(to *web.Target) bool {
	return f.named != nil && f.named(agent.ToolCall{Name: "WebFetch", Input: texts.Encode(fetchInput{URL: to.String()})})
}

// advice returns what a model can do with a URL that a page leads to.
func (f *fetcher) advice(ctx context.Context, elsewhere string) string {
	ctx, cancel := context.WithTimeout(ctx, fetchTime)
	defer cancel()
	to, err := web.ParseTarget(elsewhere)
	if err == nil {
		err = web.Fetchable(ctx, f.world, to, f.isNamed(to))
	}
	if err != nil {
		return fmt.Sprintf("WebFetch does not get that URL: %v", err)
	}
	return "Call WebFetch with that URL if it is what you need."
}

// errSlowPage is why a page that takes too long is given up.
var errSlowPage = fmt.Errorf("the page did not come within %v", fetchTime)

// pageText returns the text of a page. Bytes that are not UTF-8 are replaced: guessing other
// encodings would need tables of them all, for few pages.
func pageText(p web.Page) (string, error) {
	kind, _, err := mime.ParseMediaType(p.Type)
	if err != nil {
		kind = p.Type
	}
	body := strings.ToValidUTF8(string(p.Body), "\uFFFD")
	switch {
	case kind == "text/html", kind == "application/xhtml+xml":
		from, err := url.Parse(p.URL)
		if err != nil {
			return "", err
		}
		markdown := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(),
			commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
		text, err := markdown.ConvertString(body, converter.WithDomain(from.Scheme+"://"+from.Host))
		if err != nil {
			return "", fmt.Errorf("its HTML cannot be read: %w", err)
		}
		return text, nil
	case strings.HasPrefix(kind, "text/"), strings.HasSuffix(kind, "+json"), strings.HasSuffix(kind, "+xml"),
		slices.Contains(textTypes(), kind):
		return body, nil
	}
	return "", fmt.Errorf("is %.80s, which is not text; if you need the file, get it with Bash", kind)
}

// textTypes returns the types of text that are not called so.
func textTypes() []string {
	return []string{"application/json", "application/xml", "application/javascript", "application/ecmascript",
		"application/yaml", "application/x-yaml", "application/toml", "application/x-sh", "application/x-ndjson",
		"application/sql", "application/graphql"}
}

// pagePart returns a part of a page as models see it. The first line says whose words it
// holds, because a page may hold text that looks like instructions.
func pagePart(p web.Page, text string, offset int) (string, error) {
	total := utf8.RuneCountInString(text)
	if offset > 0 && offset >= total {
		return "", fmt.Errorf("has %d characters only; choose a smaller offset", total)
	}
	head := fmt.Sprintf("Text of %s, which nobody in your team has written:\n\n", p.URL)
	if total == 0 {
		return "", errors.New("has no text; a script in a browser may make it")
	}
	rest := text[len(texts.Runes(text, offset)):]
	part := texts.Runes(rest, fetchChars)
	switch {
	case len(part) < len(rest):
		part += fmt.Sprintf("\n(characters %d to %d of %d; go on with offset %d)", offset, offset+fetchChars, total,
			offset+fetchChars)
	case p.Cut:
		part += fmt.Sprintf("\n(the page goes on, but only its first %d bytes are read)", web.MaxPage)
	}
	return head + part, nil
}
