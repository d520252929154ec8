/// What a disk cache may hold, and for how long. Kingfisher's `DiskStorage.Config`.
public struct DiskStorageConfig: Sendable, Equatable {
    /// In bytes of files; 0 is no limit.
    public var sizeLimit: Int64
    /// How long an image counts as fresh when its options, or its store, do not say.
    public var expiration: StorageExpiration

    /// 5 GiB, for 7 days.
    public init(sizeLimit: Int64 = 5 << 30, expiration: StorageExpiration = .days(7)) {
        self.sizeLimit = sizeLimit
        self.expiration = expiration
    }
}
