import KFStorage
import KFTerms

/// The hash that the original must have, or that a lock is going to have.
extension Retrieval {
    /// Whether the hash of the original counts. Then it has to be known from bytes that were hashed here: what a remote or
    /// another cache says of an image is no evidence.
    package var needsProof: Bool { pin != nil || options.notesOriginal }

    /// Returns whether the entry may serve as far as its original is concerned: where that counts, only an original, or an
    /// image that this cache made itself, with the pinned hash. A hash of another kind than SHA-256 is compared with the
    /// bytes of the original, which takes reading them.
    package func isProven(_ entry: Entry) -> Bool {
        guard needsProof else { return true }
        guard entry.key.isOriginal || cache.isMadeHere(entry), let digest = entry.originalContent?.digest else {
            return false
        }
        guard let pin else { return true }
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

    /// Returns whether a file of a lower layer is what its index says, if that counts: an original is hashed, and what a
    /// stranger made from it is not trusted.
    func isTrusted(_ file: CachedFile) -> Bool {
        guard needsProof else { return true }
        guard file.entry.key.isOriginal, let bytes = bestEffort({ try file.readAll() }) else { return false }
        return pin?.matches(bytes) ?? (bytes.withUnsafeBytes(SHA256.hash) == file.entry.object.digest)
    }

    /// Returns whether this cache has hashed a file that was found.
    func isHashed(_ file: FoundFile) -> Bool { !file.isBorrowed || needsProof }

    /// Returns whether an image in memory answers this request. Of one that was made from another image, memory does not
    /// know which.
    func accepts(_ image: CachedImage) -> Bool {
        if needsProof {
            guard wantsOriginal, let digest = image.facts.digest else { return false }
            if let pin, pin.matches(digest) != true { return false }
        }
        return accepts(image.selection)
    }
}
