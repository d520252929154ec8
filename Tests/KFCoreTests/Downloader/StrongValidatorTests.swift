import KFNetwork
import KFStorage
import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

@Suite("Validators of partial bodies")
struct StrongValidatorTests {
    private static let now = HTTPDate.parse("Sun, 06 Nov 1994 09:00:00 GMT")!
    private static let date = (name: "Date", value: "Sun, 06 Nov 1994 08:49:37 GMT")

    private func validator(_ headers: (name: String, value: String)..., now: Timestamp = Self.now) -> String? {
        StrongValidator.of(HeaderFields(headers), now: now)
    }

    @Test("A strong ETag is the validator")
    func tag() {
        #expect(validator(("ETag", "\"1\"")) == "\"1\"")
        #expect(validator(("etag", "\"W/\"")) == "\"W/\"")
        #expect(validator(("ETag", "\"1\""), ("Last-Modified", Self.date.value), Self.date) == "\"1\"")
    }

    @Test(
        "A weak or malformed ETag leaves no validator",
        arguments: ["W/\"1\"", "w/\"1\"", "1", "\"1", "1\"", "\"\"", "\"", "", "\"a b\"", "\"a\"b\"", "\"é\""])
    func weakTag(_ tag: String) {
        let old = (name: "Last-Modified", value: "Sun, 06 Nov 1994 07:00:00 GMT")
        #expect(validator(("ETag", tag), old, Self.date) == nil)
        #expect(validator(("ETag", "\"1\""), ("ETag", tag)) == nil)
    }

    @Test("A date is a validator a minute after the last change")
    func date() {
        #expect(
            validator(("Last-Modified", "Sun, 06 Nov 1994 08:48:37 GMT"), Self.date) == "Sun, 06 Nov 1994 08:48:37 GMT")
        #expect(validator(("Last-Modified", "Sun, 06 Nov 1994 08:48:38 GMT"), Self.date) == nil)
        #expect(validator(("Last-Modified", Self.date.value), Self.date) == nil)
        #expect(validator(("Last-Modified", "Sun, 06 Nov 1994 08:50:37 GMT"), Self.date) == nil)
    }

    @Test("A missing, repeated, malformed or future Date is ignored")
    func unclearDate() {
        let old = (name: "Last-Modified", value: "Sun, 06 Nov 1994 08:00:00 GMT")
        #expect(validator(old) == nil)
        #expect(validator(old, old, Self.date) == nil)
        #expect(validator(old, Self.date, Self.date) == nil)
        #expect(validator(("Last-Modified", "yesterday"), Self.date) == nil)
        let justNow = (name: "Last-Modified", value: "Sun, 06 Nov 1994 08:59:50 GMT")
        #expect(validator(justNow, ("Date", "Sun, 06 Nov 1994 11:00:00 GMT")) == nil)
    }
}
