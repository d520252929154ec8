import KFNetwork
import KFStorage
import Synchronization

/// Takes a body as it comes: in memory while it is small, in a file of the cache from then on.
final class BodySink: TransferSink {
    /// Bodies up to this many bytes stay in memory.
    static let memoryLimit = 256 << 10

    private struct State {
        var bytes: [UInt8] = []
        var staged: StagedObject?
        var staysInMemory = false
    }

    private let stage: @Sendable () throws(StorageError) -> StagedObject?
    private let state = Mutex(State())

    /// `stage` makes the file; where it gives none, everything stays in memory.
    init(stage: @escaping @Sendable () throws(StorageError) -> StagedObject?) { self.stage = stage }

    func begin(_ head: ResponseHead) throws(SinkError) {
        let expected = Int(clamping: head.contentLength ?? 0)
        state.withLock { $0.bytes.reserveCapacity(min(max(expected, 0), Self.memoryLimit)) }
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(SinkError) {
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

    private func write(_ bytes: UnsafeRawBufferPointer, _ state: inout State) throws(StorageError) {
        if state.staged == nil, !state.staysInMemory, state.bytes.count + bytes.count > Self.memoryLimit {
            guard let file = try stage() else {
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

    func restart() { state.withLock { $0 = State() } }

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
}
