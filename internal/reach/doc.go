// Package reach holds no code but its tests. They show, of the whole program and
// at every change, that no tool reaches a person's act.
//
// An operator.Person is a capability: whoever has one may act as that person, and
// every act takes one. So the tests ask where a Person comes from, where it goes,
// and what a tool can lead to. They find all of it by the type; no function is
// named, and a new one is in it from its first day.
//
//   - flow: by Variable Type Analysis of the whole binary, a call of the schedule
//     leads to nothing that makes a Person: answers one, fills one in, or takes one
//     out of a value of another type. It follows a function wherever the program
//     put it, and is blind to a Person that was made elsewhere.
//   - grown: by Rapid Type Analysis, nothing takes or makes a Person of all that
//     can run once a handler is started, and powers was initialised. It sees an act
//     whoever made the Person, and is blind to what other code put in place.
//   - nobodys: nor does such a call lead to a method of the Operator that takes
//     neither a principal nor a person, but for a short list of what is the same
//     whoever calls. Credentials, people, policies and kits are kept by such methods.
//   - kept: no Person outlives the call that it was proved for. None stands in a
//     field, a package's variable, a list, a map or a channel; none becomes an
//     interface, as context.WithValue would have it; and no function that closes
//     over one is stored or answered.
//   - doors: no package that tools are made of calls by reflection, or imports
//     unsafe, plugin, a template's engine or what else a graph cannot read.
//
// Each is also run on faults that are planted for it, in testdata/planted, and has
// to find them; a table says which check finds which, and which it does not.
//
// What stays out of sight: reflection, assembly and linked names inside of other
// people's packages (a method of the Operator can be called so only by one that is
// given the Operator), operatortest (it keeps people for tests, and nothing of the
// product may import it), a function that closes over a Person and is handed to such
// a package, files that are built for other systems than the one the test is run on,
// and a tool that has a person's credential and sends it to a server as anybody
// would.
package reach
