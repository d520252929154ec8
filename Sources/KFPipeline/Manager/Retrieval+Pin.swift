import KFStorage
import KFTerms

/// The hash that the original must have.
extension Retrieval {
    /// Returns whether the entry is the pinned original, or was made from it. A hash of another kind than SHA-256 is compared
    /// with the bytes of the original, which takes reading them.
    func hasPinned(_ entry: Entry, _ pin: ContentHash) -> Bool {
        let digest = entry.key.isOriginal ? entry.object.digest : entry.original
        guard let digest else { return false }
        if let matches = pin.matches(digest) { return matches }
        let bytes = bestEffort { try originals.bytes(withHash: digest) } ?? nil
        return bytes.map(pin.matches) ?? false
    }

    /// Returns the file with the hash that the image must have, if the cache has it under another URL. It is delivered, and
    /// nothing is stored of it under this URL, which no server has confirmed.
    func pinnedElsewhere() throws(KingfisherError) -> FoundFile? {
        guard let digest = pin?.digest, !isLocal else { return nil }
        let removals = originals.memory.removals
        guard let file = try originals.file(withHash: digest, for: original, box.inspector) else { return nil }
        return FoundFile(
            file: file, cache: originals, isFresh: true, isBorrowed: true, removals: removals, isElsewhere: true)
    }

    /// Returns whether a file of a lower layer is what its index says, if that counts: a pinned image is hashed, and what a
    /// stranger made from it is not trusted.
    func isTrusted(_ file: CachedFile) -> Bool {
        guard let pin else { return true }
        guard file.entry.key.isOriginal, let bytes = bestEffort({ try file.readAll() }) else { return false }
        return pin.matches(bytes)
    }

    /// Returns whether an image in memory answers this request. Of one that was made from another image, memory does not
    /// know which.
    func accepts(_ image: CachedImage) -> Bool {
        if let pin {
            guard wantsOriginal, let digest = image.facts.digest, pin.matches(digest) == true else { return false }
        }
        return accepts(image.selection)
    }
}
