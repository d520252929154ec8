import KFImaging
import KFStorage

extension KingfisherManager: ImageRepair {
    func repaired(
        _ source: Source, _ box: OptionsBox, key: String, identifier: String, sha256: String?
    ) async throws(KingfisherError) -> Image {
        let name = EntryKey(key: key, identifier: identifier)
        try await (box.value.targetCache ?? cache).removeDamaged(name, sha256: sha256)
        let attempts = AttemptCount()
        return try await retrieveImage(with: source, options: box.value, counting: attempts, isRepairable: false)
            .decoded()
    }
}

extension ImageCache {
    /// Removes an image that cannot be decoded, unless another has taken its place.
    func removeDamaged(_ key: EntryKey, sha256: String?) async throws(KingfisherError) {
        memory.remove(key)
        _ = try await blocking.run { [self] () throws(KingfisherError) in
            try removeDamagedNow(key) { $0.object.digest.hex == sha256 }
        }
    }

    /// The same on the calling thread. Blocks.
    func removeDamagedNow(_ key: EntryKey, where isDamaged: (Entry) -> Bool) throws(KingfisherError) {
        _ = try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
            guard !storage.isReadOnly, let entry = try storage.entry(for: key), isDamaged(entry) else { return }
            _ = try storage.remove(entries: [entry])
        }
    }
}
