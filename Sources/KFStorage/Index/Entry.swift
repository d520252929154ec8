/// The bytes that an entry stands for: one file, however many entries share it.
package struct StoredObject: Equatable, Sendable {
    package let digest: Digest
    /// From the content.
    package let fileExtension: ObjectExtension
    /// In bytes.
    package let size: Int64
    /// Of the file, in nanoseconds since 1970.
    package let modified: Int64
    package var pixels: PixelFacts?

    /// Returns whether both have the same bytes and extension. Times may differ: storing equal bytes under another key
    /// gives the shared file a new one.
    func hasSameContent(as other: StoredObject) -> Bool {
        digest == other.digest && fileExtension == other.fileExtension
    }

    /// Below the directory of objects.
    package var name: String { path(below: "") }

    /// The name behind the path of a folder. Built in one piece, because every hit of a prefetch needs it.
    func path(below folder: StaticString) -> String {
        let text = fileExtension.text.utf8
        return String(unsafeUninitializedCapacity: folder.utf8CodeUnitCount + 66 + text.count) { buffer in
            var length = 0
            func append(_ byte: UInt8) {
                buffer[length] = byte
                length += 1
            }
            for index in 0..<folder.utf8CodeUnitCount { append(folder.utf8Start[index]) }
            for index in 0..<64 {
                if index == 2 { append(UInt8(ascii: "/")) }
                append(digest.digit(index))
            }
            append(UInt8(ascii: "."))
            for byte in text { append(byte) }
            return length
        }
    }

    /// In bytes; no image is larger. Sums of some million sizes stay within 64 bits.
    static let sizes: ClosedRange<Int64> = 0...1 << 40
}

/// What is known of a picture without looking at its bytes.
package struct PixelFacts: Equatable, Sendable {
    package let width: Int
    package let height: Int
    package let frames: Int

    package init(width: Int, height: Int, frames: Int) {
        self.width = width
        self.height = height
        self.frames = frames
    }
}

/// What the one who stores says of an entry.
package struct EntryFacts: Equatable, Sendable {
    /// The labels that totals are kept by.
    package var host = ""
    package var format = ""
    package var fileExtension = ""
    package var pixels: PixelFacts?
    /// Where the bytes came from, without user info; nil when the key says it.
    package var url: String?
    package var etag: String?
    package var lastModified: String?
    /// Header lines of the response, kept for later decisions.
    package var freshness: String?
    /// The digest of the original that a processed entry was made from.
    package var original: Digest?
    package var expiration: StorageExpiration = .days(7)
    package var extending: ExpirationExtending = .cacheTime
    /// Stored even if its time is over already: it is to be confirmed by the origin before each use.
    package var isKeptStale = false

    package init() {}
}

/// A row of the index with its object.
package struct Entry: Sendable {
    package let key: EntryKey
    let row: Int64
    package let object: StoredObject
    package let original: Digest?
    package let url: String?
    package let etag: String?
    package let lastModified: String?
    package let freshness: String?
    package let created: Timestamp
    /// In milliseconds; nil is for ever.
    package let timeToLive: Int64?
    package let extending: ExpirationExtending
    package internal(set) var accessed: Timestamp
    package internal(set) var expires: Timestamp
    /// A lower bound: hits of a process that could not write when it ended are not counted.
    package let hits: Int64

    package func isExpired(at now: Timestamp) -> Bool { expires <= now || isOfAnotherClock(now) }

    /// More time is left than the entry ever had: it was stored or read while the clock was ahead, and would be fresh
    /// until that time comes. A day is no such case: clocks are set, and machines differ.
    private func isOfAnotherClock(_ now: Timestamp) -> Bool {
        guard let timeToLive, extending == .none || extending == .cacheTime else { return false }
        return expires > now.advanced(by: timeToLive).advanced(by: StorageExpiration.millisecondsPerDay)
    }

    /// Access times are written at most once in this span (milliseconds), so that reading is not writing.
    var touchInterval: Int64 { min(3_600_000, (timeToLive ?? .max) / 20) }
}

/// An entry as it is called: the key of its source and the identifier of what was done to it.
public struct EntryName: Sendable, Hashable, CustomStringConvertible {
    /// The key of its source.
    public let key: String
    /// Empty for an original.
    public let identifier: String

    package init(_ key: EntryKey) { self.init(key: key.key, identifier: key.identifier) }

    init(key: String, identifier: String) {
        self.key = key
        self.identifier = identifier
    }

    public var description: String { identifier.isEmpty ? key : "\(key)@\(identifier)" }
}

/// The extension of an object's file: one to eight lower-case letters and digits. It is part of a path and may come from
/// an index that another program has written, so nothing else is an extension.
package struct ObjectExtension: Hashable, Sendable {
    package let text: String

    private static let longest = 8

    /// Nil when it is none.
    package init?(_ text: String) {
        guard 1...Self.longest ~= text.utf8.count else { return nil }
        for byte in text.utf8 {
            switch byte {
            case 0x30...0x39, 0x61...0x7a: continue
            default: return nil
            }
        }
        self.text = text
    }

    /// For bytes of an unknown kind.
    static let unknown = ObjectExtension(unchecked: "bin")

    private init(unchecked text: String) { self.text = text }
}

/// What there is for a key.
package enum IndexedEntry: Sendable {
    case absent
    /// It is expired, or its file is not what was stored.
    case unusable
    case fresh(Entry)
}

/// What changes in an entry whose bytes the origin has confirmed.
package struct EntryRenewal: Sendable {
    package var expiration: StorageExpiration
    package var extending: ExpirationExtending
    /// Nil leaves what is there.
    package var etag: String?
    package var lastModified: String?
    package var freshness: String?

    package init(expiration: StorageExpiration, extending: ExpirationExtending) {
        self.expiration = expiration
        self.extending = extending
    }
}
