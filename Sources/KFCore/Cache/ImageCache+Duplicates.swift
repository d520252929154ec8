import KFPipeline
import KFStorage
import KFTerms
import Synchronization

/// Images of a cache whose contents are equal, or which look alike.
public struct DuplicateGroup: Sendable {
    /// An image of the group.
    public struct Member: Sendable {
        /// The key of the image's source.
        public let key: String
        /// The image as its server sent it, or else the largest that was made from it; nil when none is cached any more.
        public let entry: CachedEntry?
        /// The difference hash.
        public let dhash: UInt64
        /// The number of bits in which the hash differs from that of the first image.
        public let distance: Int
    }

    /// Whether the originals have equal bytes. If not, the group has one image of each content.
    public let isEqual: Bool
    /// Two or more images. The distance of each from the first is at most the wanted one.
    public let members: [Member]
}

extension ImageCache {
    /// The distances between hashes that ``duplicates(distance:_:)`` takes.
    public static let duplicateDistances = 0...NearHashes.mostDistant

    /// Calls `body` with the groups of images with equal originals, then with those of images that look alike: their
    /// difference hashes differ in at most `distance` bits. A false from `body` ends the search. `body` runs on one of
    /// the cache's threads.
    ///
    /// Only images whose description is cached are found, each under its key. A million of them take some 140 MB.
    /// Returns their number; nil when there is no cache yet.
    public func duplicates(
        distance: Int = 2, _ body: @escaping @Sendable (DuplicateGroup) -> Bool
    ) async throws(KingfisherError) -> Int? {
        try await onDisk(failing: KingfisherError.init(reading:)) { [self] storage throws(StorageError) in
            let found = try described(in: storage)
            let distance = min(max(distance, 0), Self.duplicateDistances.upperBound)
            let similar = SimilarHashes(found.hashes, contents: found.contents, distance: distance)
            for (isEqual, groups) in [(true, similar.equal), (false, similar.alike)] {
                for group in groups {
                    var members: [DuplicateGroup.Member] = []
                    for image in group {
                        let all = try storage.variants(ofRow: found.rows[image])
                        guard let key = all.first?.key.key else { continue }
                        let images = all.filter {
                            !$0.key.isAnswer && !DescriptionSerializer.isDescription($0.key.identifier)
                        }
                        let entry =
                            images.first(where: \.key.isOriginal) ?? images.max { $0.object.size < $1.object.size }
                        let hash = found.hashes[image]
                        members.append(
                            DuplicateGroup.Member(
                                key: key, entry: entry.map { CachedEntry($0, path: storage.path(of: $0), now: now) },
                                dhash: hash, distance: (hash ^ found.hashes[group[0]]).nonzeroBitCount))
                    }
                    members.sort { ($0.distance, $0.key) < ($1.distance, $1.key) }
                    // Entries may have left since the index was read.
                    if members.count > 1, !body(DuplicateGroup(isEqual: isEqual, members: members)) {
                        return found.rows.count
                    }
                }
            }
            return found.rows.count
        }
    }

    /// Returns a description of each key, in the order of the rows: its row, its hash, and the first 64 bits of the
    /// original's SHA-256.
    private func described(
        in storage: DiskStorage
    ) throws(StorageError) -> (rows: [Int64], hashes: [UInt64], contents: [UInt64]) {
        let found = Mutex((rows: [Int64](), hashes: [UInt64](), contents: [UInt64](), sources: Set<Int>()))
        try storage.eachEntry(identifierEnd: DescriptionSerializer.steps) { entry in
            // Earlier versions wrote the hash to the file alone.
            let hash =
                HeaderLines(entry.freshness).dhash
                ?? CachedEntry(entry, path: storage.path(of: entry), now: now).describedValues?.dhash
            guard let hash else { return }
            found.withLock {
                guard $0.sources.insert(entry.key.key.hashValue).inserted else { return }
                $0.rows.append(entry.row)
                $0.hashes.append(hash)
                // An image whose original is not known is equal to no other.
                $0.contents.append(entry.original?.prefix ?? UInt64(bitPattern: entry.row))
            }
        }
        return found.withLock { ($0.rows, $0.hashes, $0.contents) }
    }
}
