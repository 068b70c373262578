package llm

import "strings"

// Unfenced takes off the code fence that many models put around JSON whatever they are told.
func Unfenced(text string) string {
	text = strings.TrimSpace(text)
	body, ok := strings.CutPrefix(text, "```json")
	if !ok {
		body, ok = strings.CutPrefix(text, "```")
	}
	if end, closed := strings.CutSuffix(body, "```"); ok && closed {
		return end
	}
	return text
}
