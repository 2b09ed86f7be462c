package modelapi

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/coveyteam/covey/events"
	"github.com/coveyteam/covey/teammate/agent"
)

// askImage is a request with an image.
func askImage() agent.Request {
	image := agent.Image{Type: "image", Source: agent.ImageSource{Type: "base64", MediaType: "image/png", Data: []byte("x")}}
	req := ask()
	req.Messages = append(req.Messages,
		agent.Message{Role: agent.Assistant, Content: []agent.Block{{Type: agent.ToolUseBlock, ID: "c1", Name: "Read"}}},
		agent.Message{Role: agent.User, Content: []agent.Block{
			{Type: agent.ToolResultBlock, ToolUseID: "c1", Content: image.String(), Images: []agent.Image{image}}}})
	return req
}

// TestImageRefused: whatever an API says of an image that it does not take, and with which status, is
// the end of the turn at once, and only if the request has images.
func TestImageRefused(t *testing.T) {
	const isRefused, isNot = true, false
	for _, tc := range []struct {
		status int
		body   string
		want   bool
	}{
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"messages.2.content.0.tool_result.content.1.image.source.base64: image exceeds 5 MB maximum: 5316852 bytes > 5242880 bytes"}}`, isRefused},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`, isRefused},
		{400, `{"type":"error","error":{"type":"invalid_request_error","message":"At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels"}}`, isRefused},
		{400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image is valid.","type":"invalid_request_error","code":"invalid_image_format"}}`, isRefused},
		{400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error"}}`, isRefused},
		{400, `{"error":{"message":"messages[13]: unknown variant image_url, expected text at line 1 column 6290571","type":"invalid_request_error"}}`, isRefused},
		{400, `{"object":"error","message":"At most 0 image(s) may be provided in one prompt.","type":"BadRequestError","code":400}`, isRefused},
		{400, `{"object":"error","message":"qwen3 is not a multimodal model","type":"BadRequestError","code":400}`, isRefused},
		{400, `{"error":{"message":"messages[3].content must be a string","type":"invalid_request_error"}}`, isRefused},
		{422, `{"error":{"message":"Input should be a valid string","type":"invalid_request_error"}}`, isRefused},
		{400, `{"object":"error","message":"Unexpected role 'user' after role 'tool'","type":"invalid_request_error"}`, isRefused},
		{404, `{"error":{"message":"No endpoints found that support image input","code":404}}`, isRefused},
		{500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`, isRefused},
		{400, `{"error":"this model does not support image input"}`, isRefused},
		{429, `{"error":{"message":"Limit of images per minute reached","type":"rate_limit_error"}}`, isNot},
		{413, `{"error":{"message":"the request with its images is too large"}}`, isNot},
		{400, `{"error":{"message":"tools.0.name: string is too long","type":"invalid_request_error"}}`, isNot},
		{502, `<html>Powered by Imagery</html>`, isNot},
	} {
		for _, name := range apis {
			for withImage, req := range map[bool]agent.Request{true: askImage(), false: ask()} {
				var asked atomic.Int32
				server := serve(t, func(w http.ResponseWriter, _ *http.Request) {
					asked.Add(1)
					w.Header().Set("Content-Type", "application/json")
					w.WriteHeader(tc.status)
					fmt.Fprint(w, tc.body)
				})
				c := anthropic(server.URL)
				c.API = name
				_, err := generate(t, c, req)
				var api *agent.APIError
				if !errors.As(err, &api) {
					t.Fatalf("%s: %v", tc.body, err)
				}
				refused := tc.want && withImage
				if got := api.End == events.EndImageError; got != refused {
					t.Errorf("%s, with an image %v: the end is %q for %s", name, withImage, api.End, tc.body)
				}
				begins := server.URL + " refuses an image for anthropic/claude-x, which is left out from now on; "
				if refused && (api.Type != "invalid_request" || api.Passes() || asked.Load() != 1 ||
					!strings.HasPrefix(api.Message, begins)) {
					t.Errorf("%s, after %d requests: %v", name, asked.Load(), api)
				}
				server.Close()
			}
		}
	}
}

// TestImageRefusedInStream: a refusal also comes within a stream.
func TestImageRefusedInStream(t *testing.T) {
	for name, data := range map[API]string{
		Messages:  `{"type":"error","error":{"type":"invalid_request_error","message":"Could not process image"}}`,
		Responses: `{"type":"response.failed","response":{"error":{"code":"image_parse_error","message":"The input is not valid."}}}`,
		Chat:      `{"error":{"message":"Failed to load image or audio file","type":"server_error","code":500}}`,
	} {
		server := serve(t, func(w http.ResponseWriter, _ *http.Request) { stream(w, []byte("data: "+data+"\n\n")) })
		c := anthropic(server.URL)
		c.API = name
		_, err := generate(t, c, askImage())
		var api *agent.APIError
		if !errors.As(err, &api) || api.End != events.EndImageError {
			t.Errorf("%s: %v", name, err)
		}
	}
}
