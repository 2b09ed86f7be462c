package script

import "net/http"

// listModels answers OpenAI's and Anthropic's question which models there are:
// each script by its name. The fields of both are there.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	data := []object{}
	for _, name := range s.models() {
		data = append(data, modelCard(name))
	}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": data, "has_more": false})
}

// showModel tells of one model. Any name will do, as for requests.
func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, modelCard(r.PathValue("model")))
}

// modelCard is one model with the fields of both APIs. It was made at no time
// in particular. modelCard is one model in the form of both APIs. The dates are
// fixed: nobody sorts by them, and the same server should give the same bytes.
func modelCard(name string) object {
	return object{
		"id": name, "object": "model", "type": "model", "display_name": name, "owned_by": "covey",
		"created": 0, "created_at": "1970-01-01T00:00:00Z",
	}
}

// listGeminiModels is the same in Gemini's form.
func (s *Server) listGeminiModels(w http.ResponseWriter, _ *http.Request) {
	list := []object{}
	for _, name := range s.models() {
		list = append(list, object{
			"name": "models/" + name, "displayName": name,
			"supportedGenerationMethods": []string{"generateContent", "countTokens"},
		})
	}
	writeJSON(w, http.StatusOK, object{"models": list})
}
