package hooks

// ConfigChangeInput is the payload of ConfigChange.
type ConfigChangeInput struct {
	Source   string `json:"source"`              // user_settings, project_settings, local_settings, policy_settings or skills
	FilePath string `json:"file_path,omitempty"` // absolute
}

// Event returns ConfigChange.
func (ConfigChangeInput) Event() Event { return ConfigChange }
