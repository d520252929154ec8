import KFImaging
import KFStorage

/// The description of an image in a remote: one JSON object of at most 16 KiB. It holds no URL: signed URLs are secrets,
/// and the name of the entry proves the key.
struct RemoteEntry: Sendable, Equatable {
    /// The greatest size of an entry, in bytes.
    static let longest = 16 << 10
    /// The version of the layout, which is part of each name.
    static let version = 1

    /// The name: 64 hexadecimal digits of `name(of:)`.
    var name: String
    /// The digest of the image's bytes, and their number.
    var object: Digest
    var size: Int64
    var format: String
    var pixels: PixelFacts?
    /// The time of storing.
    var stored: Timestamp
    var expires: Timestamp
    /// The freshness lifetime in milliseconds; nil if it never expires.
    var timeToLive: Int64?
    var extending: ExpirationExtending
    var etag: String?
    var lastModified: String?
    /// The header lines of the response that determine freshness.
    var freshness: String?
    /// The digest of the original that the image was made from; nil for an original.
    var original: Digest?
    /// The members that another version has written, as they were.
    var unknown: [StrictJSON.Member] = []

    /// Returns the name of the entry of a key.
    static func name(of key: EntryKey) -> String {
        var sha = SHA256()
        sha.update("kf1\0")
        sha.update(key.key)
        sha.update("\0")
        sha.update(key.identifier)
        return sha.finish().hex
    }

    /// Creates the description of a stored entry.
    init(_ entry: Entry) {
        name = Self.name(of: entry.key)
        object = entry.object.digest
        size = entry.object.size
        format = entry.format.rawValue
        pixels = entry.object.pixels
        stored = entry.created
        expires = entry.expires
        timeToLive = entry.timeToLive
        extending = entry.extending
        etag = entry.etag
        lastModified = entry.lastModified
        freshness = entry.freshness
        original = entry.key.isOriginal ? nil : entry.original
    }

    /// Returns whether the entry is expired, or was written by a machine whose clock was ahead.
    func isExpired(at now: Timestamp) -> Bool {
        Entry.isExpired(expires, timeToLive: timeToLive, extending, at: now)
    }
}

// MARK: JSON

extension RemoteEntry {
    private enum Name {
        static let version = "version"
        static let name = "name"
        static let object = "sha256"
        static let size = "bytes"
        static let format = "format"
        static let width = "width"
        static let height = "height"
        static let frames = "frames"
        static let stored = "stored"
        static let expires = "expires"
        static let timeToLive = "ttl"
        static let extending = "extend"
        static let etag = "etag"
        static let lastModified = "last_modified"
        static let freshness = "headers"
        static let original = "original_sha256"
        static let all = [
            version, name, object, size, format, width, height, frames, stored, expires, timeToLive, extending, etag,
            lastModified, freshness, original,
        ]
    }

    /// Parses an entry. Nil if it is not one, if it is that of another key, or if it is of a later version.
    init?(_ bytes: [UInt8], name expected: String) {
        guard bytes.count <= Self.longest, case .object(let members)? = try? StrictJSON.parse(bytes) else { return nil }
        var isValid = true
        /// Returns a member that may be missing. A value of another kind makes the entry invalid.
        func member<Value>(_ name: String, _ read: (StrictJSON) -> Value?) -> Value? {
            guard let member = members.first(where: { $0.name == name }) else { return nil }
            let value = read(member.value)
            if value == nil { isValid = false }
            return value
        }
        func number(_ name: String) -> Int64? {
            member(name) { if case .number(let text) = $0 { Int64(text) } else { nil } }
        }
        func text(_ name: String, where isRight: (String) -> Bool = { _ in true }) -> String? {
            member(name) { if case .string(let text) = $0, isRight(text) { text } else { nil } }
        }
        guard number(Name.version) == Int64(Self.version), text(Name.name) == expected,
            let object = text(Name.object).flatMap({ Digest(hex: $0) }),
            let size = number(Name.size), StoredObject.sizes.contains(size),
            let format = text(Name.format), ImageFormat.allCases.contains(where: { $0.rawValue == format }),
            let stored = number(Name.stored), let extending = member(Name.extending, Self.extending)
        else { return nil }
        self.name = expected
        self.object = object
        self.size = size
        self.format = format
        let (width, height, frames) = (number(Name.width), number(Name.height), number(Name.frames))
        if let width, let height, let frames,
            [width, height, frames].allSatisfy({ 1...Int64(Int32.max) ~= $0 })
        {
            pixels = PixelFacts(width: Int(width), height: Int(height), frames: Int(frames))
        }
        self.stored = Timestamp(milliseconds: stored)
        expires = number(Name.expires).map { Timestamp(milliseconds: $0) } ?? .distantFuture
        timeToLive = number(Name.timeToLive)
        self.extending = extending
        // Values that would end the line of a header must not reach the index or a request.
        etag = text(Name.etag, where: HeaderText.isValue)
        lastModified = text(Name.lastModified, where: HeaderText.isValue)
        freshness = text(Name.freshness) { $0.split(separator: "\n").allSatisfy { HeaderText.isValue($0) } }
        original = member(Name.original) { if case .string(let text) = $0 { Digest(hex: text) } else { nil } }
        unknown = members.filter { !Name.all.contains($0.name) }
        guard isValid else { return nil }
    }

    /// The JSON text, with a line break at its end.
    var json: [UInt8] {
        var members: [StrictJSON.Member] = []
        func add(_ name: String, _ value: StrictJSON?) {
            if let value { members.append(StrictJSON.Member(name: name, value: value)) }
        }
        func number(_ number: some BinaryInteger) -> StrictJSON { .number(String(number)) }
        add(Name.version, number(Self.version))
        add(Name.name, .string(name))
        add(Name.object, .string(object.hex))
        add(Name.size, number(size))
        add(Name.format, .string(format))
        add(Name.width, pixels.map { number($0.width) })
        add(Name.height, pixels.map { number($0.height) })
        add(Name.frames, pixels.map { number($0.frames) })
        add(Name.stored, number(stored.milliseconds))
        add(Name.expires, expires == .distantFuture ? nil : number(expires.milliseconds))
        add(Name.timeToLive, timeToLive.map { number($0) })
        add(Name.extending, Self.value(extending))
        add(Name.etag, etag.map { .string($0) })
        add(Name.lastModified, lastModified.map { .string($0) })
        add(Name.freshness, freshness.map { .string($0) })
        add(Name.original, original.map { .string($0.hex) })
        return Array((StrictJSON.object(members + unknown).json + "\n").utf8)
    }

    private static let cacheTime = "cache-time"
    private static let none = "none"
    private static let never = "never"

    /// The effect of a read on the expiry: `cache-time`, `none`, `never`, or a number of milliseconds.
    private static func value(_ extending: ExpirationExtending) -> StrictJSON {
        switch extending {
        case .none: .string(none)
        case .cacheTime: .string(cacheTime)
        case .expirationTime(let expiration):
            expiration.timeToLive(from: Timestamp(milliseconds: 0)).map { .number(String($0)) } ?? .string(never)
        }
    }

    private static func extending(_ value: StrictJSON) -> ExpirationExtending? {
        switch value {
        case .string(none): ExpirationExtending.none
        case .string(cacheTime): .cacheTime
        case .string(never): .expirationTime(.never)
        case .number(let text): Int64(text).map { .expirationTime(.seconds(Double($0) / 1000)) }
        default: nil
        }
    }
}
