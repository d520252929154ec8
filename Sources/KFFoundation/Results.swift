import Foundation
import KFCore

extension CacheStoreResult {
    /// The result in memory, which never fails.
    public var memoryCacheResult: Result<Void, Never> { .success(()) }

    /// The result on the disk. It is a success, too, when no store was requested there.
    public var diskCacheResult: Result<Void, KingfisherError> { diskError.map { .failure($0) } ?? .success(()) }
}

extension KingfisherError {
    /// Whether the server refused the request with any status.
    public var isInvalidResponseStatusCode: Bool { httpStatus != nil }
}
