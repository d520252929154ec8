import KFCore
import Synchronization

/// A store in memory, in place of one that machines share.
final class SharedStore: CacheLayer {
    let name = "shared store"
    var reach: NetworkReach? { .machine }
    private let blobs = Mutex<[String: [UInt8]]>([:])

    func start(_ requests: [CacheLayerRequest]) {
        Task {
            for request in requests { request.end(answer(request)) }
        }
    }

    private func answer(_ request: CacheLayerRequest) -> CacheLayerAnswer {
        let bytes = blobs.withLock { $0[request.path] }
        switch request.operation {
        case .read:
            guard let bytes else { return .absent }
            return request.receive(bytes) ? .done : .refusedBlob("it is too long")
        case .check: return bytes == nil ? .absent : .done
        case .write(let body, _):
            do {
                let bytes = try body.load()
                blobs.withLock { $0[request.path] = bytes }
                return .done
            } catch {
                return .refusedBlob(error.message)
            }
        }
    }

    /// A manager with a cache of its own in front of the store.
    func manager(directory: String, writes: Bool) -> KingfisherManager {
        var configuration = ImageCache.Configuration(directory: directory)
        configuration.remotes = [self]
        configuration.writesToRemote = writes
        return KingfisherManager(cache: ImageCache(configuration))
    }
}
