/// What identifies an entry: the key of the source and the identifier of the processor (empty for an original).
package struct EntryKey: Hashable, Sendable, CustomStringConvertible {
    package let key: String
    package let identifier: String
    /// The first 64 bits of sha256(key NUL identifier): the entry's place in the index, and its hash in memory.
    let id: Int64

    /// How many neighbouring places an entry may take when another has its own.
    static let probes: Int64 = 4

    /// The rows where a lookup finds it.
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

    /// The entry of the same key, and of the same representation, that no processor has touched.
    package var original: EntryKey {
        if identifier.isEmpty { return self }
        return EntryKey(key: key, representation: representation)
    }

    /// The entry that carries nothing but the key: all entries of a source are found by it.
    package var source: EntryKey { identifier.isEmpty ? self : EntryKey(key: key) }

    /// `key@identifier`, as it is shown.
    package var description: String { identifier.isEmpty ? key : "\(key)@\(identifier)" }

    package static func == (a: EntryKey, b: EntryKey) -> Bool {
        a.id == b.id && a.key == b.key && a.identifier == b.identifier
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(id) }

    /// The row where probing for a digest starts: low enough that the last probe does not overflow.
    static func place(_ digest: Digest) -> Int64 { min(Int64(bitPattern: digest.prefix), .max - probes) }
}

/// What the identifier of an entry says beside the processors.
///
/// One URL can have several representations (RFC 9110, 3.2): what was stored for the request headers that Vary names has an
/// identifier that begins with `vary=` and a digest of them. No processor is called so. All entries of a source share its
/// key, and are found together.
extension EntryKey {
    /// Begins the identifier of a representation for certain request headers.
    package static let representationMark = "vary="
    /// In hexadecimal digits.
    package static let representationLength = 16
    /// The identifier of an answer that brought no image. Its object is empty.
    package static let answerIdentifier = "no-image"
    /// The identifier under which a file that was just given out outlives its replacement.
    package static let replacedIdentifier = "replaced"

    /// An identifier in its parts.
    struct Identifier {
        /// The digest of the request headers; nil for the representation that is kept under the key alone.
        let representation: String?
        /// What the processors made of it; empty for an original.
        let chain: String

        init(_ text: String) {
            let digest = text.utf8.dropFirst(EntryKey.representationMark.utf8.count)
                .prefix(EntryKey.representationLength)
            guard text.hasPrefix(EntryKey.representationMark), digest.count == EntryKey.representationLength,
                digest.allSatisfy({ $0 &- 0x30 < 10 || $0 &- 0x61 < 6 })
            else {
                representation = nil
                chain = text
                return
            }
            let rest = text[digest.endIndex...]
            guard rest.isEmpty || rest.hasPrefix("|>") else {
                representation = nil
                chain = text
                return
            }
            representation = String(text[digest.startIndex..<digest.endIndex])
            chain = String(rest.dropFirst(2))
        }

        /// Made by processors, in distinction to what a server sent.
        var isProcessed: Bool {
            !chain.isEmpty && chain != EntryKey.answerIdentifier && chain != EntryKey.replacedIdentifier
        }
    }

    /// The key of what processors make of one representation.
    package init(key: String, representation: String?, chain: String = "") {
        guard let representation else {
            self.init(key: key, identifier: chain)
            return
        }
        let mark = Self.representationMark + representation
        self.init(key: key, identifier: chain.isEmpty ? mark : "\(mark)|>\(chain)")
    }

    /// The digest of the request headers that the entry is for; nil for the one that is kept under the key alone.
    package var representation: String? { identifier.isEmpty ? nil : Identifier(identifier).representation }

    /// What processors made of the representation; empty for an original.
    package var chain: String { identifier.isEmpty ? "" : Identifier(identifier).chain }

    /// What a server sent, as it came.
    package var isOriginal: Bool { identifier.isEmpty || chain.isEmpty }

    /// An answer without an image.
    package var isAnswer: Bool { identifier == Self.answerIdentifier }
}

/// Text that was kept to be sent as the value of a request's header.
enum HeaderText {
    private static let longest = 8192

    /// False for text that would end the header line (another program may have written it), and for what is too long.
    static func isValue(_ text: some StringProtocol) -> Bool {
        text.utf8.count <= longest && text.utf8.allSatisfy { ($0 >= 0x20 && $0 != 0x7f) || $0 == 0x09 }
    }
}
