import Synchronization

/// The mark of images that this cache made itself from bytes that it hashed: a line among the facts of their entries.
///
/// What the index names as the original of another processed image may be the word of a stranger: of a remote, or of a
/// cache that was merged. The mark names the directory, so it means nothing elsewhere, and a directory that was copied as
/// a whole is still itself. Every change of a processed entry passes through here, which drops all marks but its own.
final class OwnMark: Sendable {
    private static let name = "kf-made: "
    /// The word of the lock file with the number of the directory; 0 until an image was made.
    private static let word = 5

    private let lock: FileLock?
    /// The mark of this directory; nil until it is known.
    private let line = Mutex<String?>(nil)

    init(_ lock: FileLock?) { self.lock = lock }

    /// Returns the store as it is written: with the mark only if the image was made here. The caller holds the write
    /// lock.
    func marked(_ put: Store.Put) -> Store.Put {
        if put.key.isOriginal { return put }
        return put.with(freshness: lines(put.facts.freshness, isMadeHere: put.facts.isMadeHere))
    }

    /// Returns the renewal of an entry, which keeps or lacks the mark as the entry does.
    func marked(_ renewal: EntryRenewal, of entry: Entry) -> EntryRenewal {
        if entry.key.isOriginal { return renewal }
        var renewal = renewal
        renewal.freshness = lines(renewal.freshness, isMadeHere: isOn(entry))
        return renewal
    }

    /// Returns whether the entry has the mark of this directory.
    func isOn(_ entry: Entry) -> Bool {
        guard let lines = entry.freshness, let own = line(creates: false) else { return false }
        return lines.split(separator: "\n").contains { $0 == own }
    }

    /// Returns the lines without any mark.
    static func removed(from lines: String?) -> String? {
        guard let lines, lines.split(separator: "\n").contains(where: { $0.hasPrefix(name) }) else { return lines }
        let kept = lines.split(separator: "\n").filter { !$0.hasPrefix(name) }
        return kept.isEmpty ? nil : kept.joined(separator: "\n")
    }

    private func lines(_ lines: String?, isMadeHere: Bool) -> String? {
        let others = Self.removed(from: lines)
        guard isMadeHere, let own = line(creates: true) else { return others }
        return others.map { "\($0)\n\(own)" } ?? own
    }

    /// Returns the mark of this directory. Nil if it has no number, or if that cannot be read or written: then no image
    /// counts.
    private func line(creates: Bool) -> String? {
        guard let lock else { return nil }
        return line.withLock { line in
            if line == nil {
                line =
                    bestEffort { () throws(StorageError) in
                        var number = try lock.read(words: 1, from: Self.word)[0]
                        if number == 0, creates {
                            number = Int64.random(in: 1 ... .max)
                            try lock.write(words: [number], from: Self.word)
                        }
                        return number == 0 ? nil : Self.name + String(number, radix: 16)
                    } ?? nil
            }
            return line
        }
    }
}

extension Entry {
    /// The header lines without what concerns this directory alone.
    package var sharedLines: String? { OwnMark.removed(from: freshness) }
}

extension DiskStorage {
    /// Returns whether this cache made the image itself, from bytes that it hashed.
    package func isMadeHere(_ entry: Entry) -> Bool { session.mark.isOn(entry) }
}
