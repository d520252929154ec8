import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

@Suite("Images over redirects", .bounded)
struct RedirectedTests {
    /// Returns how many seconds an image is fresh; nil if it is not stored.
    private func span(
        _ status: Int, _ redirect: [(name: String, value: String)], _ fields: [(name: String, value: String)]
    ) async throws -> Int64? {
        let months = try Months()
        (months.status.value, months.redirect.value, months.fields.value) = (status, redirect, fields)
        let fixture = try ManagerFixture(transport: months.transport)
        _ = try await fixture.get(.http())
        let entry = try fixture.manager.cache.storage()?.entry(for: EntryKey(key: Months.source))
        return entry.map { max(0, $0.expires.since(fixture.time.value)) / 1000 }
    }

    @Test(
        "An image is as fresh as its least fresh response",
        arguments: [
            (302, "max-age=60", 60), (302, "max-age=900", 600), (302, nil, 0), (303, nil, 0), (307, nil, 0),
            (301, nil, 600), (308, nil, 600), (301, "max-age=5", 5), (302, "max-age=60, no-cache", 0),
            (302, "no-store, max-age=60", nil), (302, "private, max-age=60", 60),
        ] as [(Int, String?, Int64?)])
    func freshness(_ status: Int, _ control: String?, _ seconds: Int64?) async throws {
        let redirect = control.map { [(name: "Cache-Control", value: $0)] } ?? []
        #expect(try await span(status, redirect, [("Cache-Control", "max-age=600")]) == seconds)
    }

    @Test("The age of a redirect shortens freshness")
    func age() async throws {
        let fields = [(name: "Cache-Control", value: "max-age=600")]
        #expect(try await span(302, fields + [("Age", "500")], fields) == 100)
        // The fixture's clock shows 22:13:20.
        #expect(try await span(302, [("Expires", "Tue, 14 Nov 2023 22:14:00 GMT")], fields) == 40)
        #expect(try await span(302, [("Expires", "0")], fields) == 0)
        #expect(try await span(302, fields + [("Vary", "*")], fields) == 0)
        #expect(try await span(301, [("Last-Modified", "Tue, 14 Nov 2023 22:03:20 GMT")], fields) == 60)
    }

    @Test("An image behind a redirect without freshness is revalidated")
    func revalidated() async throws {
        let months = try Months()
        months.fields.value = [("Cache-Control", "max-age=600")]
        let fixture = try ManagerFixture(transport: months.transport)
        #expect(try await fixture.get(.http()).way == .fetched)
        for _ in 0..<2 { #expect(try await fixture.get(.http()).way == .revalidated) }
        #expect(months.conditions == [false, false, false, true, false, true])
        // The redirect gets a time of its own, and the fields of the image are as they were.
        months.redirect.value = [("Cache-Control", "max-age=900")]
        months.fields.value = []
        #expect(try await fixture.get(.http()).way == .revalidated)
        fixture.advance(seconds: 599)
        #expect(try await fixture.get(.http()).way == .disk)
        fixture.advance(seconds: 2)
        #expect(try await fixture.get(.http()).way == .revalidated)
    }

    @Test("The default policy ignores the freshness of a redirect")
    func timeToLive() async throws {
        let months = try Months()
        months.redirect.value = [("Cache-Control", "no-store, max-age=0")]
        let fixture = try ManagerFixture(transport: months.transport)
        let options = ManagerFixture.options { $0.diskCacheExpiration = .seconds(10) }
        #expect(try await fixture.get(options).way == .fetched)
        fixture.advance(seconds: 9)
        #expect(try await fixture.get(options).way == .disk)
    }

    @Test("An image varies by the Vary of every response")
    func vary() async throws {
        let months = try Months()
        months.redirect.value = [("Cache-Control", "max-age=600"), ("Vary", "Accept-Language")]
        months.fields.value = [("Cache-Control", "max-age=600"), ("Vary", "DNT")]
        let fixture = try ManagerFixture(transport: months.transport)
        func way(_ headers: [(name: String, value: String)]) async throws -> RetrievalWay {
            try await fixture.get(.http { $0.request.headers = headers }).way
        }
        #expect(try await way([("Accept-Language", "en")]) == .fetched)
        #expect(try await way([("Accept-Language", "de")]) == .fetched)
        #expect(try await way([("Accept-Language", "de"), ("DNT", "1")]) == .fetched)
        for headers in [[("Accept-Language", "en")], [("Accept-Language", "de"), ("DNT", "1")]] {
            #expect(try await way(headers.map { (name: $0.0, value: $0.1) }) == .disk)
        }
    }

    @Test(
        "An expired image is served only while every response allows it",
        arguments: [("", nil), (", stale-if-error=60", 1)])
    func staleIfError(_ more: String, _ way: Int?) async throws {
        let months = try Months()
        months.redirect.value = [("Cache-Control", "max-age=10\(more)")]
        months.fields.value = [("Cache-Control", "max-age=600")]
        let fixture = try ManagerFixture(transport: months.transport)
        _ = try await fixture.get(.http())
        fixture.advance(seconds: 20)
        months.status.value = 500
        months.target.value = "http://h/x"
        let stale = try? await fixture.get(.http()).way
        #expect(stale == (way == nil ? nil : .stale))
    }

    @Test("An error response is remembered while the redirect is fresh")
    func answers() async throws {
        for (control, count) in [("max-age=60", 2), ("no-cache", 4)] {
            let transport = ScriptedTransport { request, _ in
                request.url == Months.source
                    ? .init(status: 302, headers: [("Location", "http://h/x"), ("Cache-Control", control)])
                    : .init(status: 404, headers: [("Cache-Control", "max-age=600")])
            }
            let fixture = try ManagerFixture(transport: transport)
            for _ in 0..<2 {
                await #expect(throws: KingfisherError.self) { try await fixture.get(.http()) }
            }
            #expect(transport.requests.count == count)
        }
    }

    @Test("The negative time to live applies behind a redirect")
    func negative() async throws {
        let transport = ScriptedTransport { request, _ in
            request.url == Months.source
                ? .init(status: 302, headers: [("Location", "http://h/x")]) : .init(status: 404)
        }
        let fixture = try ManagerFixture(transport: transport)
        for _ in 0..<2 {
            await #expect(throws: KingfisherError.self) {
                try await fixture.get(.http { $0.negativeTimeToLive = .seconds(60) })
            }
        }
        #expect(transport.requests.count == 2)
    }

