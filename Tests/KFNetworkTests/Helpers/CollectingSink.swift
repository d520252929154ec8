import KFNetwork
import Synchronization

/// Keeps what came; can refuse.
final class CollectingSink: TransferSink {
    struct State {
        var heads: [ResponseHead] = []
        var bytes: [UInt8] = []
    }

    let state = Mutex(State())
    private let refusesHead: Bool
    private let refusesBodyAfter: Int?
    private let onBytes: @Sendable () -> Void

    init(
        refusesHead: Bool = false, refusesBodyAfter: Int? = nil, onBytes: @escaping @Sendable () -> Void = {}
    ) {
        self.onBytes = onBytes
        self.refusesHead = refusesHead
        self.refusesBodyAfter = refusesBodyAfter
    }

    var body: String { state.withLock { String(decoding: $0.bytes, as: UTF8.self) } }
    var byteCount: Int { state.withLock { $0.bytes.count } }
    var heads: [ResponseHead] { state.withLock { $0.heads } }

    func begin(_ head: ResponseHead) throws(SinkError) {
        state.withLock { $0.heads.append(head) }
        if refusesHead { throw SinkError(reason: "no room") }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        let count = state.withLock { state in
            state.bytes.append(contentsOf: bytes)
            return state.bytes.count
        }
        onBytes()
        if let limit = refusesBodyAfter, count > limit { throw SinkError(reason: "disk full") }
    }
}
