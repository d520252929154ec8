import Synchronization

/// A WebDAV server in memory that does some things wrong. The faults can be changed at any time.
package final class RemoteFaultServer: Sendable {
    fileprivate final class Contents: Sendable {
        let state: Mutex<(tree: RemoteTree, faults: [RemoteFault])>

        init(_ tree: RemoteTree, _ faults: [RemoteFault]) { state = Mutex((tree, faults)) }
    }

    private let contents: Contents
    private let server: FaultServer

    package init(_ faults: [RemoteFault], missingParent: RemoteTree.MissingParent = .isMade) throws {
        let contents = Contents(RemoteTree(missingParent: missingParent), faults)
        self.contents = contents
        server = try FaultServer(bodies: { contents.taking($0) }) { contents.steps(for: $0) }
    }

    package convenience init(_ faults: RemoteFault..., missingParent: RemoteTree.MissingParent = .isMade) throws {
        try self.init(faults, missingParent: missingParent)
    }

    /// `user` stands in front of the host, as `user:password`.
    package func url(_ prefix: String = "", user: String? = nil) -> String {
        "http://\(user.map { "\($0)@" } ?? "")127.0.0.1:\(server.port)\(prefix)"
    }

    /// The faults from now on; those that apply a number of times begin anew.
    package func misbehave(_ faults: RemoteFault...) { misbehave(faults) }

    package func misbehave(_ faults: [RemoteFault]) { contents.state.withLock { $0.faults = faults } }

    /// What is stored. A test may change it.
    package var tree: RemoteTree {
        get { contents.state.withLock { $0.tree } }
        set { contents.state.withLock { $0.tree = newValue } }
    }

    /// Every request whose head was read, in order, with as much of its body as was read.
    package var requests: [FaultRequest] { server.requests }
    package var accepted: Int { server.accepted }
    package func stop() { server.stop() }

    package func requests(_ methods: String..., at part: String = "") -> [FaultRequest] {
        requests.filter { methods.contains($0.method) && (part.isEmpty || $0.path.contains(part)) }
    }
}

extension RemoteFaultServer.Contents {
    func taking(_ request: FaultRequest) -> FaultBody {
        let effects = state.withLock { $0.faults.filter { $0.applies(to: request) }.map(\.effect) }
        for effect in effects {
            switch effect {
            case .statusAtOnce: return .none
            case .takeSlowly(let rate): return .slowly(bytesPerSecond: rate)
            default: break
            }
        }
        return .whole
    }

    func steps(for request: FaultRequest) -> [FaultStep] {
        state.withLock { state in
            var steps: [FaultStep] = []
            for index in state.faults.indices where state.faults[index].applies(to: request) {
                let effect = state.faults[index].effect
                if let fault = Self.steps(effect, request, state.tree) {
                    state.faults[index].left -= 1
                    steps += fault
                    if !effect.isBeforeTheAnswer { return steps }
                }
            }
            return steps + state.tree.answer(request)
        }
    }

    /// Nil when the effect has nothing to do with this request.
    private static func steps(_ effect: RemoteFault.Effect, _ request: FaultRequest, _ tree: RemoteTree)
        -> [FaultStep]?
    {
        let path = RemoteTree.path(of: request)
        let right = tree.files[path] ?? []
        let head = FaultStep.head("HTTP/1.1 200 OK", "Content-Length: \(right.count)")
        switch effect {
        case .status(let status, let headers): return [.reply("\(status) Fault", headers: headers, body: [])]
        case .statusAtOnce(let status, let headers):
            return [.reply("\(status) Fault", headers: headers + ["Connection: close"], body: []), .hold]
        case .full(let bytes):
            guard request.method == "PUT", tree.bytes + request.body.count > bytes else { return nil }
            return [.reply("507 Insufficient Storage", body: [])]
        case .silence: return [.hold]
        case .stall(let count): return [head, .send(Array(right.prefix(count))), .hold]
        case .truncate(let count): return [head, .send(Array(right.prefix(count))), .close]
        case .close: return [.close]
        case .reset: return [.reset]
        case .delay(let span): return [.pause(span)]
        case .takeSlowly: return []
        case .lie(let lie):
            // What is not there is a miss, as it was.
            guard tree.files[path] != nil else { return nil }
            return [.reply(body: lie.bytes(right, path, tree))]
        case .zeros(let count): return [.head("HTTP/1.1 200 OK", "Content-Length: \(count)"), .zeros(count)]
        }
    }
}

extension RemoteFault.Effect {
    fileprivate var isBeforeTheAnswer: Bool {
        switch self {
        case .delay, .takeSlowly: true
        default: false
        }
    }
}
