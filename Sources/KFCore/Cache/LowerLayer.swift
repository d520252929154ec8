import KFStorage
import Synchronization

/// A cache under another one: looked into after a miss, never written to. One that is missing or broken is said once,
/// and is passed over from then on.
final class LowerLayer: Sendable {
    private let cache: ImageCache
    private let directory: String
    private let notice: @Sendable (String) -> Void
    private let isGone = Atomic<Bool>(false)

    init(_ directory: String, below upper: ImageCache.Configuration) {
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.access = .readOnly
        configuration.trustsOwner = upper.trustsOwner
        configuration.verifies = upper.verifies
        configuration.memoryCostLimit = 0
        configuration.clock = upper.clock
        configuration.notice = upper.notice
        cache = ImageCache(configuration)
        self.directory = directory
        notice = upper.notice
    }

    /// Nil as well when the layer cannot be used. Blocks.
    func look<Value>(_ body: (DiskStorage) throws(StorageError) -> Value?) -> Value? {
        if isGone.load(ordering: .relaxed) { return nil }
        do throws(KingfisherError) {
            guard let storage = try cache.storage() else {
                throw .cacheError(reason: .diskStorageIsNotReady(detail: "there is no cache"))
            }
            do throws(StorageError) { return try body(storage) } catch { throw KingfisherError(reading: error) }
        } catch {
            if !isGone.exchange(true, ordering: .relaxed) {
                notice("the cache \(directory) is left out: \(error.message)")
            }
            return nil
        }
    }
}
