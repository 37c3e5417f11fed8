package main

import "strings"

// table is a list in columns, of which no row is wider than the page.
type table struct {
	page *page
	rows [][][]cluster
}

// row adds a row of cells.
func (t *table) row(cells ...[]cluster) { t.rows = append(t.rows, cells) }

// plain is a cell of our own words.
func plain(text string) []cluster { return visible(text, prose()) }

// cell is how somebody else's words are shown in a list: with no two blanks in a
// row, which would look like the end of a column.
func (m manner) cell() manner { m.blanks = 1; return m }

// squeeze is a column and the width that it may be brought down to.
type squeeze struct{ column, to int }

// print writes the rows. Where they do not fit, the columns are made narrower in
// the order of the squeezes; what is too long even then loses its end.
func (t *table) print(squeezes ...squeeze) {
	widths := t.natural()
	for _, s := range squeezes {
		over := total(widths) - t.page.room("")
		if over > 0 && widths[s.column] > s.to {
			widths[s.column] = max(s.to, widths[s.column]-over)
		}
	}
	for _, row := range t.rows {
		t.page.line(joined(cut(laid(row, widths), t.page.room(""))))
	}
}

func (t *table) natural() []int {
	var widths []int
	for _, row := range t.rows {
		for i, cell := range row {
			if i == len(widths) {
				widths = append(widths, 0)
			}
			widths[i] = max(widths[i], wide(cell))
		}
	}
	return widths
}

// total counts the two blanks before each column.
func total(widths []int) (n int) {
	for _, w := range widths {
		n += 2 + w
	}
	return n
}

func laid(row [][]cluster, widths []int) (out []cluster) {
	pad := 0
	for i, cell := range row {
		cell = cut(cell, widths[i])
		blank := pad + 2
		out = append(out, cluster{strings.Repeat(" ", blank), blank})
		out = append(out, cell...)
		pad = widths[i] - wide(cell)
	}
	return out
}
