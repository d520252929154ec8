import KFNetwork
import KFStorage
import Synchronization

/// Takes a body as it comes: in memory while it is small, in a file of the cache from then on. What can be resumed when
/// it breaks off is written where it can be found again.
final class BodySink: TransferSink {
    /// Bodies up to this many bytes stay in memory.
    static let memoryLimit = 256 << 10

    private struct State {
        var bytes: [UInt8] = []
        var staged: StagedObject?
        var facts: PartialFacts?
        var staysInMemory = false
    }

    private let store: BodyStore?
    private let url: String
    private let request: Digest
    private let tap: (@Sendable (UnsafeRawBufferPointer) -> Void)?
    private let state: Mutex<State>

    /// `store` gives the file; without one, everything stays in memory. `resumed` is the body's beginning, from an
    /// earlier transfer. `tap` sees the bytes as they come.
    init(
        _ store: BodyStore?, url: String, request: Digest, resumed: StagedObject?,
        tap: (@Sendable (UnsafeRawBufferPointer) -> Void)? = nil
    ) {
        self.store = store
        self.url = url
        self.request = request
        self.tap = tap
        state = Mutex(State(staged: resumed))
    }

    func begin(_ head: ResponseHead) throws(SinkError) {
        state.withLock { state in
            if head.status == 206 { return }
            // The whole body comes, whatever is there of an older one.
            let expected = Int(clamping: head.contentLength ?? 0)
            state = State(facts: facts(head))
            state.bytes.reserveCapacity(min(max(expected, 0), Self.memoryLimit))
        }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
        tap?(bytes)
        do {
            try state.withLock { state throws(StorageError) in
                do throws(StorageError) {
                    try write(bytes, &state)
                } catch let error where error.isDiskFull {
                    // Storing has failed; who asked for the image gets it all the same.
                    try takeBack(&state)
                    state.bytes.append(contentsOf: bytes)
                }
            }
        } catch {
            throw SinkError(reason: error.message)
        }
    }

    /// The transfer broke off: what came of it is kept, where it can be.
    func keep() {
        guard let staged = state.withLock({ $0.staged }) else { return }
        staged.keep()
        store?.cache.notePartial()
    }

    /// What came, once the transfer has succeeded.
    func finish(synchronize: Bool) throws(StorageError) -> PendingBytes {
        try state.withLock { state throws(StorageError) in
            if let staged = state.staged {
                try staged.finish(synchronize: synchronize)
                return .staged(staged)
            }
            return .memory(state.bytes)
        }
    }

    /// Nil when the server gave nothing to resume by.
    private func facts(_ head: ResponseHead) -> PartialFacts? {
        let etag = head.headers["etag"].flatMap { $0.hasPrefix("W/") ? nil : $0 }
        guard let validator = etag ?? head.headers["last-modified"] else { return nil }
        return PartialFacts(url: url, request: request, validator: validator, total: head.contentLength)
    }

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
        if state.staged == nil, !state.staysInMemory, state.bytes.count + bytes.count > Self.memoryLimit {
            guard let file = try store?.begin(state.facts) else {
                state.staysInMemory = true
                state.bytes.append(contentsOf: bytes)
                return
            }
            let result = state.bytes.withUnsafeBytes { bytes in
                Result { () throws(StorageError) in try file.write(bytes) }
            }
            try result.get()
            state.bytes = []
            state.staged = file
        }
        if let staged = state.staged {
            try staged.write(bytes)
        } else {
            state.bytes.append(contentsOf: bytes)
        }
    }

    private func takeBack(_ state: inout State) throws(StorageError) {
        state.staysInMemory = true
        guard let staged = state.staged else { return }
        state.bytes = try staged.loadWritten()
        state.staged = nil
    }
}
