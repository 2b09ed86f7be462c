package testkit

// PairSpec is the spec of a team of a lead and dev, who follow the scripts lead.yaml and dev.yaml.
const PairSpec = `covey: 1
name: crew
goal: Ship it.
models:
  lead: {provider: script, script: lead.yaml}
  dev: {provider: script, script: dev.yaml}
lead: {model: lead}
teammates:
  dev: {model: dev}
`

// SoloSpec is the spec of a team of a lead who follows the script lead.yaml.
const SoloSpec = `covey: 1
name: crew
goal: Ship it.
models: {lead: {provider: script, script: lead.yaml}}
lead: {model: lead}
`
