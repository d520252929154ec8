import KFStorage

/// Entries that are no images that can be asked for.
extension ImageCache {
    /// The label of an answer without an image, in the place of a format.
    public static let answerLabel = "none"

    /// Removes the remembered answer of a source, if there is one. One that stays expires.
    func removeAnswer(forKey key: String) async {
        do throws(KingfisherError) {
            _ = try await blocking.run { [self] () throws(KingfisherError) in
                try withStorage(failing: KingfisherError.init(writing:)) { storage throws(StorageError) in
                    try storage.removeVariants(of: EntryKey(key: key), madeBy: EntryKey.answerIdentifier)
                }
            }
        } catch {
            // A cache that cannot be written to remembers nothing either.
        }
    }

    /// The file of an entry stays where it is although another image is about to take the entry's place.
    func keepFile(of entry: Entry, as key: EntryKey, _ facts: EntryFacts) async {
        guard let storage = alreadyOpen, !storage.isReadOnly else { return }
        do throws(StorageError) { try await storage.keepFile(of: entry, as: key, facts) } catch {
            // The file goes with its entry, as for any other reader.
        }
    }
}
