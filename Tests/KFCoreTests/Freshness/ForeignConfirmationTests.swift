import KFNetwork
import KFStorage
import Support
import Testing

@testable import KFCore
@testable import KFPipeline

/// A source that redirects to the picture of February, or of January.
final class Months: Sendable {
    static let source = RemoteFixture.url

    let transport: ScriptedTransport
    /// The URL that the source redirects to; nil if it has the picture of January itself.
    let target: SharedValue<String?>
    /// The fields of the redirect.
    let redirect = SharedValue<[(name: String, value: String)]>([])
    /// Fields of all pictures.
    let fields = SharedValue<[(name: String, value: String)]>([])
    let status = SharedValue(302)
    let february: [UInt8]
    let january: [UInt8]

    /// With `byDate` the pictures have dates, of which January's is the older one, else the same ETag.
    init(byDate: Bool = false, host: String = "h") throws {
        let target = SharedValue<String?>("http://\(host)/february.png")
        let (redirect, fields, status) = (redirect, self.fields, self.status)
        let february = try ManagerFixture.fixture("png/rgb.png")
        let january = try ManagerFixture.fixture("png/grey.png")
        (self.target, self.february, self.january) = (target, february, january)
        transport = ScriptedTransport { request, _ in
            if request.url == Self.source, let target = target.value {
                return .init(status: status.value, headers: redirect.value + [("Location", target)])
            }
            let isFebruary = request.url.hasSuffix("february.png")
            let validator =
                byDate
                ? ("Last-Modified", "Sun, 0\(isFebruary ? 6 : 5) Nov 1994 08:49:37 GMT") : ("ETag", "\"1\"")
            if request.isConditional { return .init(status: 304, headers: fields.value + [validator]) }
            return .init(headers: fields.value + [validator], body: isFebruary ? february : january)
        }
    }

    var conditions: [Bool] { transport.requests.map(\.isConditional) }
}

@Suite("Confirmations by other URLs", .bounded)
struct ForeignConfirmationTests {
    private func options(_ change: (inout KingfisherOptions) -> Void = { _ in }) -> KingfisherOptions {
        ManagerFixture.options {
            $0.diskCacheExpiration = .seconds(10)
            change(&$0)
        }
    }

    @Test("A redirect to another image brings that image", arguments: [false, true], ["h", "g"])
    func otherTarget(byDate: Bool, host: String) async throws {
        let months = try Months(byDate: byDate, host: host)
        let fixture = try ManagerFixture(transport: months.transport)
        #expect(try await fixture.get(options()).data() == months.february)
        fixture.advance(seconds: 11)
        months.target.value = "http://\(host)/january.png"
        let other = try await fixture.get(options())
        #expect(try await other.data() == months.january && other.way == .fetched)
        #expect(months.conditions == [false, false, false, false])
    }

    @Test("The condition is sent only to the redirect's target")
    func sameTarget() async throws {
        let months = try Months()
        let fixture = try ManagerFixture(transport: months.transport)
        for _ in 0..<3 {
            _ = try await fixture.get(options())
            fixture.advance(seconds: 11)
        }
        #expect(months.conditions == [false, false, false, true, false, true])
        #expect(try await fixture.get(options()).way == .revalidated)
        let plan = try await fixture.manager.explain(.network(RequestURL(Months.source)), options: options()).plan
        #expect(plan.step == .disk)
        fixture.advance(seconds: 11)
        let next = try await fixture.manager.explain(.network(RequestURL(Months.source)), options: options()).plan
        #expect(next.step == .revalidate && next.conditions.count == 1)
        #expect(next.reasons.contains { $0.contains("over a redirect") })
    }

    @Test("A source whose redirect changed gets no condition", arguments: [true, false])
    func redirectChanges(endsRedirecting: Bool) async throws {
        let months = try Months()
        let fixture = try ManagerFixture(transport: months.transport)
        if !endsRedirecting { months.target.value = nil }
        _ = try await fixture.get(options())
        fixture.advance(seconds: 11)
        months.target.value = endsRedirecting ? nil : "http://h/february.png"
        let next = try await fixture.get(options())
        #expect(try await next.data() == (endsRedirecting ? months.january : months.february))
        #expect(months.conditions == (endsRedirecting ? [false, false, false] : [false, true, false]))
    }

    @Test("An unrequested 304 is followed by one unconditional request")
    func unasked() async throws {
        let body = try ManagerFixture.fixture("png/rgb.png")
        let isBroken = SharedValue(false)
        let transport = ScriptedTransport { request, number in
            if request.url == Months.source { return .init(status: 302, headers: [("Location", "http://h/\(number)")]) }
            return isBroken.value || number == 3 ? .init(status: 304) : .init(headers: [("ETag", "\"1\"")], body: body)
        }
        let fixture = try ManagerFixture(transport: transport)
        _ = try await fixture.get(options())
        fixture.advance(seconds: 11)
        #expect(try await fixture.get(options()).way == .fetched)
        #expect(transport.requests.count == 6)
        fixture.advance(seconds: 11)
        isBroken.value = true
        await #expect(throws: KingfisherError.self) { try await fixture.get(options()) }
        #expect(transport.requests.count == 10)
    }

    @Test("Another URL does not confirm an image served stale")
    func staleWhileRevalidate() async throws {
        let months = try Months()
        let fixture = try ManagerFixture(transport: months.transport)
        let options = options { $0.staleWhileRevalidate = .seconds(60) }
        _ = try await fixture.get(options)
        fixture.advance(seconds: 11)
        months.target.value = "http://h/january.png"
        #expect(try await fixture.get(options).way == .stale)
        await fixture.manager.finishRevalidating(within: .seconds(60))
        #expect(try await fixture.get(options).data() == months.january)
    }

    @Test("Another URL does not confirm an expired image of a remote", arguments: [false, true])
    func remote(isSame: Bool) async throws {
        let layer = MemoryLayer()
        let months = try Months()
        let writer = try RemoteFixture(layer, transport: months.transport, writes: true)
        _ = try await writer.get(Months.source) { $0.diskCacheExpiration = .seconds(10) }
        await writer.drain()
        let entry = try #require(layer.entry(EntryKey(key: Months.source)))
        #expect(!String(decoding: entry.json, as: UTF8.self).contains("february"))
        let reader = try RemoteFixture(layer, transport: months.transport)
        reader.fixture.advance(seconds: 11)
        if !isSame { months.target.value = "http://h/january.png" }
        let result = try await reader.get(Months.source)
        #expect(result.way == (isSame ? .revalidated : .fetched))
        #expect(try await result.data() == (isSame ? months.february : months.january))
    }

    @Test("Two URLs under one key do not confirm each other", arguments: [false, true])
    func namedKey(isSigned: Bool) async throws {
        let transport = try RemoteFixture.origin()
        let fixture = try ManagerFixture(transport: transport)
        for url in ["http://h/a.png?signature=1", isSigned ? "http://h/a.png?signature=2" : "http://g/a.png"] {
            let resource = ImageResource(downloadURL: try RequestURL(url), cacheKey: "mine")
            _ = try await fixture.manager.retrieveImage(with: .network(resource), options: options())
            fixture.advance(seconds: 11)
        }
        #expect(transport.requests.map(\.isConditional) == [false, isSigned])
    }
}
