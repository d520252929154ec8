/// The content of an entry: one file, which several entries may share.
package struct StoredObject: Equatable, Sendable {
    package let digest: Digest
    /// The extension that matches the content.
    package let fileExtension: ObjectExtension
    /// The size in bytes.
    package let size: Int64
    /// The modification time of the file, in nanoseconds since 1970.
    package let modified: Int64
    package var pixels: PixelFacts? = nil

    /// Returns whether both have the same bytes and extension. Times may differ: a file that is written anew has a new
    /// time.
    func hasSameContent(as other: StoredObject) -> Bool {
        digest == other.digest && fileExtension == other.fileExtension
    }

    /// The path below the directory of objects.
    package var name: String { path(below: "") }

    /// Returns the path below a folder, made with one allocation.
    func path(below folder: String) -> String {
        var folder = folder
        return folder.withUTF8 { folder in
            String(unsafeUninitializedCapacity: folder.count + Self.longestName) { buffer in
                _ = buffer.initialize(from: folder)
                return folder.count + write(nameTo: UnsafeMutableRawPointer(buffer.baseAddress! + folder.count))
            }
        }
    }

    /// Writes `name`, of at most `longestName` bytes. Returns its length.
    func write(nameTo target: UnsafeMutableRawPointer) -> Int {
        digest.write(hex: target + 1)
        // The first two digits are the folder's name.
        target.copyMemory(from: target + 1, byteCount: 2)
        target.storeBytes(of: UInt8(ascii: "/"), toByteOffset: 2, as: UInt8.self)
        target.storeBytes(of: UInt8(ascii: "."), toByteOffset: 65, as: UInt8.self)
        return 66 + fileExtension.write(to: target + 66)
    }

    static let longestName = 66 + ObjectExtension.longest

    /// The valid sizes in bytes: up to 1 TiB, so that sums of millions of sizes fit 64 bits.
    package static let sizes: ClosedRange<Int64> = 0...1 << 40
}

/// The size and frame count of a picture, kept so that its bytes need not be read for them.
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

/// The properties of an entry that the caller of a store supplies.
package struct EntryFacts: Equatable, Sendable {
    /// The label in place of a host for images that no server sent.
    package static let localHost = "local"

    /// The labels by which totals are kept: host and format.
    package var host = ""
    package var format = ""
    package var fileExtension = ""
    package var pixels: PixelFacts?
    /// The URL of the bytes, without user info; nil if the key is the URL.
    package var url: String?
    package var etag: String?
    package var lastModified: String?
    /// Header lines of the response that later freshness decisions need.
    package var freshness: String?
    /// The digest of the original that a processed entry was made from.
    package var original: Digest?
    /// Whether this cache made the image, from bytes that it hashed: then `original` is no word of a stranger.
    package var isMadeHere = false
    /// How that original came; nil if it was the cached one.
    package var arrival: OriginalArrival?
    package var expiration: StorageExpiration = .days(7)
    /// The freshness lifetime in milliseconds, if it is not the time from now to the end of `expiration`: that of an entry
    /// that another machine has stored before.
    package var timeToLive: Int64?
    package var extending: ExpirationExtending = .cacheTime
    /// Whether the entry is stored even if it is expired already. It is then revalidated before each use.
    package var isKeptStale = false
    /// Whether the bytes are written even if the cache seems to have them. This heals a file whose damage does not show
    /// in its size and time.
    package var rewrites = false
    /// What the entry brings from another cache; nil for an image that is new.
    package var past: EntryPast?

    package init() {}
}

/// An original that came from its source or a remote, of which a processed entry was made.
package struct OriginalArrival: Equatable, Sendable {
    let time: Timestamp
    /// Whether it is stored itself, in place of an older one.
    let isStored: Bool

    package init(at time: Timestamp, isStored: Bool) { (self.time, self.isStored) = (time, isStored) }
}

/// The history of an entry that another cache has. It is stored unless the cache has an entry of the same age or a newer
/// one.
package struct EntryPast: Equatable, Sendable {
    let created: Timestamp
    let accessed: Timestamp
    let hits: Int64
    let tags: [String]
}

