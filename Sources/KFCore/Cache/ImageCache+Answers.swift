import KFStorage

/// Entries that are no images that can be asked for.
extension ImageCache {
    /// The label of an answer without an image, in the place of a format.
    public static let answerLabel = "none"

    /// Removes the remembered answer of a source, if there is one. One that stays expires. Blocks.
    func removeAnswer(forKey key: String) {
        // A cache that cannot be written to remembers nothing either.
        _ = Result { () throws(KingfisherError) in
            try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
                try storage.removeVariants(of: EntryKey(key: key), madeBy: EntryKey.answerIdentifier)
            }
        }
    }
}
