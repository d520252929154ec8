import Testing

@testable import KFCore

@Suite("Similar hashes")
struct SimilarHashesTests {
    /// Hashes around some centres, so that there are many at each distance.
    private func hashes(_ count: Int) -> [UInt64] {
        var generator = SystemRandomNumberGenerator()
        let centres = (0..<20).map { _ in generator.next() }
        return (0..<count).map { index in
            (0..<Int.random(in: 0...12, using: &generator)).reduce(centres[index % centres.count]) { hash, _ in
                hash ^ 1 << UInt64.random(in: 0..<64, using: &generator)
            }
        }
    }

    @Test("Groups are those of a comparison of all with all", arguments: [0, 1, 3, 4, 7, 11])
    func groups(distance: Int) {
        let hashes = hashes(400)
        let found = SimilarHashes(hashes, contents: hashes.indices.map(UInt64.init), distance: distance)
        var expected: [[Int]] = []
        var isTaken = [Bool](repeating: false, count: hashes.count)
        for first in hashes.indices where !isTaken[first] {
            let near = hashes.indices.filter {
                !isTaken[$0] && (hashes[$0] ^ hashes[first]).nonzeroBitCount <= distance
            }
            for index in near { isTaken[index] = true }
            if near.count > 1 { expected.append(near) }
        }
        #expect(found.alike.map { $0.sorted() } == expected)
        #expect(found.equal.isEmpty)
    }

    @Test("The first near hash is that of a comparison with all", arguments: [0, 1, 3, 4, 7, 11])
    func growing(distance: Int) {
        let hashes = hashes(400)
        var grown = GrowingHashes(distance: distance)
        for (index, hash) in hashes.enumerated() {
            let expected = hashes[..<index].firstIndex { ($0 ^ hash).nonzeroBitCount <= distance }
            #expect(grown.first(near: hash) == expected)
            grown.add(hash)
        }
    }

    @Test("Equal contents count once among similar images, and flat pictures not at all")
    func contents() {
        let found = SimilarHashes([5, 5, 0, 4, 0], contents: [1, 1, 2, 3, 4], distance: 1)
        #expect(found.equal == [[0, 1]] && found.alike == [[0, 3]])
    }
}
