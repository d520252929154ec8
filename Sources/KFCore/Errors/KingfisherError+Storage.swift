import KFStorage

extension KingfisherError {
    /// A failure of the disk cache while it was opened.
    init(opening error: StorageError) {
        switch error {
        case .locked: self = .cacheError(reason: .cacheIsLocked(detail: error.message))
        case .cannotCreateDirectory:
            self = .cacheError(reason: .cannotCreateDirectory(detail: error.message))
        default:
            self = .cacheError(reason: .diskStorageIsNotReady(detail: error.message))
        }
    }

    /// A failure while something was read from the disk cache.
    init(reading error: StorageError) {
        switch error {
        case .locked: self = .cacheError(reason: .cacheIsLocked(detail: error.message))
        case .system: self = .cacheError(reason: .cannotLoadDataFromDisk(detail: error.message))
        default: self = .cacheError(reason: .diskStorageIsNotReady(detail: error.message))
        }
    }

    /// A failure while something was written to the disk cache.
    init(writing error: StorageError) {
        switch error {
        case _ where error.isDiskFull: self = .cacheError(reason: .diskIsFull(detail: error.message))
        case .locked: self = .cacheError(reason: .cacheIsLocked(detail: error.message))
        case .objectTooLarge: self = .cacheError(reason: .imageLargerThanCache(detail: error.message))
        case .readOnly: self = .cacheError(reason: .cacheIsReadOnly(detail: error.message))
        case .cannotCreateDirectory: self = .cacheError(reason: .cannotCreateDirectory(detail: error.message))
        case .system: self = .cacheError(reason: .cannotCreateCacheFile(detail: error.message))
        default: self = .cacheError(reason: .diskStorageIsNotReady(detail: error.message))
        }
    }
}
