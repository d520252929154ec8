/// Finds the known name that a misspelt word was probably meant to be.
package enum NearestName {
    /// Returns the name with the fewest edits from `word`; nil when more than a third of the word's letters would have
    /// to change.
    package static func to(_ word: String, in names: [String]) -> String? {
        // A longer word is no typing error, and the distance takes time proportional to the product of both lengths.
        guard word.utf8.count <= 64 else { return nil }
        let ranked = names.map { (name: $0, distance: distance(Array(word.utf8), Array($0.utf8))) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(1, word.utf8.count / 3) ? best.name : nil
    }

    /// The Damerau–Levenshtein distance (optimal string alignment): insertions, deletions, substitutions and swaps of
    /// adjacent bytes.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var rows = [Array(0...b.count)]
        for i in 0..<a.count {
            var row = [i + 1]
            for j in 0..<b.count {
                var best = min(rows[i][j + 1] + 1, row[j] + 1, rows[i][j] + (a[i] == b[j] ? 0 : 1))
                if i > 0, j > 0, a[i] == b[j - 1], a[i - 1] == b[j] { best = min(best, rows[i - 1][j - 1] + 1) }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[a.count][b.count]
    }
}
