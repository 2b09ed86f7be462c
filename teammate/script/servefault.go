package script

import (
	"net/http"

	"github.com/coveyteam/covey/teammate/agent"
)

// fault is how the APIs say an error of HOOKS.md section 6.
type fault struct {
	status    int    // of HTTP, at OpenAI and Gemini
	anthropic string // Anthropic's type; its status may differ, see anthropicStatus
	openai    string // OpenAI's code
	gemini    string // Gemini's status
}

// faultOf tells how the APIs say e. An error that no retry can mend gets a
// status that agents do not retry.
func faultOf(e *agent.APIError) fault {
	// Statuses are what agents go by: 429 and 5xx are tried again, the rest is not.
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
	if e.Fatal {
		return fault{http.StatusBadRequest, "invalid_request_error", "invalid_request_error", "FAILED_PRECONDITION"}
	}
	return fault{http.StatusInternalServerError, "api_error", "server_error", "INTERNAL"}
}

// anthropicStatus is the HTTP status at Anthropic, which has one of its own for
// being overloaded.
func (f fault) anthropicStatus() int {
	if f.anthropic == "overloaded_error" {
		return 529
	}
	return f.status
}

// object is a JSON object that is written in one place only. Its keys come out
// sorted, so that the same answer is the same bytes.
type object = map[string]any

// openaiFault is the body of an error of OpenAI's APIs.
func openaiFault(code, message string) object {
	// Type and code say much the same; clients differ in which they look at.
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
