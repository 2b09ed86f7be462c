package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/notation"
	"github.com/coveyteam/covey/teammate/agent"
)

// maxText is how many characters of a result a model gets, as of the output of Bash.
const maxText = 64 << 10

// resultOf returns the result of a tool for a model. Models get text only, so anything else is
// named. Hooks get a list of blocks, as they do from recorded hosts (golden, elicitation).
func resultOf(result *sdk.CallToolResult) agent.ToolResult {
	var texts []string
	told := false // the structured content is among the texts, as MCP wants it
	structured, _ := notation.Marshal(result.StructuredContent)
	for _, content := range result.Content {
		text := textOf(content)
		told = told || notation.SameJSON([]byte(text), structured)
		texts = append(texts, text)
	}
	if result.StructuredContent != nil && !told {
		texts = append(texts, string(structured))
	}
	text := notation.Middle(strings.ToValidUTF8(strings.Join(texts, "\n"), "\uFFFD"), maxText)
	r := agent.ToolResult{Content: text, IsError: result.IsError}
	if !r.IsError {
		r.Response, _ = notation.Marshal([]textBlock{{"text", text}})
	}
	return r
}

// textBlock is a block of text in the response of a tool.
type textBlock struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// textOf returns the text of a part of a result, or says what the part is.
func textOf(content sdk.Content) string {
	switch c := content.(type) {
	case *sdk.TextContent:
		return c.Text
	case *sdk.ImageContent:
		return fmt.Sprintf("[an image, %s, %d bytes, which cannot be shown here]", c.MIMEType, len(c.Data))
	case *sdk.AudioContent:
		return fmt.Sprintf("[a sound, %s, %d bytes, which cannot be played here]", c.MIMEType, len(c.Data))
	case *sdk.ResourceLink:
		return strings.TrimSpace(fmt.Sprintf("[the resource %s: %s %s", c.URI, c.Name, c.Description)) + "]"
	case *sdk.EmbeddedResource:
		switch {
		case c.Resource == nil:
			return "[an empty resource]"
		case c.Resource.Blob != nil:
			return fmt.Sprintf("[the resource %s, %s, %d bytes, which cannot be shown here]",
				c.Resource.URI, c.Resource.MIMEType, len(c.Resource.Blob))
		}
		return fmt.Sprintf("[the resource %s]\n%s", c.Resource.URI, c.Resource.Text)
	}
	return "[content of a kind that this version of covey does not know]"
}

// Render implements agent.Renderer: a hook replaces the blocks of a result, or its text. Of blocks
// that are no text, nothing is shown.
func (t memberTool) Render(response json.RawMessage) (string, error) {
	var text string
	if json.Unmarshal(response, &text) == nil {
		return text, nil
	}
	var blocks []textBlock
	if err := json.Unmarshal(response, &blocks); err != nil {
		return "", fmt.Errorf("it is neither a text nor a list of blocks: %w", err)
	}
	var texts []string
	for _, b := range blocks {
		texts = append(texts, b.Text)
	}
	return strings.Join(texts, "\n"), nil
}
