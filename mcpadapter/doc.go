// Package mcpadapter shows the schedule of powers to agents, as the Model
// Context Protocol over streamable HTTP: POST to one address, usually /mcp. A
// [Bridge] carries the same between a host that starts a command and talks to its
// standard input and output, and such an address.
//
// No session is kept and no handshake is needed. Every request carries its own
// credential and is judged by itself, in the newer era of the protocol
// (2026-07-28) and in the older ones alike. One server, which nothing changes
// after it is built, serves everybody; which tools are listed and which calls
// are let through is decided per request, by the schedule.
//
// # The way of a request
//
// The front looks first at where a request comes from (Host, Origin), then at
// who sends it (exactly one Authorization header), then at what it says. It
// reads JSON by one strict reading, and hands the official SDK a request of its
// own making: the id, the method, the tool's name and _meta. The caller and the
// arguments travel beside it in the request's context, so nothing in headers,
// _meta or arguments can name somebody else, and what the SDK is never given it
// can neither misread nor repeat. The SDK does what is the protocol's: eras,
// negotiation, framing.
//
// # How a refusal is told
//
// A refusal is always the envelope of package powers:
//
//   - of a tool's call: as the result of that call, in the text block and in
//     structuredContent, isError as the envelope's verdict has it. So it is too
//     when the body is rotten, as long as it is sure which call it was.
//   - of a body that is not one request: HTTP 400 (413 too large, 408 too slow)
//     with a JSON-RPC error whose data is the envelope. Where nobody speaks the
//     protocol version, supported and requested stand beside it, as the protocol
//     wants them.
//   - of the request as such: HTTP 401, 403, 405 or 415 with the envelope as the
//     body.
//
// # Repeating a call
//
// A call of a tool that is no read may carry an idempotency key, in the header
// Idempotency-Key or, for hosts that set none, as reeve/idempotency-key in its
// _meta. The same call again has the same result, whose _meta then holds
// reeve/idempotency-replayed.
//
// # Rough edges of the SDK that are closed here
//
// As of go-sdk v1.8.0. Each line names the test that keeps it closed.
//
//   - Typed handlers pass integers through a double:
//     TestAnIntegerBeyondADoubleIsNotLostInEitherPlace,
//     TestTheScheduleGetsTheArgumentsByteForByte.
//   - Of repeated keys the last one wins, in arguments and around them:
//     TestRottenArgumentsAreRefusedAsTheResultOfTheirCall,
//     TestRepeatedMembersOfTheRequestAreNeverChosenBetween.
//   - Nesting up to 1000, NUL, lone surrogates and a second value after the first
//     are accepted: TestRottenArgumentsAreRefusedAsTheResultOfTheirCall,
//     TestABodyThatIsNotOneRequestIsAnErrorOfHTTP.
//   - Arrays of requests are accepted in the older eras:
//     TestABodyThatIsNotOneRequestIsAnErrorOfHTTP.
//   - An id beyond 2^53, or with a fraction, comes back rounded:
//     TestAnIDComesBackExactlyOrIsRefused.
//   - A wrong-case key is dropped in silence:
//     TestACallWhoseParamsAreWrongIsRefusedAsItsResult.
//   - Malformed params are quoted back whole in the error message:
//     TestAnErrorNeverRepeatsTheRequest.
//   - A panic in a handler ends the process:
//     TestAToolThatPanicsIsAnsweredAndTheProcessLives,
//     TestAPanicInTheListingIsAnInternalError.
//   - A result that does not marshal is never answered:
//     TestAnAnswerThatIsNoJSONObjectIsReplacedAndNotHungOn.
//   - In the older eras a call goes on when its client has left:
//     TestACallEndsWhenItsClientLeaves.
//   - Origin is not looked at, and Host only on loopback:
//     TestOnlyLoopbackAndAllowedHostsAreAnswered,
//     TestOnlyPagesOfLoopbackAndAllowedOriginsMayCall.
//   - OPTIONS is answered with 401: TestAPreflightIsAnsweredWithoutACredential.
//   - A challenge lacks error=, and a 401's body repeats the verifier's words:
//     TestACallerWithoutOneGoodCredentialIsChallenged.
//   - Only the first Authorization header is looked at: the same.
//   - An Accept of a single type is refused:
//     TestAcceptDecidesBetweenJSONAndAnEventStream.
//   - Methods that are not declared answer 200, or plain text:
//     TestMethodsThatAreNotDeclaredAreNotFound.
//   - subscriptions/listen is answered as a stream, whatever Accept says: the
//     same; nothing here can be subscribed to.
//   - An unknown tool is a JSON-RPC error:
//     TestAToolThatIsUnknownOrNotTheCallersIsRefusedInAnEnvelope.
//   - A listing is announced as publicly cacheable:
//     TestAListingIsPrivateAndStaleAtOnce.
//   - logging and listChanged are declared by default:
//     TestTheOfficialClientListsAndCallsInEveryEra.
//   - An unknown older version, and most other faults, answer in plain text, and a
//     newer one is repeated whatever it holds:
//     TestAVersionThatNobodySpeaksIsRefusedWithThoseThatThereAre.
//   - A header sent twice counts as its first value:
//     TestHeadersOfTheNewerEraMustAgreeWithTheBody.
//   - The input schema is walked again on every call of the newer era (it is
//     given an empty one), and the listing is marshalled anew each time:
//     TestAListingOfManyToolsStaysWithinItsAllocations.
//   - A debug variable of the environment leaves false annotations out:
//     TestADebugVariableLeavesNothingOutOfAListing.
//   - One garbage line ends a stream over standard input, and a long one is kept
//     whole: TestWhatComesInsteadOfAMessageNeverEndsTheStream,
//     TestALineOf64MiBCostsAFewBuffers.
//   - The end of the input drops answers under way:
//     TestTheEndOfTheInputWaitsForWhatIsUnderWay.
//
// Two are net/http's: a body without end holds its connection, also after the
// refusal (TestABodyWithoutEndIsGivenUpInTime,
// TestTheBodyOfAStrangerIsNotWaitedFor).
package mcpadapter
