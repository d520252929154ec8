import KFCore
import Support

/// The origin of all states: one server with one URL. It answers each request by the script of its User-Agent, and
/// records it there.
final class DecisionOrigin: Sendable {
    typealias Script = @Sendable (_ isConditional: Bool) -> [FaultStep]

    private struct State {
        var scripts: [String: Script] = [:]
        var requests: [String: [FaultRequest]] = [:]
        var last = 0
    }

    /// The pictures: those that caches hold for `de` and `en`, and the one that the origin sends now.
    struct Pictures: Sendable {
        let stored: [UInt8]
        let storedJPEG: [UInt8]
        let english: [UInt8]
        let changed: [UInt8]
    }

    let pictures: Pictures
    let url: RequestURL
    private let server: FaultServer
    private let state: SharedValue<State>

    init() throws {
        pictures = Pictures(
            stored: try ManagerFixture.fixture("png/palette-2bit.png"),
            storedJPEG: try ManagerFixture.fixture("jpeg/odd.jpg"),
            english: try ManagerFixture.fixture("png/grey-4bit-interlaced.png"),
            changed: try ManagerFixture.fixture("png/grey-1bit.png"))
        let state = SharedValue(State())
        self.state = state
        server = try FaultServer { request in
            let agent = request.header("User-Agent") ?? ""
            var script: Script?
            state.change { state in
                state.requests[agent, default: []].append(request)
                script = state.scripts[agent]
            }
            return script?(request.isConditional) ?? [.reply("500 Internal Server Error")]
        }
        url = try RequestURL(server.url("/picture"))
    }

    /// Returns a User-Agent whose requests are answered by the script.
    func agent(_ script: @escaping Script) -> String {
        var agent = ""
        state.change { state in
            state.last += 1
            agent = "agent/\(state.last)"
            state.scripts[agent] = script
        }
        return agent
    }

    /// Returns the requests with a User-Agent, in order, and forgets them.
    func takeRequests(of agent: String) -> [FaultRequest] {
        var requests: [FaultRequest] = []
        state.change { state in
            requests = state.requests.removeValue(forKey: agent) ?? []
            state.scripts[agent] = nil
        }
        return requests
    }

    /// Returns the answer that brings a picture as a cache is to hold it.
    func reply(_ picture: CacheContent.Picture, varies: Bool, isEnglish: Bool = false) -> [FaultStep] {
        var headers = ["Cache-Control: max-age=\(DecisionClock.span(isFresh: picture.isFresh))"]
        switch picture.directive {
        case .none: break
        case .staleWhileRevalidate: headers[0] += ", stale-while-revalidate=10000"
        case .staleIfError: headers[0] += ", stale-if-error=10000"
        case .mustRevalidate: headers[0] += ", must-revalidate"
        }
        switch picture.validator {
        case .none: break
        case .etag: headers.append("ETag: \"\(isEnglish ? "en" : "stored")\"")
        case .date: headers.append("Last-Modified: Sun, 06 Nov 1994 08:49:37 GMT")
        }
        if varies { headers.append("Vary: Accept-Language") }
        let body = isEnglish ? pictures.english : picture.isJPEG ? pictures.storedJPEG : pictures.stored
        return [.reply(headers: headers, body: body)]
    }

    /// Returns the script of a state's origin.
    func script(_ origin: DecisionState.Origin) -> Script {
        let changed = FaultStep.reply(headers: ["ETag: \"changed\""], body: pictures.changed)
        return { isConditional in
            switch origin {
            case .changed, .dead: [changed]
            case .confirms: isConditional ? [.text("HTTP/1.1 304 Not Modified\r\n\r\n")] : [changed]
            case .notFound: [.reply("404 Not Found")]
            case .unavailable: [.reply("503 Service Unavailable")]
            case .closes: [.close]
            }
        }
    }
}

extension FaultRequest {
    var isConditional: Bool { header("If-None-Match") != nil || header("If-Modified-Since") != nil }
}

/// The times of the states. Contents are stored in the first seconds, and retrievals run 100 s after the start.
enum DecisionClock {
    static let start = Timestamp(milliseconds: 1_700_000_000_000)
    static let now = start.advanced(by: 100_000)

    /// Returns the lifetime of an entry that is to be fresh or expired now, in seconds.
    static func span(isFresh: Bool) -> Int { isFresh ? 100_000 : 10 }
}
