package mcp

import (
	"encoding/json"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/coveyteam/covey/hooks/texts"
	"github.com/coveyteam/covey/teammate/agent"
)

// maxText is how many characters of a result a model gets, as of the output of Bash.
const maxText = 64 << 10

// resultOf returns the result of a tool for a model. Models get text and images, so anything else is
// named. Hooks get a list of blocks, as they do from recorded hosts (golden, elicitation).
func resultOf(result *sdk.CallToolResult) agent.ToolResult {
	var parts []string
	var images []agent.Image
	told := false // the structured content is among the texts, as MCP wants it
	structured, _ := texts.Marshal(result.StructuredContent)
	for _, content := range result.Content {
		text := textOf(content)
		if c, ok := content.(*sdk.ImageContent); ok && !result.IsError { // APIs take texts only as errors
			if i, err := agent.NewImage(c.Data); err == nil {
				text, images = i.String(), append(images, i)
			} else {
				text = fmt.Sprintf("[an image, %s, which cannot be shown: %v]", c.MIMEType, err)
			}
		}
		told = told || texts.SameJSON([]byte(text), structured)
		parts = append(parts, text)
	}
	if result.StructuredContent != nil && !told {
		parts = append(parts, string(structured))
	}
	text := texts.Middle(strings.ToValidUTF8(strings.Join(parts, "\n"), "\uFFFD"), maxText)
	r := agent.ToolResult{Content: text, Images: images, IsError: result.IsError}
	if !r.IsError {
		blocks := []any{textBlock{"text", text}}
		for _, i := range images {
			blocks = append(blocks, i)
		}
		r.Response, _ = texts.Marshal(blocks)
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
// that are neither text nor image, nothing is shown.
func (t memberTool) Render(response json.RawMessage) (agent.ToolResult, error) {
	var r agent.ToolResult
	if json.Unmarshal(response, &r.Content) == nil {
		return r, nil
	}
	var blocks []struct {
		Text string `json:"text"`
		agent.Image
	}
	if err := json.Unmarshal(response, &blocks); err != nil {
		return r, fmt.Errorf("it is neither a text nor a list of blocks: %w", err)
	}
	var texts []string
	for _, b := range blocks {
		if b.Type != "image" {
			texts = append(texts, b.Text)
			continue
		}
		i, err := agent.NewImage(b.Source.Data)
		if err != nil {
			return agent.ToolResult{}, fmt.Errorf("an image of it cannot be shown: %w", err)
		}
		r.Images = append(r.Images, i)
	}
	r.Content = strings.Join(texts, "\n")
	return r, nil
}
