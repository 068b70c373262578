package console

import (
	"strconv"

	"tenet/internal/wire"
)

// bars is a chart of verdicts over time, one bar a day, as it is drawn: x, y, width and height in units of its view box.
type bars struct {
	width, height int
	rects         []rect
	most          int64 // verdicts of the highest bar
	first, last   string
}

type rect struct {
	class               string
	x, y, width, height string
}

// Size of a chart in units. The browser stretches it to the width of the page.
const (
	daysHeight = 100
	dayWidth   = 10
)

// drawDays draws the verdicts of days: denied at the bottom, then those to be confirmed, then the others.
func drawDays(days []wire.DayFigure) bars {
	b := bars{width: dayWidth * max(len(days), 1), height: daysHeight}
	for i := range days {
		b.most = max(b.most, days[i].Total)
	}
	if len(days) > 0 {
		b.first, b.last = days[0].Date, days[len(days)-1].Date
	}
	if b.most == 0 {
		return b
	}
	for i := range days {
		bottom := float64(daysHeight)
		for _, part := range []struct {
			class string
			n     int64
		}{{"bad", days[i].Deny}, {"warn", days[i].Unsure}, {"good", days[i].Allow}} {
			if part.n == 0 {
				continue
			}
			height := max(float64(part.n)/float64(b.most)*daysHeight, 1)
			bottom = max(bottom-height, 0)
			b.rects = append(b.rects, rect{part.class, strconv.Itoa(i*dayWidth + 1), units(bottom), strconv.Itoa(dayWidth - 2), units(height)})
		}
	}
	return b
}

func units(x float64) string { return strconv.FormatFloat(x, 'f', 1, 64) }

// share draws the parts of a row: how much of the highest row they are.
func share(most, deny, unsure, allow int64) (list []rect) {
	x := 0.0
	for _, part := range []struct {
		class string
		n     int64
	}{{"bad", deny}, {"warn", unsure}, {"good", allow}} {
		if part.n > 0 && most > 0 {
			width := float64(part.n) / float64(most) * 100
			list = append(list, rect{part.class, units(x), "0", units(width), "10"})
			x += width
		}
	}
	return list
}
