import KFImaging
import KFStorage
import KFSystem

/// The description of an image in a remote: one JSON object of at most 16 KiB. It holds no URL: signed URLs are secrets,
/// and the name of the entry proves the key.
package struct RemoteEntry: Sendable, Equatable {
    /// The greatest size of an entry, in bytes.
    package static let longest = 16 << 10
    /// The version of the layout, which is part of each name.
    static let version = 1

    /// The name: 64 hexadecimal digits of `name(of:)`.
    package var name: String
    /// The digest of the image's bytes, and their number.
    package var object: Digest
    package var size: Int64
    package var format: String
    package var pixels: PixelFacts?
    package var stored: Timestamp
    package var expires: Timestamp
    /// The freshness lifetime in milliseconds; nil if it never expires.
    package var timeToLive: Int64?
    package var extending: ExpirationExtending
    package var etag: String?
    package var lastModified: String?
    /// The header lines of the response that determine freshness.
    package var freshness: String?
    /// The digest of the original that the image was made from; nil for an original.
    package var original: Digest?
    /// The members that another version has written, as they were.
    package var unknown: [StrictJSON.Member] = []

    package static func name(of key: EntryKey) -> String {
        var sha = SHA256()
        sha.update("kf1\0")
        sha.update(key.key)
        sha.update("\0")
        sha.update(key.identifier)
        return sha.finish().hex
    }

    package init(_ entry: Entry) {
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
        freshness = entry.sharedLines
        original = entry.key.isOriginal ? nil : entry.original
    }

    /// Returns whether the entry is expired, or was written by a machine whose clock was ahead.
    package func isExpired(at now: Timestamp) -> Bool {
        Entry.isExpired(expires, timeToLive: timeToLive, extending, at: now)
    }
}

// MARK: JSON

extension RemoteEntry {
    private enum Name: String, CaseIterable {
        case version, name, format, width, height, frames, stored, expires, etag
        case object = "sha256"
        case size = "bytes"
        case timeToLive = "ttl"
        case extending = "extend"
        case lastModified = "last_modified"
        case freshness = "headers"
        case original = "original_sha256"

        package static let all = allCases.map(\.rawValue)
    }

    /// Parses an entry. Nil if it is not one, if it is that of another key, or if it is of a later version.
    package init?(_ bytes: [UInt8], name expected: String) {
        guard bytes.count <= Self.longest, case .object(let members)? = try? StrictJSON.parse(bytes) else { return nil }
        var isValid = true
        /// Returns a member that may be missing. A value of another kind makes the entry invalid.
        func member<Value>(_ name: Name, _ read: (StrictJSON) -> Value?) -> Value? {
            let text = name.rawValue
            guard let member = members.first(where: { $0.name == text }) else { return nil }
            let value = read(member.value)
            if value == nil { isValid = false }
            return value
        }
        func number(_ name: Name) -> Int64? {
            member(name) { if case .number(let text) = $0 { Int64(text) } else { nil } }
        }
        func text(_ name: Name, where isRight: (String) -> Bool = { _ in true }) -> String? {
            member(name) { if case .string(let text) = $0, isRight(text) { text } else { nil } }
        }
        guard number(.version) == Int64(Self.version), text(.name) == expected,
            let object = text(.object).flatMap({ Digest(hex: $0) }),
            let size = number(.size), StoredObject.sizes.contains(size),
            let format = text(.format), ImageFormat.allCases.contains(where: { $0.rawValue == format }),
            let stored = number(.stored), let extending = member(.extending, Self.extending)
        else { return nil }
        self.name = expected
        self.object = object
        self.size = size
        self.format = format
        let (width, height, frames) = (number(.width), number(.height), number(.frames))
        if let width, let height, let frames,
            [width, height, frames].allSatisfy({ 1...Int64(Int32.max) ~= $0 })
        {
            pixels = PixelFacts(width: Int(width), height: Int(height), frames: Int(frames))
        }
        self.stored = Timestamp(milliseconds: stored)
        expires = number(.expires).map { Timestamp(milliseconds: $0) } ?? .distantFuture
        timeToLive = number(.timeToLive)
        self.extending = extending
        // Values that would end the line of a header must not reach the index or a request.
        etag = text(.etag, where: HeaderText.isValue)
        lastModified = text(.lastModified, where: HeaderText.isValue)
        freshness = text(.freshness) { $0.split(separator: "\n").allSatisfy { HeaderText.isValue($0) } }
        original = member(.original) { if case .string(let text) = $0 { Digest(hex: text) } else { nil } }
        unknown = members.filter { !Name.all.contains($0.name) }
        guard isValid else { return nil }
    }

    /// The JSON text, with a line break at its end.
    package var json: [UInt8] {
        func number(_ number: (some BinaryInteger)?) -> StrictJSON? { number.map { .number(String($0)) } }
        func text(_ text: String?) -> StrictJSON? { text.map { .string($0) } }
        let known: [(name: Name, value: StrictJSON?)] = [
            (.version, number(Self.version)), (.name, text(name)), (.object, text(object.hex)), (.size, number(size)),
            (.format, text(format)), (.width, number(pixels?.width)), (.height, number(pixels?.height)),
            (.frames, number(pixels?.frames)), (.stored, number(stored.milliseconds)),
            (.expires, expires == .distantFuture ? nil : number(expires.milliseconds)),
            (.timeToLive, number(timeToLive)), (.extending, Self.value(extending)), (.etag, text(etag)),
            (.lastModified, text(lastModified)), (.freshness, text(freshness)), (.original, text(original?.hex)),
        ]
        let members = known.compactMap { name, value in
            value.map { StrictJSON.Member(name: name.rawValue, value: $0) }
        }
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
