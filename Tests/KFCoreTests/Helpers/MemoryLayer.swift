import KFNetwork
import Support
import Synchronization

@testable import KFCore
@testable import KFPipeline

/// A remote in memory. It answers as a test says, and holds requests back until the test lets them go.
final class MemoryLayer: CacheLayer {
    typealias Script = @Sendable (CacheLayerRequest) -> CacheLayerAnswer?

    private struct State {
        var blobs: [String: [UInt8]] = [:]
        var log: [String] = []
        var script: Script = { _ in nil }
        var holds: (@Sendable (CacheLayerRequest) -> Bool)?
        var held: [CacheLayerRequest] = []
        var cancelled: [String] = []
        var batches: [Int] = []
        var reach: NetworkReach?
    }

    let name: String
    private let state: Mutex<State>

    init(_ name: String = "memory", reach: NetworkReach? = .machine) {
        self.name = name
        state = Mutex(State(reach: reach))
    }

    var reach: NetworkReach? {
        get { state.withLock { $0.reach } }
        set { state.withLock { $0.reach = newValue } }
    }

    /// The blobs by their paths.
    var blobs: [String: [UInt8]] {
        get { state.withLock { $0.blobs } }
        set { state.withLock { $0.blobs = newValue } }
    }

    /// The requests in their order, such as `read ac`.
    var log: [String] { state.withLock { $0.log } }
    /// The requests that were given up.
    var cancelled: [String] { state.withLock { $0.cancelled } }
    /// The number of requests of each start.
    var batches: [Int] { state.withLock { $0.batches } }
    /// The requests that were held back.
    var held: [CacheLayerRequest] { state.withLock { $0.held } }

    /// Answers from now on with the script, and as a store does where the script returns nil.
    func answer(_ script: @escaping Script) { state.withLock { $0.script = script } }

    /// Answers requests of one kind, such as `write cas`, with this from now on.
    func answer(_ kind: String, _ answer: CacheLayerAnswer) { self.answer { $0.label == kind ? answer : nil } }

    /// Holds back requests that match from now on.
    func hold(where matches: @escaping @Sendable (CacheLayerRequest) -> Bool = { _ in true }) {
        state.withLock { $0.holds = matches }
    }

    /// Answers what was held back, and holds nothing more.
    func open() {
        let held = state.withLock { state in
            defer { (state.held, state.holds) = ([], nil) }
            return state.held
        }
        for request in held { finish(request) }
    }

    /// Waits until so many requests are held back.
    func holds(_ count: Int) async -> Bool { await eventually { held.count >= count } }

    func start(_ requests: [CacheLayerRequest]) {
        let ready = state.withLock { state in
            state.batches.append(requests.count)
            state.log += requests.map(\.label)
            let isHeld = state.holds ?? { _ in false }
            state.held += requests.filter(isHeld)
            return requests.filter { !isHeld($0) }
        }
        for request in ready { finish(request) }
    }

    func cancel(_ requests: [CacheLayerRequest]) { state.withLock { $0.cancelled += requests.map(\.label) } }

    func finish(_ request: CacheLayerRequest) {
        let (script, blob) = state.withLock { ($0.script, $0.blobs[request.path]) }
        request.end(script(request) ?? stored(blob, request))
    }

    private func stored(_ blob: [UInt8]?, _ request: CacheLayerRequest) -> CacheLayerAnswer {
        switch request.operation {
        case .check: return blob == nil ? .absent : .done
        case .read:
            guard let blob else { return .absent }
            // In two pieces, as a network delivers it.
            let half = blob.count / 2
            let isTaken = request.receive(Array(blob[..<half])) && request.receive(Array(blob[half...]))
            return isTaken ? .done : .refusedBlob("it was not read to its end")
        case .write(let body, let replaces):
            guard case .success(let bytes) = Result(catching: { () throws(KingfisherError) in try body.load() }) else {
                return .refusedBlob("it cannot be read")
            }
            return state.withLock { state in
                if !replaces, state.blobs[request.path] != nil { return .exists }
                state.blobs[request.path] = bytes
                return .done
            }
        }
    }
}

extension CacheLayerRequest {
    /// What is asked for, such as `read ac`.
    var label: String {
        switch operation {
        case .read: "read \(kind.rawValue)"
        case .check: "check \(kind.rawValue)"
        case .write: "write \(kind.rawValue)"
        }
    }
}
