package script

import "net/http"

// listModels answers OpenAI's and Anthropic's requests for the models: one for each
// script, with the fields of both APIs.
func (s *Server) listModels(w http.ResponseWriter, _ *http.Request) {
	data := []object{}
	for _, name := range s.models() {
		data = append(data, modelCard(name))
	}
	writeJSON(w, http.StatusOK, object{"object": "list", "data": data, "has_more": false})
}

// showModel describes one model. It accepts any name, as requests do.
func (s *Server) showModel(w http.ResponseWriter, r *http.Request) {
	writeJSON(w, http.StatusOK, modelCard(r.PathValue("model")))
}

// modelCard describes one model in the form of both APIs. The dates are fixed, so
// that the answer is the same each time.
func modelCard(name string) object {
	return object{
		"id": name, "object": "model", "type": "model", "display_name": name, "owned_by": "covey",
		"created": 0, "created_at": "1970-01-01T00:00:00Z",
	}
}

// listGeminiModels answers Gemini's request for the models.
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
