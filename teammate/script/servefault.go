package script

import (
	"net/http"

	"github.com/coveyteam/covey/teammate/agent"
)

// fault is an error of HOOKS.md section 6 in the terms of each API.
type fault struct {
	status    int    // HTTP status of OpenAI and Gemini
	anthropic string // Anthropic's type; its status may differ, see anthropicStatus
	openai    string // OpenAI's code
	gemini    string // Gemini's status
}

// faultOf returns the terms of the APIs for e. An error that no retry can fix gets
// a status that agents do not retry.
func faultOf(e *agent.APIError) fault {
	// Agents decide by the status: they retry 429 and 5xx, and nothing else.
	switch e.Type {
	case "rate_limit":
		return fault{http.StatusTooManyRequests, "rate_limit_error", "rate_limit_exceeded", "RESOURCE_EXHAUSTED"}
	case "overloaded":
		return fault{http.StatusServiceUnavailable, "overloaded_error", "server_is_overloaded", "UNAVAILABLE"}
	case "authentication_failed":
		return fault{http.StatusUnauthorized, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"}
	case "oauth_org_not_allowed", "account_on_hold", "verification_required", "cloud_credential_error":
		return fault{http.StatusForbidden, "permission_error", e.Type, "PERMISSION_DENIED"}
	case "billing_error":
		return fault{http.StatusPaymentRequired, "billing_error", "insufficient_quota", "FAILED_PRECONDITION"}
	case "model_not_found":
		return fault{http.StatusNotFound, "not_found_error", "model_not_found", "NOT_FOUND"}
	case "invalid_request":
		return fault{http.StatusBadRequest, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"}
	}
	if e.End != "" {
		return fault{http.StatusBadRequest, "invalid_request_error", "invalid_request_error", "FAILED_PRECONDITION"}
	}
	return fault{http.StatusInternalServerError, "api_error", "server_error", "INTERNAL"}
}

// anthropicStatus returns Anthropic's HTTP status, which is 529 for overload.
func (f fault) anthropicStatus() int {
	if f.anthropic == "overloaded_error" {
		return 529
	}
	return f.status
}

// object is a JSON object used in one place only. Its keys are encoded in sorted
// order, so that equal answers have equal bytes.
type object = map[string]any

// openaiFault returns the error body of OpenAI's APIs.
func openaiFault(code, message string) object {
	// Type and code are nearly the same; some clients read one, some the other.
	kind := code
	switch code {
	case "invalid_api_key", "model_not_found":
		kind = "invalid_request_error"
	case "rate_limit_exceeded":
		kind = "requests"
	case "server_is_overloaded":
		kind = "server_error"
	}
	return object{"error": object{"message": message, "type": kind, "param": nil, "code": code}}
}
