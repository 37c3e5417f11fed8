// Package schema derives a JSON Schema (draft 2020-12) from the Go struct that a
// tool's arguments are decoded into, so that what is announced and what is
// accepted come from one declaration.
//
// A field says everything about itself in its tags:
//
//	Title string   `json:"title" validate:"required,max=300,hygienic" doc:"What is to be done, in one line."`
//	Limit *int     `json:"limit,omitzero" validate:"omitempty,min=1,max=100" doc:"How many to return."`
//	Kinds []string `json:"kinds,omitzero" validate:"max=8,dive,oneof=note risk" doc:"Which kinds to return."`
//
// The schemas are plain, since clients differ in what they understand: an object
// at the root with its properties in the order of the fields, nothing beside them
// allowed, everything inlined; no reference, no combinator, no list of types, no
// value without a type. A type that reads itself from JSON describes itself by a
// method JSONSchema, or the caller describes it in [Options].
//
// [For] refuses a struct whose tags would announce one thing and accept another,
// and names each such field, so that the mistake is found where it was made.
//
// A decoder may still be more liberal in two ways that a schema does not spell
// out: null for an optional field, and an integer written as a string. It is
// stricter in one: JSON Schema takes 49.0 for an integer.
package schema
