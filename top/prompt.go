package top

import "github.com/gdamore/tcell/v2"

// maxTyped bounds what can be typed, in characters.
const maxTyped = 200

// prompt is a line that is being typed.
type prompt struct {
	label  string
	text   []rune
	change func(text string)             // after each key, nil for nothing
	done   func(text string, taken bool) // at the end; taken is false after Esc
}

// press takes one key and reports whether the prompt has ended.
func (p *prompt) press(ev *tcell.EventKey) bool {
	switch ev.Key() {
	case tcell.KeyEnter:
		p.done(string(p.text), true)
		return true
	case tcell.KeyEscape, tcell.KeyCtrlC:
		p.done("", false)
		return true
	case tcell.KeyBackspace, tcell.KeyBackspace2:
		p.text = p.text[:max(0, len(p.text)-1)]
	case tcell.KeyCtrlU:
		p.text = nil
	case tcell.KeyRune:
		if len(p.text) < maxTyped {
			p.text = append(p.text, ev.Rune())
		}
	default:
		return false
	}
	if p.change != nil {
		p.change(string(p.text))
	}
	return false
}
