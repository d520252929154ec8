import Testing

@testable import KFCore

@Suite("Freshness by RFC 9111")
struct FreshnessTests {
    /// Sun, 06 Nov 1994 08:49:37 GMT
    private static let sent = Timestamp(milliseconds: 784_111_777_000)

    private func freshness(
        _ fields: [(name: String, value: String)], lastModified: String? = nil, after seconds: Int64 = 0
    ) -> HTTPFreshness {
        HTTPFreshness(
            HeaderLines(fields), lastModified: lastModified, received: Self.sent.advanced(by: seconds * 1000))
    }

    /// In seconds from the moment of receiving.
    private func span(
        _ fields: [(name: String, value: String)], lastModified: String? = nil, after seconds: Int64 = 0
    ) -> Int64 {
        freshness(fields, lastModified: lastModified, after: seconds).freshUntil
            .since(Self.sent.advanced(by: seconds * 1000)) / 1000
    }

    @Test(
        "max-age, and what is wrong with it",
        arguments: [
            ("max-age=60", 60), ("Max-Age=\"60\"", 60), ("public, max-age=60", 60), ("max-age=60, max-age=30", 30),
            ("max-age=-1", 0), ("max-age=6.5", 0), ("max-age=", 0), ("max-age", 0), ("s-maxage=60", 0),
            ("max-age=60, no-cache", 0), ("no-cache=\"set-cookie\", max-age=60", 0), ("x=\"a, max-age=9\"", 0),
            ("max-age=99999999999999999999", 1 << 31),
        ] as [(String, Int64)])
    func maxAge(_ value: String, _ seconds: Int64) {
        #expect(span([("cache-control", value)]) == seconds)
    }

    @Test("Expires counts from Date, and max-age beats it")
    func expires() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        let expires = ("expires", "Sun, 06 Nov 1994 08:50:37 GMT")
        #expect(span([date, expires]) == 60)
        #expect(span([date, expires, ("cache-control", "max-age=5")]) == 5)
        #expect(span([date, ("expires", "0")]) == 0)
        #expect(span([date, expires, ("expires", "Sun, 06 Nov 1994 09:50:37 GMT")]) == 0)
    }

    @Test("Age and the date that the server sent it make it older")
    func age() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(span([("cache-control", "max-age=60"), ("age", "20")]) == 40)
        #expect(span([("cache-control", "max-age=60"), date], after: 45) == 15)
        #expect(span([("cache-control", "max-age=60"), ("age", "99")]) == 0)
    }

    @Test("Without a word about it, a tenth of its age, and a week at most")
    func heuristic() {
        #expect(span([("date", "Sun, 06 Nov 1994 08:49:37 GMT")], lastModified: "Sun, 06 Nov 1994 08:32:57 GMT") == 100)
        #expect(span([], lastModified: "Thu, 06 Nov 1980 08:32:57 GMT") == 7 * 86_400)
        #expect(span([("cache-control", "max-age=1")], lastModified: "Thu, 06 Nov 1980 08:32:57 GMT") == 1)
        #expect(span([]) == 0)
    }

    @Test("What may not be kept, and what may not be used past its time")
    func refusals() {
        #expect(!freshness([("cache-control", "no-store")]).isStorable)
        #expect(freshness([("cache-control", "private, max-age=1")]).isStorable)
        #expect(freshness([("cache-control", "max-age=1, must-revalidate")]).mustRevalidate)
        #expect(freshness([("cache-control", "max-age=1, stale-if-error=30")]).staleIfError == 30_000)
        #expect(freshness([("cache-control", "must-revalidate, stale-if-error=30")]).staleIfError == 0)
        #expect(span([("cache-control", "max-age=60"), ("vary", "*")]) == 0)
    }

    @Test(
        "Dates in the three forms that there are",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
        ])
    func dates(_ text: String) { #expect(HTTPDate.parse(text) == Self.sent) }

    @Test(
        "What is no date",
        arguments: [
            "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT",
        ])
    func noDates(_ text: String) { #expect(HTTPDate.parse(text) == nil) }

    @Test("A 304's fields take the place of those of the same name")
    func updated() {
        let old = HeaderLines([("cache-control", "max-age=1"), ("date", "a"), ("vary", "x")])
        let new = HeaderLines([("cache-control", "max-age=2"), ("cache-control", "public")])
        #expect(old.updated(by: new).all("cache-control") == ["max-age=2", "public"])
        #expect(old.updated(by: new).all("vary") == ["x"])
    }

    @Test(
        "Retry-After in seconds and as a date, at most five minutes",
        arguments: [
            ("20", 20), ("0", 0), ("99999999999999", 300), ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Sun, 06 Nov 2094 08:00:00 GMT", 300),
        ] as [(String, Int)])
    func retryAfter(_ value: String, _ seconds: Int) {
        #expect(RetryAfter.span(value, now: Self.sent) == .seconds(seconds))
    }

    @Test("Retry-After that says nothing", arguments: ["", "-5", "soon", "1.5"])
    func noRetryAfter(_ value: String) { #expect(RetryAfter.span(value, now: Self.sent) == nil) }
}
