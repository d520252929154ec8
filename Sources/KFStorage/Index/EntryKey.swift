import KFSystem

/// The identity of an entry: the key of the source and the identifier of the processor (empty for an original).
package struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    package let key: String
    package let identifier: String
    /// The first 64 bits of sha256(key NUL identifier): the entry's place in the index, and its hash in memory.
    package let id: Int64

    /// The number of rows, from `id` on, in which an entry may be stored if other entries occupy the first ones.
    static let probes: Int64 = 4

    /// The rows in which a lookup searches for the entry.
    var places: Range<Int64> { id..<id + Self.probes }

    package init(key: String, identifier: String = "") {
        self.key = key
        self.identifier = identifier
        var sha = SHA256()
        sha.update(key)
        sha.update("\0")
        sha.update(identifier)
        id = Self.place(sha.finish())
    }

    /// The unprocessed entry of the same key and the same representation.
    package var original: EntryKey {
        if identifier.isEmpty { return self }
        return EntryKey(key: key, representation: representation)
    }

    /// The entry with the key alone, by which all entries of a source are found.
    package var source: EntryKey { identifier.isEmpty ? self : EntryKey(key: key) }

    package var description: String { identifier.isEmpty ? key : "\(key)@\(identifier)" }

    package static func == (a: EntryKey, b: EntryKey) -> Bool {
        a.id == b.id && a.key == b.key && a.identifier == b.identifier
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// Returns the row where probing for a digest starts: low enough that the last probe does not overflow.
    static func place(_ digest: Digest) -> Int64 { min(Int64(bitPattern: digest.prefix), .max - probes) }
}

/// Identifiers that contain more than processors.
///
/// One URL can have several representations (RFC 9110, 3.2). The entry for the request headers that Vary names has an
/// identifier of `vary=` and their digest; no processor has such a name. All entries of a source share its key and are
/// found together.
extension EntryKey {
    /// The prefix of the identifier of a representation.
    package static let representationMark = "vary="
    /// The length of a representation's digest in hexadecimal digits.
    package static let representationLength = 16
    /// The identifier of a cached response without an image, such as a 404. Its object is empty.
    package static let answerIdentifier = "no-image"
    /// The identifier under which a replaced file is kept while a caller may still use its path.
    package static let replacedIdentifier = "replaced"

    struct Identifier {
        /// The digest of the request headers; nil for the representation that is stored under the key alone.
        let representation: String?
        /// The identifier of the processors; empty for an original.
        let chain: String

        init(_ text: String) {
            let digest = text.utf8.dropFirst(EntryKey.representationMark.utf8.count)
                .prefix(EntryKey.representationLength)
            let rest = text[digest.endIndex...]
            guard text.hasPrefix(EntryKey.representationMark), digest.count == EntryKey.representationLength,
                digest.allSatisfy(\.isLowercaseHex), rest.isEmpty || rest.hasPrefix("|>")
            else {
                (representation, chain) = (nil, text)
                return
            }
            representation = String(text[digest.startIndex..<digest.endIndex])
            chain = String(rest.dropFirst(2))
        }

        /// Whether processors made the entry, and not a server.
        var isProcessed: Bool {
            !chain.isEmpty && chain != EntryKey.answerIdentifier && chain != EntryKey.replacedIdentifier
        }
    }

    /// Creates the key of a representation, or of the result of processors on it.
    package init(key: String, representation: String?, chain: String = "") {
        guard let representation else {
            self.init(key: key, identifier: chain)
            return
        }
        let mark = Self.representationMark + representation
        self.init(key: key, identifier: chain.isEmpty ? mark : "\(mark)|>\(chain)")
    }

    /// The digest of the request headers of the representation; nil for the one that is stored under the key alone.
    package var representation: String? { identifier.isEmpty ? nil : Identifier(identifier).representation }

    /// The identifier of the processors; empty for an original.
    package var chain: String { identifier.isEmpty ? "" : Identifier(identifier).chain }

    /// Whether the entry is an image as the server sent it.
    package var isOriginal: Bool { identifier.isEmpty || chain.isEmpty }

    /// Whether the entry is an image that a request finds: no answer without one, and no replaced file.
    package var holdsImage: Bool { chain != Self.answerIdentifier && chain != Self.replacedIdentifier }

    /// Whether the entry is a cached response without an image.
    package var isAnswer: Bool { identifier == Self.answerIdentifier }
}

/// The check of stored text that is sent as the value of a request header.
package enum HeaderText {
    private static let longest = 8192

    /// Returns whether the text is a safe header value: no control characters, which would end the line, and not too
    /// long. Another program may have written the text.
    package static func isValue(_ text: some StringProtocol) -> Bool {
        let isValid = { (bytes: UnsafeBufferPointer<UInt8>) in
            bytes.count <= longest && bytes.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
        }
        return text.utf8.withContiguousStorageIfAvailable(isValid) ?? Array(text.utf8).withUnsafeBufferPointer(isValid)
    }
}
