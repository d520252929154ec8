/// The known word that was probably meant.
enum Suggestion {
    /// Nil when none is near: more than a third of the letters would have to change.
    static func nearest(to word: String, in known: [String]) -> String? {
        let best = known.map { ($0, distance(Array(word.utf8), Array($0.utf8))) }.min { $0.1 < $1.1 }
        guard let best, best.1 <= max(1, word.utf8.count / 3) else { return nil }
        return best.0
    }

    /// `a, b or c`
    static func list(_ words: [String], last conjunction: String = "or") -> String {
        guard words.count > 1, let last = words.last else { return words.first ?? "" }
        return words.dropLast().joined(separator: ", ") + " \(conjunction) " + last
    }

    /// Levenshtein's, with swapped neighbours as one change.
    private static func distance(_ a: [UInt8], _ b: [UInt8]) -> Int {
        var previous: [Int] = []
        var current = Array(0...b.count)
        for i in 1..<(a.count + 1) {
            let older = previous
            previous = current
            current[0] = i
            for j in 1..<(b.count + 1) {
                let change = a[i - 1] == b[j - 1] ? 0 : 1
                current[j] = min(previous[j] + 1, current[j - 1] + 1, previous[j - 1] + change)
                if i > 1, j > 1, a[i - 1] == b[j - 2], a[i - 2] == b[j - 1] {
                    current[j] = min(current[j], older[j - 2] + 1)
                }
            }
        }
        return current[b.count]
    }
}
