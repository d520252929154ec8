/// An index over hashes of 64 bits that finds those within a Hamming distance.
///
/// The bits are dealt out to bands: three, or four for distances above 2. Two hashes that differ in at most N bits differ in
/// at most N / 3 or N / 4 of one band, so that few buckets of each band are searched. A hash takes some 50 bytes.
struct NearHashes {
    /// The greatest distance. A search for it looks into 4 × 137 buckets.
    static let mostDistant = 11

    /// The hashes in the order of a band's value, and the start of each value's bucket.
    private struct Band {
        let bits: Range<Int>
        var starts: [UInt32]
        var hashes: [UInt64]
        var places: [UInt32]

        func bucket(_ hash: UInt64) -> Int {
            Int(truncatingIfNeeded: hash >> UInt64(bits.lowerBound)) & (1 << bits.count - 1)
        }
    }

    private let distance: Int
    private let bands: [Band]
    /// The changes of a band's bits, by their number.
    private let changes: [Int]

    /// Indexes fewer than 2^32 hashes for searches within a distance of at most ``mostDistant``.
    init(_ hashes: [UInt64], distance: Int) {
        self.distance = distance
        let count = distance < 3 ? 3 : 4
        changes = (0..<1 << 16).filter { $0.nonzeroBitCount <= distance / count }
        let dealt = hashes.map(Self.dealt)
        bands = (0..<count).map { number in
            let bits = 64 * number / count..<64 * (number + 1) / count
            var band = Band(
                bits: bits, starts: [UInt32](repeating: 0, count: 1 << bits.count + 1),
                hashes: [UInt64](repeating: 0, count: hashes.count),
                places: [UInt32](repeating: 0, count: hashes.count))
            for hash in dealt { band.starts[band.bucket(hash) + 1] += 1 }
            for value in 1..<band.starts.count { band.starts[value] += band.starts[value - 1] }
            var next = band.starts
            for (place, hash) in dealt.enumerated() {
                let index = Int(next[band.bucket(hash)])
                band.hashes[index] = hash
                band.places[index] = UInt32(truncatingIfNeeded: place)
                next[band.bucket(hash)] += 1
            }
            return band
        }
    }

    /// Returns the bits of a hash in the order of the bands: every fourth one, from one further on in each row of eight.
    ///
    /// Neighbours in a picture are alike, across and down, and a band of them would have few values.
    static func dealt(_ hash: UInt64) -> UInt64 {
        (0..<64).reduce(0) { result, place in
            let (row, column) = (place % 16 / 2, place / 16 + place % 2 * 4)
            return result | (hash >> UInt64(row * 8 + (column + row) % 8) & 1) << UInt64(place)
        }
    }

    /// Calls `body` with the place of each hash within the distance, some of them several times.
    @inline(__always)
    func near(_ hash: UInt64, _ body: (Int) -> Void) {
        let hash = Self.dealt(hash)
        for band in bands {
            for change in changes {
                let bucket = band.bucket(hash) ^ change
                for index in Int(band.starts[bucket])..<Int(band.starts[bucket + 1])
                where (band.hashes[index] ^ hash).nonzeroBitCount <= distance { body(Int(band.places[index])) }
            }
        }
    }
}

/// The groups of equal and of similar images among hashes, as indices into the arrays.
package struct SimilarHashes {
    /// The images with equal contents, two or more in a group.
    package private(set) var equal: [[Int]] = []
    /// One image of each content, two or more in a group, the first one at the start. The others differ from it in at
    /// most the distance; those between them may be further apart.
    package private(set) var alike: [[Int]] = []

    /// Groups images by their contents and hashes. The hash 0, which all pictures of one colour have, is like no other.
    package init(_ hashes: [UInt64], contents: [UInt64], distance: Int) {
        var firsts: [Int] = []
        let byContent = hashes.indices.sorted { (contents[$0], $0) < (contents[$1], $1) }
        var start = 0
        while start < byContent.count {
            var end = start + 1
            while end < byContent.count, contents[byContent[end]] == contents[byContent[start]] { end += 1 }
            firsts.append(byContent[start])
            if end - start > 1 { equal.append(Array(byContent[start..<end])) }
            start = end
        }
        equal.sort { $0[0] < $1[0] }
        // Images with one hash are one place of the index.
        firsts = firsts.filter { hashes[$0] != 0 }.sorted { (hashes[$0], $0) < (hashes[$1], $1) }
        var distinct: [UInt64] = []
        var starts: [Int] = []
        for (place, first) in firsts.enumerated() where distinct.last != hashes[first] {
            distinct.append(hashes[first])
            starts.append(place)
        }
        starts.append(firsts.count)
        let index = NearHashes(distinct, distance: distance)
        var isTaken = [Bool](repeating: false, count: distinct.count)
        for place in distinct.indices.sorted(by: { firsts[starts[$0]] < firsts[starts[$1]] }) where !isTaken[place] {
            var places: [Int] = []
            index.near(distinct[place]) { other in
                guard !isTaken[other] else { return }
                isTaken[other] = true
                places.append(other)
            }
            func bits(_ image: Int) -> Int { (hashes[image] ^ distinct[place]).nonzeroBitCount }
            let images = places.flatMap { firsts[starts[$0]..<starts[$0 + 1]] }
            if images.count > 1 { alike.append(images.sorted { (bits($0), $0) < (bits($1), $1) }) }
        }
    }
}
