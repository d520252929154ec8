import KFStorage

/// What became of the bytes as they came.
struct StoredOriginal: Sendable {
    var stored: StoredFile?
    var outcome = CacheStoreResult.Outcome.none

    var digest: Digest? { stored?.entry.object.digest }
}
