import KFLists
import KFPipeline
import KFStorage
import KFSystem
import KFTerms

/// Drops images of a run that are duplicates of earlier ones, in the order of the lists: which of two is kept does not
/// depend on which arrives first.
///
/// Outcomes wait for those before them. An image is compared with the ones that are kept, of which each takes some 80 bytes.
package struct DuplicateSieve: Sendable {
    /// The values by which an image is compared with others.
    package struct Fingerprint: Sendable {
        /// The first 64 bits of the original's SHA-256; nil if it is not known.
        let content: UInt64?
        /// The hash in its description; nil if there is none.
        let dhash: UInt64?

        /// Nil for an item without an image. Blocks.
        init?(_ outcome: PrefetchOutcome) {
            guard outcome.error == nil, case .retrieved(let results) = outcome.ending,
                case .success(let image)? = results.first?.image
            else { return nil }
            content = image.original?.digest.prefix
            dhash =
                results.lazy.compactMap { result -> UInt64? in
                    guard case .success(let image) = result.image, image.isDescription else { return nil }
                    do throws(KingfisherError) {
                        return DescriptionSerializer.description(in: try image.loadData())?.dhash
                    } catch {
                        // A description that has just been evicted.
                        return nil
                    }
                }.first
        }

        /// Takes what the row of a shard says that an earlier run has written; nil for one without an image.
        init?(_ row: RecordedRow) {
            guard row.error == nil else { return nil }
            let json: StrictJSON
            do throws(StrictJSON.Problem) {
                json = try StrictJSON.parse(Array(row.text.utf8), keptDepth: 1, deepest: StrictJSON.deepest + 1)
            } catch {
                return nil
            }
            content = (json["original_sha256"]?.string).flatMap { UInt64($0.prefix(16), radix: 16) }
            dhash = (json["measures"]?["dhash"]?.string).flatMap { UInt64($0, radix: 16) }
        }
    }

    private enum Ended {
        case image(PrefetchOutcome, Fingerprint?)
        /// It was written by an earlier run, has failed before it was fetched, or was not tried.
        case other(Fingerprint?, isGap: Bool)
    }

    private let names: ShardNames
    private let distance: Int?
    /// The position of the first item that has not ended, and what has ended behind it.
    private var next = 1
    private var waiting: [Int: Ended] = [:]
    /// Whether an item was cancelled or not tried. It may be in a later run, which decides on those behind it.
    private var isBehindGap = false
    /// The positions of the kept images.
    private var contents: [UInt64: Int] = [:]
    private var hashes: GrowingHashes
    private var places: [Int] = []

    /// `distance`: the bits in which the hashes of two images may differ; nil drops equal ones only.
    package init(names: ShardNames, distance: Int?) {
        (self.names, self.distance) = (names, distance)
        hashes = GrowingHashes(distance: distance ?? 0)
    }

    /// The settings for the manifest of the shards.
    package static func text(distance: Int?) -> String {
        distance.map { "without duplicates within \($0) bits" } ?? "without duplicates"
    }

    /// Takes an outcome that is to be exported. Returns those that nothing before them can drop any more.
    mutating func take(_ outcome: PrefetchOutcome, _ fingerprint: Fingerprint?) -> [PrefetchOutcome] {
        waiting[outcome.item.position] = .image(outcome, fingerprint)
        return advance()
    }

    /// Takes an outcome that has ended, and returns those that waited for it. Ignores one that was returned before.
    mutating func pass(_ outcome: PrefetchOutcome) -> [PrefetchOutcome] {
        let position = outcome.item.position
        guard position >= next, waiting[position] == nil else { return [] }
        waiting[position] = .other(
            outcome.item.isExported ? outcome.item.recordedRows.first.flatMap { Fingerprint($0) } : nil,
            isGap: Self.isGap(outcome))
        return advance()
    }

    private static func isGap(_ outcome: PrefetchOutcome) -> Bool {
        outcome.item.followsGap || outcome.error.map { $0.isCancellation || $0.isOfCache } ?? false
    }

    private mutating func advance() -> [PrefetchOutcome] {
        var ready: [PrefetchOutcome] = []
        while let ended = waiting.removeValue(forKey: next) {
            switch ended {
            case .other(let fingerprint, let isGap):
                isBehindGap = isBehindGap || isGap
                if let fingerprint { keep(fingerprint, at: next) }
            case .image(let outcome, let fingerprint):
                isBehindGap = isBehindGap || Self.isGap(outcome)
                if isBehindGap {
                    ready.append(outcome.followingGap)
                } else if let fingerprint, let first = first(like: fingerprint) {
                    ready.append(outcome.dropped(as: names.sample(at: first).key))
                } else {
                    if let fingerprint { keep(fingerprint, at: next) }
                    ready.append(outcome)
                }
            }
            next += 1
        }
        return ready
    }

    private func first(like fingerprint: Fingerprint) -> Int? {
        if let content = fingerprint.content, let equal = contents[content] { return equal }
        // All pictures of one colour have the hash 0, and are alike in nothing else.
        guard distance != nil, let dhash = fingerprint.dhash, dhash != 0 else { return nil }
        return hashes.first(near: dhash).map { places[$0] }
    }

    private mutating func keep(_ fingerprint: Fingerprint, at position: Int) {
        if let content = fingerprint.content { contents[content] = position }
        guard distance != nil, let dhash = fingerprint.dhash, dhash != 0 else { return }
        hashes.add(dhash)
        places.append(position)
    }
}

