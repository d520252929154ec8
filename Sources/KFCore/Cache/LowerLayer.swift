import KFStorage
import Synchronization

/// A cache under another one: looked into after a miss, never written to. One that is missing or broken is said once,
/// and is passed over from then on.
final class LowerLayer: Sendable {
    private enum State {
        case unopened
        case open(DiskStorage)
        case gone
    }

    private let configuration: DiskStorage.Configuration
    private let state = Mutex(State.unopened)

    init(_ configuration: DiskStorage.Configuration) {
        self.configuration = configuration
    }

    /// Nil as well when the layer cannot be used. Blocks.
    func look<Value>(_ body: (DiskStorage) throws(StorageError) -> Value?) -> Value? {
        do throws(StorageError) {
            return try storage().flatMap { storage throws(StorageError) in try body(storage) }
        } catch {
            let isNew = state.withLock { state in
                if case .gone = state { return false }
                state = .gone
                return true
            }
            if isNew { configuration.notice("the cache \(configuration.path) is left out: \(error.message)") }
            return nil
        }
    }

    private func storage() throws(StorageError) -> DiskStorage? {
        try state.withLock { state throws(StorageError) in
            switch state {
            case .gone: return nil
            case .open(let storage): return storage
            case .unopened:
                let storage = try DiskStorage(configuration)
                state = .open(storage)
                return storage
            }
        }
    }
}
