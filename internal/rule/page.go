package rule

// Page is a part of a list. Number counts from 1.
type Page struct{ Number, Size int }

// Offset returns the number of items before the page.
func (p Page) Offset() int { return (p.Number - 1) * p.Size }
