package strict

import "testing"

var ordinary = []byte(`{"action":{"type":"spend","title":"Annual","amount_cents":4900,"labels":["new","tools"],` +
	`"data":{"plan":"team","seats":12,"note":"the same as in the year before, with two more seats for the new people"}},` +
	`"id":41,"kind":"note","actor":{"name":"somebody else entirely"},"on":{"mail":true}}`)

func BenchmarkCheck(b *testing.B) {
	b.SetBytes(int64(len(ordinary)))
	b.ReportAllocs()
	for b.Loop() {
		if err := Check(ordinary, Limits{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecode(b *testing.B) {
	d := New(Options{})
	b.SetBytes(int64(len(ordinary)))
	b.ReportAllocs()
	for b.Loop() {
		var c call
		if err := d.Decode(ordinary, &c); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkMembers(b *testing.B) {
	b.SetBytes(int64(len(ordinary)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Members(ordinary); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCanonical(b *testing.B) {
	b.SetBytes(int64(len(ordinary)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := Canonical(ordinary); err != nil {
			b.Fatal(err)
		}
	}
}