/// A row of the index with its object. A reference, because an entry passes through many hands.
package final class Entry: Sendable {
    package let key: EntryKey
    package let row: Int64
    package let object: StoredObject
    package let original: Digest?
    package let url: String?
    package let etag: String?
    package let lastModified: String?
    package let freshness: String?
    package let created: Timestamp
    /// The freshness lifetime in milliseconds; nil if it never expires.
    package let timeToLive: Int64?
    package let extending: ExpirationExtending
    package let accessed: Timestamp
    package let expires: Timestamp
    /// The number of hits. A lower bound: hits are lost if a process cannot write when it ends.
    package let hits: Int64
    /// The tags, which only listings read.
    package let tags: [String]

    init(
        key: EntryKey, row: Int64, object: StoredObject, original: Digest?, url: String?, etag: String?,
        lastModified: String?, freshness: String?, created: Timestamp, timeToLive: Int64?,
        extending: ExpirationExtending, accessed: Timestamp, expires: Timestamp, hits: Int64, tags: [String] = []
    ) {
        self.key = key
        self.row = row
        self.object = object
        self.original = original
        self.url = url
        self.etag = etag
        self.lastModified = lastModified
        self.freshness = freshness
        self.created = created
        self.timeToLive = timeToLive
        self.extending = extending
        self.accessed = accessed
        self.expires = expires
        self.hits = hits
        self.tags = tags
    }

    /// Returns a copy with other times or tags.
    func with(accessed: Timestamp? = nil, expires: Timestamp? = nil, tags: [String]? = nil) -> Entry {
        Entry(
            key: key, row: row, object: object, original: original, url: url, etag: etag, lastModified: lastModified,
            freshness: freshness, created: created, timeToLive: timeToLive, extending: extending,
            accessed: accessed ?? self.accessed, expires: expires ?? self.expires, hits: hits, tags: tags ?? self.tags)
    }

    /// The SHA-256 and the size of the original: of the entry itself, or of what it was made from, whose size is not known.
    package var originalContent: (digest: Digest, bytes: Int64?)? {
        key.isOriginal ? (object.digest, object.size) : original.map { ($0, nil) }
    }

    package func isExpired(at now: Timestamp) -> Bool {
        Self.isExpired(expires, timeToLive: timeToLive, extending, at: now)
    }

    /// Returns whether an entry is expired, or was stored or read while the clock was ahead: more time is left than its
    /// lifetime. A difference of up to a day is tolerated, because clocks are set and machines differ.
    package static func isExpired(
        _ expires: Timestamp, timeToLive: Int64?, _ extending: ExpirationExtending, at now: Timestamp
    ) -> Bool {
        if expires <= now { return true }
        guard let timeToLive, extending == .none || extending == .cacheTime else { return false }
        return expires > now.advanced(by: timeToLive).advanced(by: StorageExpiration.millisecondsPerDay)
    }

    /// The least time in milliseconds between two writes of the access time, so that most reads write nothing.
    var touchInterval: Int64 { min(3_600_000, (timeToLive ?? .max) / 20) }
}

/// The name of an entry: the key of its source and the identifier of the processor.
public struct EntryName: Sendable, Hashable, CustomStringConvertible {
    /// The key of the source.
    public let key: String
    /// The identifier of the processor that made the image; empty for an original.
    public let identifier: String

    package init(_ key: EntryKey) { self.init(key: key.key, identifier: key.identifier) }

    /// Creates the name of an original, or of an image that a processor made.
    public init(key: String, identifier: String = "") {
        self.key = key
        self.identifier = identifier
    }

    public var description: String { identifier.isEmpty ? key : "\(key)@\(identifier)" }
}

/// The extension of an object's file: one to eight lower-case letters and digits. Other text is refused, because the
/// extension becomes part of a path and may come from an index that another program has written.
package struct ObjectExtension: Hashable, Sendable {
    /// The characters, the first one in the lowest byte, then zeros.
    private let characters: UInt64

    static let longest = 8

    /// Creates an extension; nil for a text that is not one.
    package init?(_ text: String) { self.init(text.utf8) }

    init?(_ text: some Sequence<UInt8>) {
        var (characters, count) = (UInt64(0), 0)
        for byte in text {
            guard count < Self.longest, byte &- 0x30 < 10 || byte &- 0x61 < 26 else { return nil }
            characters |= UInt64(byte) << (8 * count)
            count += 1
        }
        if count == 0 { return nil }
        self.characters = characters
    }

    /// Creates the extension of a new object from that of its facts.
    init(naming text: String) { self = Self(text) ?? ObjectExtension(unchecked: 0x6e_6962) }

    private init(unchecked characters: UInt64) { self.characters = characters }

    package var text: String {
        withUnsafeBytes(of: characters.littleEndian) { String(decoding: $0.prefix(count), as: UTF8.self) }
    }

    private var count: Int { Self.longest - characters.leadingZeroBitCount / 8 }

    /// Writes the text and, up to `longest` bytes, zeros behind it. Returns its length.
    func write(to target: UnsafeMutableRawPointer) -> Int {
        target.storeBytes(of: characters.littleEndian, as: UInt64.self)
        return count
    }
}

/// The result of a look-up of a key.
package enum IndexedEntry: Sendable {
    case absent
    /// The entry is expired, or its file does not match the index.
    case unusable
    case fresh(Entry)
}

/// The changes to an entry after a successful revalidation.
package struct EntryRenewal: Sendable {
    package var expiration: StorageExpiration
    package var extending: ExpirationExtending
    /// The new date of the last change; nil keeps the present one. An ETag belongs to its bytes and never changes.
    package var lastModified: String?
    package var freshness: String?

    package init(expiration: StorageExpiration, extending: ExpirationExtending) {
        self.expiration = expiration
        self.extending = extending
    }
}
