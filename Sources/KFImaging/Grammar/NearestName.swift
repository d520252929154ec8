/// Guesses which name was meant.
package enum NearestName {
    /// The name with the fewest edits, if they are few enough for a guess.
    package static func to(_ text: String, in names: [String]) -> String? {
        // A longer text is no slip of the finger, and the distance costs its length times the name's.
        guard text.utf8.count <= 64 else { return nil }
        let ranked = names.map { (name: $0, distance: distance(text, $0)) }
        guard let best = ranked.min(by: { $0.distance < $1.distance }) else { return nil }
        return best.distance <= max(2, best.name.count / 3) ? best.name : nil
    }

    /// Insertions, removals, replacements and swaps of neighbours that turn one text into the other.
    private static func distance(_ first: String, _ second: String) -> Int {
        let (a, b) = (Array(first.utf8), Array(second.utf8))
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