    // MARK: Privacy

    @Test("An image behind a private redirect is not uploaded", arguments: CachePolicy.allCases)
    func privacy(_ policy: CachePolicy) async throws {
        for (field, reason) in [
            ("Cache-Control", "private"), ("Cache-Control", "max-age=9, no-store"), ("Vary", "*"),
        ].map({ ((name: $0.0, value: $0.1), $0.1.split(separator: " ").last ?? "") }) {
            let layer = MemoryLayer()
            let months = try Months(host: "g")
            months.redirect.value = [field]
            let machine = try RemoteFixture(layer, transport: months.transport, writes: true)
            _ = try await machine.get(Months.source) { $0.cachePolicy = policy }
            // Nor what is made of it later.
            let processor = try ProcessorParser.parse("resize:20x10")
            _ = try await machine.get(Months.source) {
                $0.cachePolicy = policy
                $0.processor = processor
            }
            await machine.drain()
            #expect(layer.blobs.isEmpty)
            let notice = try #require(machine.notices.value.first)
            #expect(notice.hasPrefix("http://h/a.png says ") && notice.contains(reason), "\(notice)")
        }
    }

    @Test("Each image that may not be uploaded can be reported")
    func everyNotice() async throws {
        for namesEach in [false, true] {
            let body = try ManagerFixture.fixture("png/rgb.png")
            let transport = ScriptedTransport(.init(headers: [("Cache-Control", "private;")], body: body))
            let machine = try RemoteFixture(
                MemoryLayer(), transport: transport, writes: true,
                caching: { $0.namesImagesNotUploaded = namesEach })
            for name in ["a", "b"] { _ = try await machine.get("http://h/\(name)?secret") }
            await machine.drain()
            #expect(machine.layer.blobs.isEmpty)
            let names = machine.notices.value.map { $0.prefix(while: { $0 != " " }) }
            #expect(names == (namesEach ? ["http://h/a?…", "http://h/b?…"] : ["http://h/a?…"]))
        }
    }

    @Test("A redirect with credentials makes an image private")
    func credentials() async throws {
        let months = try Months()
        months.target.value = "http://ann:word@h/february.png"
        let machine = try RemoteFixture(MemoryLayer(), transport: months.transport, writes: true)
        _ = try await machine.get(Months.source)
        await machine.drain()
        #expect(machine.layer.blobs.isEmpty)
        #expect(machine.notices.value.first?.hasPrefix("http://h/a.png redirects with credentials") == true)
    }

    @Test(
        "The nearest server decides which remotes get an image",
        arguments: [
            (Months.source, "10.0.0.1", "8.8.8.8", "http://h/a.png"),
            (Months.source, "8.8.8.8", "10.0.0.1", "http://g/"),
            ("http://10.0.0.1/a.png", "8.8.8.8", "8.8.8.8", "http://10.0.0.1/a.png"),
            ("http://[::1]:81/a.png", "8.8.8.8", "8.8.8.8", "http://[::1]:81/a.png"),
            ("http://localhost/a.png", "8.8.8.8", "8.8.8.8", "http://localhost/a.png"),
            (Months.source, "8.8.8.8", "8.8.8.8", nil),
        ])
    func reach(_ url: String, _ first: String, _ last: String, _ near: String?) async throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let transport = ScriptedTransport { request, number in
            request.url == Months.source
                ? .init(status: 302, headers: [("Location", "http://g/")], address: first)
                : .init(body: body, address: last)
        }
        let machine = try RemoteFixture(MemoryLayer(reach: .internet), transport: transport, writes: true)
        _ = try await machine.get(url)
        await machine.drain()
        #expect(machine.layer.entryCount == (near == nil ? 1 : 0))
        #expect(
            machine.notices.value.first?.hasPrefix("\(near ?? "") has a private address") == (near == nil ? nil : true))
    }
}