extension PrefetchOutcome {
    fileprivate var followingGap: PrefetchOutcome {
        var item = item
        item.followsGap = true
        return PrefetchOutcome(item: item, ending: ending, attempts: attempts)
    }

    /// Returns the outcome with all of its images left out, as duplicates of that sample.
    fileprivate func dropped(as sample: String) -> PrefetchOutcome {
        guard case .retrieved(var results) = ending else { return self }
        for index in results.indices { results[index].note(.responseError(reason: .duplicate(of: sample))) }
        return PrefetchOutcome(item: item, ending: .retrieved(results), attempts: attempts)
    }
}

/// Hashes of 64 bits to which others are added, and those within a Hamming distance of another.
///
/// Each has a place in four chains, one for each quarter of its bits; see ``NearHashes``.
struct GrowingHashes: Sendable {
    private static let bands = 4
    private let distance: Int
    /// The changes of a quarter's bits.
    private let changes: [Int]
    private var hashes: [UInt64] = []
    /// The last hash with each value of a band, and the one before each hash; -1 for none.
    private var last = [Int32](repeating: -1, count: GrowingHashes.bands << 16)
    private var previous: [Int32] = []

    init(distance: Int) {
        self.distance = distance
        changes = (0..<1 << 16).filter { $0.nonzeroBitCount <= distance / Self.bands }
    }

    private static func bucket(_ hash: UInt64, _ band: Int) -> Int {
        band << 16 | Int(truncatingIfNeeded: hash >> UInt64(band * 16)) & 0xFFFF
    }

    /// Adds one of fewer than 2^31 hashes.
    mutating func add(_ hash: UInt64) {
        let hash = NearHashes.dealt(hash)
        for band in 0..<Self.bands {
            let bucket = Self.bucket(hash, band)
            previous.append(last[bucket])
            last[bucket] = Int32(truncatingIfNeeded: hashes.count)
        }
        hashes.append(hash)
    }

    /// Returns the place of the first hash within the distance; nil if there is none.
    func first(near hash: UInt64) -> Int? {
        let hash = NearHashes.dealt(hash)
        var first: Int?
        for band in 0..<Self.bands {
            for change in changes {
                var place = Int(last[Self.bucket(hash, band) ^ change])
                while place >= 0 {
                    if (hashes[place] ^ hash).nonzeroBitCount <= distance { first = min(first ?? place, place) }
                    place = Int(previous[place * Self.bands + band])
                }
            }
        }
        return first
    }
}
