import Testing

@testable import KFCore
@testable import KFPipeline
@testable import KFTerms

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
        "A malformed max-age makes a response stale",
        arguments: [
            ("max-age=60", 60), ("Max-Age=\"60\"", 60), ("public, max-age=60", 60), ("max-age=60, max-age=30", 30),
            ("max-age=-1", 0), ("max-age=6.5", 0), ("max-age=", 0), ("max-age", 0), ("s-maxage=60", 0),
            ("max-age=60, no-cache", 0), ("no-cache=\"set-cookie\", max-age=60", 0), ("x=\"a, max-age=9\"", 0),
            ("max-age=99999999999999999999", 1 << 31),
        ] as [(String, Int64)])
    func maxAge(_ value: String, _ seconds: Int64) {
        #expect(span([("cache-control", value)]) == seconds)
    }

    @Test(
        "A damaged directive makes no response more public",
        arguments: [
            "private;", "private; max-age=60", "max-age=60; private", ";private", "\"private\"", "x=\"a, private",
            "private\u{a0}", "=private", "max-age=60 private", "PRIVATE=", "\\private", "no-store;",
        ])
    func damaged(_ value: String) {
        let control = CacheControl([value])
        #expect(control.isPrivate || control.noStore)
        #expect(CacheControl(["no-cache; max-age=60"]).noCache && CacheControl(["must-revalidate;"]).mustRevalidate)
        #expect(!CacheControl(["x-private, community=uci, private-ish"]).isPrivate)
        #expect(!CacheControl(["public;"]).isPublic && CacheControl(["x=\"a, max-age=60"]).maxAge == 0)
    }

    @Test("Expires counts from Date, and max-age overrides it")
    func expires() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        let expires = ("expires", "Sun, 06 Nov 1994 08:50:37 GMT")
        #expect(span([date, expires]) == 60)
        #expect(span([date, expires, ("cache-control", "max-age=5")]) == 5)
        #expect(span([date, ("expires", "0")]) == 0)
        #expect(span([date, expires, ("expires", "Sun, 06 Nov 1994 09:50:37 GMT")]) == 0)
    }

    @Test("The Age and Date fields shorten freshness")
    func age() {
        let date = ("date", "Sun, 06 Nov 1994 08:49:37 GMT")
        #expect(span([("cache-control", "max-age=60"), ("age", "20")]) == 40)
        #expect(span([("cache-control", "max-age=60"), date], after: 45) == 15)
        #expect(span([("cache-control", "max-age=60"), ("age", "99")]) == 0)
    }

    @Test(
        "The first valid Age counts",
        arguments: [
            (["7200, 0"], 0), (["7200", "0"], 0), (["0, 7200"], 3600), (["0", "7200"], 3600), ([" 20 ,x"], 3580),
            (["abc"], 3600), (["-7200"], 3600), (["7200.0"], 3600), ([""], 3600),
            (["2147483649"], 0),
        ] as [([String], Int64)])
    func ages(_ values: [String], _ seconds: Int64) {
        #expect(span([("cache-control", "max-age=3600")] + values.map { ("age", $0) }) == seconds)
    }

    @Test("Only cacheable statuses are fresh without explicit freshness")
    func heuristicStatuses() {
        let modified = "Sun, 06 Nov 1994 08:32:57 GMT"
        let date = [(name: "date", value: "Sun, 06 Nov 1994 08:49:37 GMT")]
        func span(_ status: Int, _ fields: [(name: String, value: String)]) -> Int64 {
            HTTPFreshness(HeaderLines(fields).of(status: status), lastModified: modified, received: Self.sent)
                .freshUntil.since(Self.sent) / 1000
        }
        for status in [200, 203, 204, 206, 300, 301, 308, 404, 405, 410, 414, 501] {
            #expect(span(status, date) == 100, "\(status)")
        }
        for status in [201, 202, 299, 302, 303, 307, 403, 500, 502, 503, 504, 599] {
            #expect(span(status, date) == 0, "\(status)")
            #expect(span(status, date + [("cache-control", "public")]) == 100, "\(status)")
            #expect(span(status, date + [("cache-control", "max-age=7")]) == 7, "\(status)")
        }
    }

    @Test("The must-understand directive overrides no-store for known statuses")
    func mustUnderstand() {
        func isStorable(_ control: String, _ status: Int) -> Bool {
            let lines = HeaderLines([("cache-control", control)]).of(status: status)
            return HTTPFreshness(lines, lastModified: nil, received: Self.sent).isStorable
        }
        #expect(isStorable("max-age=3600, no-store, must-understand", 200))
        #expect(isStorable("max-age=3600, no-store, must-understand", 404))
        #expect(!isStorable("max-age=3600, no-store, must-understand", 599))
        #expect(!isStorable("max-age=3600, must-understand", 599))
        #expect(isStorable("max-age=3600", 599))
        #expect(!isStorable("max-age=3600, no-store", 200))
        // Answers to one request's password, range or condition, and to too many requests.
        for status in [401, 407, 412, 416, 428, 429, 431, 511] { #expect(!isStorable("max-age=3600", status)) }
    }

    @Test("The must-revalidate directive disables stale-while-revalidate")
    func staleWhileRevalidate() {
        func span(_ control: String, _ vary: String = "accept") -> Int64 {
            freshness([("cache-control", control), ("vary", vary)]).staleWhileRevalidate
        }
        #expect(span("max-age=1, stale-while-revalidate=30") == 30_000)
        #expect(span("max-age=1, stale-while-revalidate=30, must-revalidate") == 0)
        #expect(span("no-cache, stale-while-revalidate=30") == 0)
        #expect(span("max-age=1, stale-while-revalidate=x") == 0)
        #expect(span("max-age=1, stale-while-revalidate=30", "*") == 0)
        #expect(span("max-age=1") == 0)
    }

    @Test("Heuristic freshness is a tenth of the age, at most a week")
    func heuristic() {
        #expect(span([("date", "Sun, 06 Nov 1994 08:49:37 GMT")], lastModified: "Sun, 06 Nov 1994 08:32:57 GMT") == 100)
        #expect(span([], lastModified: "Thu, 06 Nov 1980 08:32:57 GMT") == 7 * 86_400)
        #expect(span([("cache-control", "max-age=1")], lastModified: "Thu, 06 Nov 1980 08:32:57 GMT") == 1)
        #expect(span([]) == 0)
    }

    @Test("The no-store directive forbids storing a response")
    func refusals() {
        #expect(!freshness([("cache-control", "no-store")]).isStorable)
        #expect(freshness([("cache-control", "private, max-age=1")]).isStorable)
        #expect(freshness([("cache-control", "max-age=1, must-revalidate")]).mustRevalidate)
        #expect(freshness([("cache-control", "max-age=1, stale-if-error=30")]).staleIfError == 30_000)
        #expect(freshness([("cache-control", "must-revalidate, stale-if-error=30")]).staleIfError == 0)
        #expect(span([("cache-control", "max-age=60"), ("vary", "*")]) == 0)
    }

    @Test(
        "All three HTTP date formats are read",
        arguments: [
            "Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994",
            "SUN, 06 nov 1994 08:49:37 gmt", "Sun Nov 06 08:49:37 1994",
        ])
    func dates(_ text: String) { #expect(HTTPDate.parse(text) == Self.sent) }

    @Test(
        "A malformed HTTP date is refused",
        arguments: [
            "", "0", "-1", "now", "Sun, 06 Nov 1994 08:49:37", "Sun, 06 Nov 1994 08:49:37 CET",
            "Sun, 32 Nov 1994 08:49:37 GMT", "Sun, 06 Foo 1994 08:49:37 GMT", "Sun, 06 Nov 94 08:49:37 GMT",
            "Sun, 06 Nov 1994 25:49:37 GMT", "Sun, 06 Nov 1994 +8:49:37 GMT", "Sun, 06  Nov  1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 8:49:37 GMT", "Sun, 6 Nov 1994 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37  GMT",
            "Sun, 06 Nov 1994 08:9:37 GMT", "Sunday, 6-Nov-94 08:49:37 GMT", "Sun, 06-Nov-94 08:49:37 GMT",
            "Sun 06 Nov 1994 08:49:37 GMT", "Sun Nov 6 08:49:37 1994", "Foo, 06 Nov 1994 08:49:37 GMT",
        ])
    func noDates(_ text: String) { #expect(HTTPDate.parse(text) == nil) }

    @Test("A 304's fields replace those of the same name")
    func updated() {
        let old = HeaderLines([("cache-control", "max-age=1"), ("date", "a"), ("vary", "x")])
        let new = HeaderLines([("cache-control", "max-age=2"), ("cache-control", "public")])
        #expect(old.updated(by: new).all("cache-control") == ["max-age=2", "public"])
        #expect(old.updated(by: new).all("vary") == ["x"])
    }

    @Test(
        "A Retry-After counts for five minutes at most",
        arguments: [
            ("20", 20), ("0", 0), ("99999999999999", 300), ("Sun, 06 Nov 1994 08:50:37 GMT", 60),
            ("Sun, 06 Nov 1994 08:00:00 GMT", 0), ("Sun, 06 Nov 2094 08:00:00 GMT", 300),
        ] as [(String, Int)])
    func retryAfter(_ value: String, _ seconds: Int) {
        #expect(RetryAfter.span(value, now: Self.sent) == .seconds(seconds))
    }

    @Test("A malformed Retry-After is ignored", arguments: ["", "-5", "soon", "1.5"])
    func noRetryAfter(_ value: String) { #expect(RetryAfter.span(value, now: Self.sent) == nil) }
}
